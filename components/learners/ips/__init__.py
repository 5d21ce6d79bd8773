"""Direct learning: naive, weighted and balanced."""
