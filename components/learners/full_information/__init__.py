"""The reference that sees the true labels."""
