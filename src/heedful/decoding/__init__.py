"""Using a model: search, sampling, and the translator from text to text. Search knows no model."""
