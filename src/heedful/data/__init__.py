"""Pairs to batches: corpora, the memory-mapped store, the batch plan, named data sets and synthetic tasks."""
