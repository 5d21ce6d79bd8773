"""Logs on disk, with any names of columns, as the looks take them."""
