"""The additive loss model and the direct method."""
