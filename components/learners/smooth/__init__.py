"""Learning from smoothed weights: logarithmic smoothing and implicit exploration."""
