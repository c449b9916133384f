"""Strings and ids: vocabularies and tokenisers. Knows no tensor and no file format of a corpus."""
