"""What a setting means, and which values it may have."""

import math
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Any, get_args, get_origin

from multilogger.components.errors import BadInput, short

MOST_WHOLE = 2**31 - 1  # what the arrays that it counts can have
MOST = sys.float_info.max
MOST_RATE, MOST_DECAY = 10.0, 100.0  # ten times of what any network learned with, or more


@dataclass(frozen=True)
class About:
    """What a setting means and the range of its numbers; of a list, that of each.

    A setting that is not `keyed` cannot change a bit of the result. One that came `later` is in no key while
    it has its default, so that results from before are still theirs.
    """

    meaning: str
    above: float = -math.inf
    least: float = -math.inf
    below: float = math.inf
    most: float = math.inf
    keyed: bool = True
    later: bool = False

    def check(self, name: str, value: object, kind: Any) -> None:
        """Refuse a value that is not of the setting's kind, or out of its range."""
        if not is_of(value, kind):
            raise BadInput(f"{name} must be {kind_text(kind)}, got {short(value)}; it is: {self.meaning}")
        numbers = value if isinstance(value, tuple) else (value,)
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int | float):
                continue
            if not self._has(number):
                shown = short(number) if number is value else f"{short(number)} in {short(value)}"
                raise BadInput(f"{name} must be {self.range()}, got {shown}; it is: {self.meaning}")
            if abs(number) > (MOST if kind is float or get_args(kind)[:1] == (float,) else MOST_WHOLE):
                raise BadInput(f"{name} must be at most {MOST_WHOLE:,}, got {short(number)}")

    def _has(self, number: float) -> bool:
        """Whether a number is finite and in range; a whole number of any length is finite."""
        in_range = self.above < number < self.below and self.least <= number <= self.most
        return in_range and (isinstance(number, int) or math.isfinite(number))

    def range(self) -> str:
        """`above 0 and below 1`."""
        words = {"above": self.above, "at least": self.least, "below": self.below, "at most": self.most}
        known = [f"{word} {bound:g}" for word, bound in words.items() if math.isfinite(bound)]
        return " and ".join(known) or "a finite number"


def is_of(value: object, kind: Any) -> bool:
    """Whether a value is of a setting's kind; a whole number is a number, and yes or no is neither."""
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(is_of(part, get_args(kind)[0]) for part in value)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def kind_text(kind: Any) -> str:
    """A kind for a person."""
    if get_origin(kind) is tuple:
        return f"a tuple, each part {kind_text(get_args(kind)[0])}"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "one of " + ", ".join(f"{kind.__name__}.{one.name}" for one in kind)
    return {bool: "True or False", int: "a whole number", float: "a number", str: "a word"}[kind]
