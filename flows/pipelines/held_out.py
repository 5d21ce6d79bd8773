"""What held-out rows of a person's own log say, in words: losses, or rewards where the log has rewards."""

import math
from collections.abc import Callable

from multilogger.components.text import TextRows
from multilogger.tasks.own_log.estimate import HeldOut, WithInterval

ESTIMATED = "estimated from held-out rows; no true labels exist"
GAIN = "the policy minus it"
NOTHING = WithInterval(value=None, low=None, high=None)


def held_out_title(found: HeldOut) -> str:
    """What stands above the table."""
    what = "mean loss" if found.reward_range is None else "mean reward"
    return f"Test: {what}, {ESTIMATED} ({found.rows:,} rows, {found.level:.0%} intervals)"


def held_out_rows(found: HeldOut) -> TextRows:
    """The policy, then its loggers as they acted themselves."""
    show = unit_of(found)
    own = {"policy": found.method, **_line(found.policy, show), GAIN: ""}
    return [
        own,
        *(
            {
                "policy": f"logger {name}" + (" (best)" if name == found.best else ""),
                **_line(one, show),
                GAIN: difference_text(found, name),
            }
            for name, one in found.loggers.items()
        ),
    ]


def verdict(found: HeldOut) -> str:
    """Whether the policy is better than the best logger, as far as its log can tell.

    Choice: it has to be better than every logger. The one that seemed best on the other rows need not be, and
    luck on test may make it look bad.
    """
    low, high = found.difference.low, found.difference.high
    if not found.trusted or low is None or high is None:
        return "cannot be told"
    if high < 0 and rival(found) is None:
        return "better than the best logger"
    return "worse than the best logger" if low > 0 else "not told apart from the best logger"


def rival(found: HeldOut) -> str | None:
    """The logger other than the best that the policy is least shown to beat; None if it beats all others."""
    ends = {name: one.high for name, one in found.differences.items() if name != found.best}
    left = {name: math.inf if high is None else high for name, high in ends.items()}
    name = max(left, key=left.__getitem__, default=None)
    return name if name is not None and left[name] >= 0 else None


def held_out_lines(found: HeldOut) -> list[str]:
    """The same as sentences, first the verdict."""
    show = unit_of(found)
    what = "loss" if found.reward_range is None else "reward"
    said = f"**{found.method}**: mean {what} {figure_text(found.policy, show)}, {ESTIMATED}."
    best = f"The best logger, {found.best}, has {figure_text(found.loggers[found.best], show)}"
    words = f"{best}: the policy is {verdict(found)} ({difference_text(found)})."
    return [f"{said} {words}{rival_text(found)}", found.sentence]


def rival_text(found: HeldOut) -> str:
    """A sentence where another logger than the best one leaves the verdict open; else nothing."""
    high, other = found.difference.high, rival(found)
    if high is None or high >= 0 or other is None:
        return ""
    return f" Logger {other} may be as good: the policy minus {other} is {difference_text(found, other)}."


def plain_lines(found: HeldOut) -> list[str]:
    """The sentences without marks."""
    return [line.replace("**", "") for line in held_out_lines(found)]


def unit_of(found: HeldOut) -> Callable[[float], float]:
    """From losses as learned from to what the log has."""
    scale = found.max_loss / found.largest_loss if found.max_loss else 1.0
    if found.reward_range is None:
        return lambda risk: risk * scale
    high = found.reward_range[1]
    return lambda risk: high - risk * scale


def _line(one: WithInterval, show: Callable[[float], float]) -> dict[str, str]:
    return {"estimate": _number(one.value, show), "interval": _interval(one, show)}


def figure_text(one: WithInterval, show: Callable[[float], float]) -> str:
    """A number with its interval."""
    return f"{_number(one.value, show)} ({_interval(one, show)})"


def _interval(one: WithInterval, show: Callable[[float], float]) -> str:
    if one.low is None or one.high is None:
        return "-"
    low, high = sorted((show(one.low), show(one.high)))
    return f"{low:.4f} to {high:.4f}"


def _number(value: float | None, show: Callable[[float], float]) -> str:
    return "-" if value is None else f"{show(value):.4f}"


def difference_text(found: HeldOut, logger: str | None = None) -> str:
    """The policy minus a logger, the best one if none is named, in the unit that the log has."""
    show = unit_of(found)
    zero = show(0.0)

    def shift(risk: float) -> float:
        return show(risk) - zero

    one = found.difference if logger is None else found.differences.get(logger, NOTHING)
    return "-" if one.value is None else f"{shift(one.value):+.4f} ({_signed(one, shift)})"


def _signed(one: WithInterval, shift: Callable[[float], float]) -> str:
    if one.low is None or one.high is None:
        return "-"
    low, high = sorted((shift(one.low), shift(one.high)))
    return f"{low:+.4f} to {high:+.4f}"
