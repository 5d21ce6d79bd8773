"""The direct method: what a model of the loss finds best."""
