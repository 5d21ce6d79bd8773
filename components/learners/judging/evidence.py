"""Which evidence may show an improvement."""

from enum import StrEnum


class Evidence(StrEnum):
    """What may show an improvement: either kind, or the one that assumes nothing of the loss."""

    ANY = "any"
    WEIGHTS = "weights"
