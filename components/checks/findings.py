"""A finding: what is wrong with a log, how wrong, and what to do.

Whatever is judged by chance has a level of its own, `LEVEL`, shared by all tests of its kind. There are eight
kinds, so a log without a fault has something to mend by chance in less than one case in a hundred.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["unsafe", "mend", "note"]
SEVERITIES: tuple[Severity, ...] = ("unsafe", "mend", "note")

LEVEL = 1e-3


@dataclass(frozen=True)
class Finding:
    """`code` is a stable name; `figure` is the number that `what` rests on; `remedy` says what to do.

    "unsafe": what is learned or estimated from the log would be wrong, or cannot be learned at all; "mend":
    part of the log is wrong or says little; "note": what the log does without.
    """

    code: str
    severity: Severity
    what: str
    figure: float
    remedy: str

    @property
    def line(self) -> str:
        return f"{self.what}: {self.remedy}"


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first, else as they were found."""
    return tuple(sorted(findings, key=lambda one: SEVERITIES.index(one.severity)))


def some(names: Iterable[str], most: int = 5) -> str:
    """The first of some names, for a message."""
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")
