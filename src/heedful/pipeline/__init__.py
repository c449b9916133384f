"""From a recipe to a run directory with a trained and scored model, step by step. Knows no command line."""
