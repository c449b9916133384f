"""One vector from the words of a sentence: attention, structured, hard, feature-wise, keywords."""
