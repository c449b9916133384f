"""The main road: from a recipe (a whole configuration) to a run directory with a trained, scored bundle."""
