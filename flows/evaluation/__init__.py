"""The flow of `multilogger evaluate`."""
