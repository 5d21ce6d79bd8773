"""Evaluation of a policy on logs that are too long for memory."""
