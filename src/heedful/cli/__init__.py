"""The command line: one file per verb, and no logic."""
