"""Policies as networks, and their files."""
