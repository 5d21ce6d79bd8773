"""Models of the loss for the doubly robust estimate, cross-fitted by context."""
