"""One column of a log, and how its values become features; the encoding is part of the policy."""

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

MISSING = " is missing"
TIME_PARTS = ("age", "hour-sin", "hour-cos", "weekday-sin", "weekday-cos")


class Kind(StrEnum):
    """What a column holds. Numbers may be lists of one length."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    WORDS = "words"
    HASHED = "hashed"
    TIME = "time"


@dataclass(frozen=True)
class Column:
    """One column. `width` counts all of its features.

    `categories` are the words of a column that holds words, one feature each. `fill` stands for a missing
    number: the mean of the log's. `missing` says that the last feature is 1 where a value is missing, which
    is so if the log lacked some. `first` and `last` are the ends of a column of times, in seconds.
    """

    name: str
    width: int = 1
    categories: tuple[str, ...] | None = None
    kind: Kind = Kind.NUMBER
    fill: float | None = None
    missing: bool = False
    first: float = 0.0
    last: float = 0.0

    @property
    def values(self) -> int:
        """The features but for the one that says what is missing."""
        return self.width - self.missing

    @property
    def names(self) -> list[str]:
        """The names of its features."""
        if self.categories is not None:
            names = [f"{self.name}={word}" for word in self.categories]
        elif self.kind is Kind.HASHED:
            names = [f"{self.name}#{i}" for i in range(self.values)]
        elif self.kind is Kind.TIME:
            names = [f"{self.name}:{part}" for part in TIME_PARTS]
        else:
            names = [self.name] if self.values == 1 else [f"{self.name}{i}" for i in range(self.values)]
        return [*names, self.name + MISSING] if self.missing else names

    @property
    def sentence(self) -> str:
        """How it is encoded, in one line."""
        what = {
            Kind.NUMBER: "a number, as it is" if self.values == 1 else f"{self.values} numbers, as they are",
            Kind.BOOLEAN: "true or false, as 1 or 0",
            Kind.WORDS: f"{self.values} words, one feature each",
            Kind.HASHED: f"too many words for one feature each, hashed into {self.values} features",
            Kind.TIME: "a time, as how late it is in the log, at most its end, hour of day and day of week",
        }[self.kind]
        if not self.missing:
            return f"{self.name}: {what}"
        filled = f" takes the mean {self.fill:.4g}" if self.fill is not None else " is 0"
        return f"{self.name}: {what}; what is missing{filled}, and one more feature says so"

    def to_json(self) -> dict[str, Any]:
        """What differs from a plain number, and what policies of older versions have."""
        plain = asdict(Column(self.name))
        old = {"name": self.name, "width": self.width, "categories": self.categories}
        return old | {name: value for name, value in asdict(self).items() if value != plain[name]}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> "Column":
        """Read what `to_json`, also of an older version, wrote."""
        words = facts["categories"]
        kind = facts.get("kind", Kind.NUMBER if words is None else Kind.WORDS)
        return cls(
            name=facts["name"],
            width=facts["width"],
            categories=None if words is None else tuple(words),
            kind=Kind(kind),
            fill=facts.get("fill"),
            missing=facts.get("missing", False),
            first=facts.get("first", 0.0),
            last=facts.get("last", 0.0),
        )


def bucket_of(word: str, buckets: int) -> int:
    """The feature of a hashed word: the same on every machine and in every version."""
    return zlib.crc32(word.encode()) % buckets
