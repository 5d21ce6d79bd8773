"""Intervals of means over seeds, paired tests, Holm's correction; and numbers as plain text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special


def fixed(value: float | None, digits: int) -> str:
    """A number with so many decimals; empty for none, and never a negative zero."""
    if value is None:
        return ""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def loss_digits(value: float | None) -> int:
    """Decimals of an expected loss or an error: three, four below a tenth."""
    return 4 if value is not None and abs(value) < 0.1 else 3


def measured(value: float | None) -> str:
    """A mean or an end of its interval, with digits enough to be rounded once more where it is shown."""
    return fixed(value, 6)


def number(value: float | None) -> str:
    """A setting such as a replay count or a temperature, in its shortest form."""
    return "" if value is None else f"{value:g}"


CONFIDENCE = 0.95
FEWEST_SEEDS = 3
FEW_SEEDS = f"Means over fewer than {FEWEST_SEEDS} seeds have no interval: so few do not tell the spread."


@dataclass(frozen=True)
class MeanOverSeeds:
    """A mean with its 95 % Student-t interval; no mean of nothing, no interval of fewer than two numbers."""

    count: int
    mean: float | None
    low: float | None
    high: float | None
    standard_error: float | None

    @property
    def half_width(self) -> float | None:
        return None if self.high is None or self.low is None else (self.high - self.low) / 2

    def told(self, digits: int) -> str:
        """Half of the width for a table of a person's own runs, as ` ± 0.123`; nothing of two seeds.

        Choice: of two numbers the interval is 12.7 standard errors to either side, which says nothing.
        """
        half = self.half_width
        return "" if half is None or self.count < FEWEST_SEEDS else f" ± {half:.{digits}f}"


def mean_over_seeds(values: Sequence[float]) -> MeanOverSeeds:
    """mean -+ t(0.975, n - 1) s / sqrt(n)."""
    n = len(values)
    if n == 0:
        return MeanOverSeeds(0, None, None, None, None)
    mean = math.fsum(values) / n
    if n == 1:
        return MeanOverSeeds(1, mean, None, None, None)
    error = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1) / n)
    half = float(special.stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * error
    return MeanOverSeeds(n, mean, mean - half, mean + half, error)


def ratio_over_seeds(pairs: Sequence[tuple[float, float]]) -> MeanOverSeeds:
    """r = sum a / sum b of pairs (a, b), -+ t(0.975, n - 1) s / (sqrt(n) mean b), s the spread of a - r b.

    A ratio of means, not a mean of ratios: a seed whose b is 0 or small does not decide it.
    """
    below = math.fsum(b for _, b in pairs)
    if below <= 0:
        return mean_over_seeds([])
    ratio = math.fsum(a for a, _ in pairs) / below
    rest = mean_over_seeds([a - ratio * b for a, b in pairs])
    if rest.half_width is None or rest.standard_error is None:
        return MeanOverSeeds(rest.count, ratio, None, None, None)
    mean = below / len(pairs)
    half, error = rest.half_width / mean, rest.standard_error / mean
    return MeanOverSeeds(rest.count, ratio, ratio - half, ratio + half, error)


def p_value(sample: MeanOverSeeds, bound: float) -> float | None:
    """Two-sided p of the t-test that the mean is `bound`; below 0.05 just when the interval leaves it out."""
    if sample.mean is None or sample.standard_error is None:
        return None
    distance = sample.mean - bound
    if sample.standard_error == 0:
        return 1.0 if distance == 0 else 0.0
    return float(2 * special.stdtr(sample.count - 1, -abs(distance) / sample.standard_error))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given; below 0.05 is rejected at 5 % family-wise."""
    m = len(p_values)
    adjusted = [0.0] * m
    running = 0.0
    for rank, index in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (m - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Least-squares slope of y over x; needs two distinct x."""
    centred = np.asarray(x, dtype=float) - np.mean(x)
    return float(centred @ np.asarray(y, dtype=float) / (centred @ centred))
