"""The form of an output: a sequence of tokens, a label at each position, symbols in order with blanks between them.

A task owns its loss, how outputs are found, what its pairs must satisfy, and what it refuses in a recipe. Nothing else
asks what kind of output a model has. To add one: a module beside these, and a row in `table` and in `rules`.
"""
