"""Whole networks, and the bundle in which one is kept."""
