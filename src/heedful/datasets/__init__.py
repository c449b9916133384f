"""Named data sets, and made ones: where their files are, their splits, their licences. Knows no tokens and no model."""
