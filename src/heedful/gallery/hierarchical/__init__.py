"""Hierarchical attention: words to sentences, sentences to a document. [Yang 2016]"""
