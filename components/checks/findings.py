"""A finding: what is wrong with a log, how wrong, and what to do.

Whatever is judged by chance has a level of its own, `LEVEL`, shared by all tests of its kind. There are eight
kinds, so a log without a fault has something to mend by chance in less than one case in a hundred.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from multilogger.components.features.row_ids import IDS

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


def id_findings(shares: Mapping[str, float]) -> Iterator[Finding]:
    """Features that are ids, with different values a row."""
    if shares:
        yield Finding(
            "id-features",
            "mend",
            f"{some(shares)} {'has' if len(shares) == 1 else 'have'} another value in nearly every row",
            max(shares.values()),
            IDS,
        )


def unlogged_finding(share: float) -> Finding:
    """Rows without a propensity, where something stands in for it."""
    return Finding(
        "propensities-missing",
        "mend",
        f"{share:.0%} of the rows have no propensity; the share of the action stands in here",
        share,
        "'learn', 'study' and 'evaluate' estimate it and say so, in Python log.estimate_propensities(seed=0) "
        "does; better log it at the time of the action",
    )
