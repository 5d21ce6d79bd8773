"""The folder that a reproduction leaves: files and a page."""
