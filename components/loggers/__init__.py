"""Logging policies and the replay that makes logs from labelled data."""
