"""Layers that systems of the gallery share."""
