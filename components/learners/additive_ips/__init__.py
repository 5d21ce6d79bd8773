"""Learning from weights that add up over labels."""
