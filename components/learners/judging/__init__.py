"""What a log tells of policies that have not seen its contexts, against the loggers of it."""
