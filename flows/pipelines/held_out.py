"""What held-out rows of a person's own log say, in words: losses, or rewards where the log has rewards."""

from collections.abc import Callable

from multilogger.flows.terminal.terminal import Rows
from multilogger.tasks.own_log.estimate import HeldOut, Range

ESTIMATED = "estimated from held-out rows; no true labels exist"


def held_out_title(found: HeldOut) -> str:
    """What stands above the table."""
    what = "mean loss" if found.reward_range is None else "mean reward"
    return f"Test: {what}, {ESTIMATED} ({found.rows:,} rows, {found.level:.0%} intervals)"


def held_out_rows(found: HeldOut) -> Rows:
    """The policy, then its loggers as they acted themselves."""
    show = unit_of(found)
    own = {"policy": found.method, **_line(found.policy, show), "against the best": difference_text(found)}
    return [
        own,
        *(
            {
                "policy": f"logger {name}" + (" (best)" if name == found.best else ""),
                **_line(one, show),
                "against the best": "",
            }
            for name, one in found.loggers.items()
        ),
    ]


def verdict(found: HeldOut) -> str:
    """Whether the policy is better than the best logger, as far as its log can tell."""
    low, high = found.difference.low, found.difference.high
    if not found.trusted or low is None or high is None:
        return "cannot be told"
    if high < 0:
        return "better than the best logger"
    return "worse than the best logger" if low > 0 else "not told apart from the best logger"


def held_out_lines(found: HeldOut) -> list[str]:
    """The same as sentences, first the verdict."""
    show = unit_of(found)
    what = "loss" if found.reward_range is None else "reward"
    said = f"**{found.method}**: mean {what} {figure_text(found.policy, show)}, {ESTIMATED}."
    best = f"The best logger, {found.best}, has {figure_text(found.loggers[found.best], show)}"
    return [f"{said} {best}: the policy is {verdict(found)} ({difference_text(found)}).", found.sentence]


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


def _line(one: Range, show: Callable[[float], float]) -> dict[str, str]:
    return {"estimate": _number(one.value, show), "interval": _interval(one, show)}


def figure_text(one: Range, show: Callable[[float], float]) -> str:
    """A number with its interval."""
    return f"{_number(one.value, show)} ({_interval(one, show)})"


def _interval(one: Range, show: Callable[[float], float]) -> str:
    if one.low is None or one.high is None:
        return "-"
    low, high = sorted((show(one.low), show(one.high)))
    return f"{low:.4f} to {high:.4f}"


def _number(value: float | None, show: Callable[[float], float]) -> str:
    return "-" if value is None else f"{show(value):.4f}"


def difference_text(found: HeldOut) -> str:
    """The policy minus the best logger, a gain being more reward or less loss as the log has it."""
    show = unit_of(found)
    zero = show(0.0)

    def shift(risk: float) -> float:
        return show(risk) - zero

    one = found.difference
    return "-" if one.value is None else f"{shift(one.value):+.4f} ({_signed(one, shift)})"


def _signed(one: Range, shift: Callable[[float], float]) -> str:
    if one.low is None or one.high is None:
        return "-"
    low, high = sorted((shift(one.low), shift(one.high)))
    return f"{low:+.4f} to {high:+.4f}"
