"""The portfolio: several candidates, and a choice that is shown to be better than every logger."""
