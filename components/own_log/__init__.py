"""A person's own log as the start of a pipeline: found, mapped, split, encoded and written as our own."""
