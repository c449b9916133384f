"""A model taken elsewhere: written for other programs, read back through them, and compared with the original."""
