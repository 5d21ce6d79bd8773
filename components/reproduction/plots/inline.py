"""Pictures inside a page: a plot's SVG made fit for it, and the small strip of a test."""

import re
from collections.abc import Sequence

from multilogger.components.reproduction.claims.verdicts import ClaimTest
from multilogger.components.reproduction.plots.canvas import BACKGROUND, GRID, INK, MUTED, SERIES, Picture

VARIABLES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--rule)",
    BACKGROUND: "var(--card)",
    **{colour: f"var(--series-{index})" for index, colour in enumerate(SERIES, start=1)},
}
"""Plot colours by the name of the page's own, which follow light and dark."""


def inline_svg(picture: Picture) -> str:
    """The `<svg>` element of a picture; prefixed ids keep two pictures on a page apart."""
    text = picture.svg.decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", text)
    text = text.replace("xlink:href=", "href=")
    prefix = re.sub(r"[^A-Za-z0-9]+", "-", picture.name)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'href="#', f'href="#{prefix}-', text)
    text = re.sub(r"url\(#", f"url(#{prefix}-", text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    # The page sets the size; the viewBox keeps the shape.
    return re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg \1 aria-hidden="true">', text, count=1)


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
