"""The one exception for input that a person can mend."""


class BadInput(ValueError):
    """Says what was required, what came, and what to do about it, in one line."""
