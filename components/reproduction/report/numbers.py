"""How numbers are written on the page."""

import math

from multilogger.components.reproduction.claims.verdicts import ClaimTest, Scale
from multilogger.components.reproduction.statistics import MeanOverSeeds, fixed, loss_digits

NOTHING = "–"
MINUS = "−"


def loss(value: float | None) -> str:
    """EXP or a greedy loss, three decimals as in the paper, four below a tenth."""
    return NOTHING if value is None else fixed(value, loss_digits(value))


def inverse(value: float | None) -> str:
    """1/EXP, four decimals as in the paper."""
    return NOTHING if value is None else fixed(value, 4)


def half_width(sample: MeanOverSeeds) -> str:
    """`± 0.021`; empty where there is no interval."""
    return "" if sample.half_width is None else f"± {fixed(sample.half_width, loss_digits(sample.mean))}"


def inverse_half_width(sample: MeanOverSeeds) -> str:
    return "" if sample.half_width is None else f"± {fixed(sample.half_width, 4)}"


def signed(value: float | None, digits: int = 3) -> str:
    """A difference with its sign."""
    if value is None:
        return NOTHING
    text = fixed(value, digits)
    return MINUS + text[1:] if text.startswith("-") else text if float(text) == 0 else f"+{text}"


def interval(sample: MeanOverSeeds, digits: int = 3) -> str:
    """`[−0.12, +0.03]`; empty where there is none."""
    if sample.low is None or sample.high is None:
        return ""
    return f"[{signed(sample.low, digits)}, {signed(sample.high, digits)}]"


def probability(p: float | None) -> str:
    """A p-value: none below 0.001 is worth its digits."""
    if p is None:
        return NOTHING
    return "< 0.001" if p < 0.001 else fixed(p, 3)


def tested(test: ClaimTest, value: float | None) -> str:
    """A tested quantity with the decimals of its scale."""
    return signed(value, _digits(test))


def tested_interval(test: ClaimTest) -> str:
    return interval(test.sample, _digits(test))


def tested_spread(test: ClaimTest) -> str:
    """The half-width of the interval; empty where there is none, or both sides are one and the same."""
    width = test.sample.half_width
    return "" if width is None or test.same else f"± {fixed(width, _digits(test))}"


def _digits(test: ClaimTest) -> int:
    return 4 if test.scale is Scale.SLOPE else 3


def thousands(value: int) -> str:
    return f"{value:,}"


def axis_number(value: float | None) -> str:
    return NOTHING if value is None or not math.isfinite(value) else f"{value:g}"
