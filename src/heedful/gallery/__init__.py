"""The systems of the field's textbooks: a folder each, with its model, its made task and its evidence.

The core knows none of them.
"""
