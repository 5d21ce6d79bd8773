"""Doubly robust learning."""
