"""Attention of each head to its k best keys."""
