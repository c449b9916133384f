"""Making a model: objective, schedule, checkpoints and the loop. Knows no text and no metric."""
