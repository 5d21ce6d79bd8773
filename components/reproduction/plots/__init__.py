"""Pictures, the same bytes for the same numbers."""
