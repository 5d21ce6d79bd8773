"""Models of the loss of each action, fitted to logs: one per action space, each an ensemble."""
