"""Looking into a model: attention maps as blocks, figures and a page, and the alignments they imply."""
