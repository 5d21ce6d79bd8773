"""What held-out rows of a person's own log say, in words: losses, or rewards where the log has rewards."""

import math
from collections.abc import Callable

from multilogger.components.loss_text import loss_text
from multilogger.components.text import TextRows
from multilogger.tasks.own_log.estimate import HeldOut, WithInterval

ESTIMATED = "estimated from held-out rows; no true labels exist"
GAIN = "the policy minus it"
NOTHING = WithInterval(value=None, low=None, high=None)

OPEN = "cannot be told"  # a verdict


def held_out_title(held_out: HeldOut) -> str:
    """What stands above the table."""
    what = "mean loss" if held_out.reward_range is None else "mean reward"
    return f"Test: {what}, {ESTIMATED} ({held_out.rows:,} rows, {held_out.level:.0%} intervals)"


def held_out_rows(held_out: HeldOut) -> TextRows:
    """The policy, then its loggers as they acted themselves."""
    show = unit_of(held_out)
    own = {"policy": held_out.method, **_line(held_out.policy, show), GAIN: ""}
    return [
        own,
        *(
            {
                "policy": f"logger {name}" + (" (best)" if name == held_out.best else ""),
                **_line(one, show),
                GAIN: difference_text(held_out, name),
            }
            for name, one in held_out.loggers.items()
        ),
    ]


def risk_text(held_out: HeldOut) -> str:
    """What the risks are that stand beside them."""
    return loss_text(held_out.reward_range, largest=held_out.largest_loss)


def verdict(held_out: HeldOut) -> str:
    """Whether the policy is better than the best logger, as far as its log can tell.

    Choice: it has to be better than every logger. The one that seemed best on the other rows need not be, and
    luck on test may make it look bad.
    """
    low, high = held_out.difference.low, held_out.difference.high
    if not held_out.trusted or low is None or high is None:
        return OPEN
    if high < 0 and rival(held_out) is None:
        return "better than the best logger"
    return "worse than the best logger" if low > 0 else "not told apart from the best logger"


def rival(held_out: HeldOut) -> str | None:
    """The logger other than the best that the policy is least shown to beat; None if it beats all others."""
    ends = {name: one.high for name, one in held_out.differences.items() if name != held_out.best}
    left = {name: math.inf if high is None else high for name, high in ends.items()}
    name = max(left, key=left.__getitem__, default=None)
    return name if name is not None and left[name] >= 0 else None


def held_out_lines(held_out: HeldOut) -> list[str]:
    """The same as sentences, first the verdict."""
    show = unit_of(held_out)
    what = "loss" if held_out.reward_range is None else "reward"
    said = f"**{held_out.method}**: mean {what} {figure_text(held_out.policy, show)}, {ESTIMATED}."
    best = f"The best logger, {held_out.best}, has {figure_text(held_out.loggers[held_out.best], show)}"
    judged = verdict(held_out)
    whether = "whether the policy is better" if judged == OPEN else "the policy is"
    words = f"{best}: {whether} {judged} ({difference_text(held_out)})."
    unit = f" (Risks: {risk_text(held_out)}.)" if held_out.reward_range is not None else ""
    return [f"{said} {words}{rival_text(held_out)}", f"{held_out.sentence}{unit}"]


def rival_text(held_out: HeldOut) -> str:
    """A sentence where another logger than the best one leaves the verdict open; else nothing."""
    high, other = held_out.difference.high, rival(held_out)
    if high is None or high >= 0 or other is None:
        return ""
    return f" Logger {other} may be as good: the policy minus {other} is {difference_text(held_out, other)}."


def plain_lines(held_out: HeldOut) -> list[str]:
    """The sentences without marks."""
    return [line.replace("**", "") for line in held_out_lines(held_out)]


def unit_of(held_out: HeldOut) -> Callable[[float], float]:
    """From losses as learned from to what the log has."""
    scale = held_out.max_loss / held_out.largest_loss if held_out.max_loss else 1.0
    if held_out.reward_range is None:
        return lambda risk: risk * scale
    high = held_out.reward_range[1]
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


def difference_text(held_out: HeldOut, logger: str | None = None) -> str:
    """The policy minus a logger, the best one if none is named, in the unit that the log has."""
    show = unit_of(held_out)
    zero = show(0.0)

    def shift(risk: float) -> float:
        return show(risk) - zero

    one = held_out.difference if logger is None else held_out.differences.get(logger, NOTHING)
    return "-" if one.value is None else f"{shift(one.value):+.4f} ({_signed(one, shift)})"


def _signed(one: WithInterval, shift: Callable[[float], float]) -> str:
    if one.low is None or one.high is None:
        return "-"
    low, high = sorted((shift(one.low), shift(one.high)))
    return f"{low:+.4f} to {high:+.4f}"
