"""Off-policy evaluation: what a policy is worth, from the logs of several loggers alone."""
