"""A small picture of a test: our interval, the paper's value, and the bound that decides."""

from collections.abc import Sequence

from multilogger.components.reproduction.verdicts import ClaimTest

WIDTH, HEIGHT, PAD = 150.0, 20.0, 6.0


def interval_strips(tests: Sequence[ClaimTest]) -> list[str]:
    """An `<svg>` for each test, all on one scale so that they can be compared by eye."""
    values = [v for test in tests for v in _values(test)]
    low, high = min(values), max(values)
    unit = (WIDTH - 2 * PAD) / ((high - low) or 1.0)
    return [_strip(test, low, unit) for test in tests]


def _values(test: ClaimTest) -> list[float]:
    numbers = (test.sample.low, test.sample.mean, test.sample.high, test.paper_value)
    return [test.bound, *(v for v in numbers if v is not None)]


def _strip(test: ClaimTest, low: float, unit: float) -> str:
    def x(value: float) -> str:
        return f"{PAD + (value - low) * unit:.1f}"

    middle = f"{HEIGHT / 2:g}"
    marks = [f'<path class="bound" d="M{x(test.bound)} 1V{HEIGHT - 1:g}"/>']
    if test.sample.low is not None and test.sample.high is not None:
        marks.append(f'<path class="range" d="M{x(test.sample.low)} {middle}H{x(test.sample.high)}"/>')
    if test.sample.mean is not None:
        marks.append(f'<circle class="mean" cx="{x(test.sample.mean)}" cy="{middle}" r="3.2"/>')
    if test.paper_value is not None:
        marks.append(f'<path class="paper" d="M{x(test.paper_value)} {middle}m0 -4l4 4l-4 4l-4 -4z"/>')
    return f'<svg class="strip" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" aria-hidden="true">{"".join(marks)}</svg>'
