"""What is kept of a run: its directory, its manifest, its environment and the signatures of its numbers."""
