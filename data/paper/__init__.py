"""The tables and figures that the paper prints."""
