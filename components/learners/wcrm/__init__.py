"""WCRM, the baseline of Su et al."""
