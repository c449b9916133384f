"""Readers and memory networks: a story, a question, an answer."""
