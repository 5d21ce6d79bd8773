"""A plot's SVG made fit to stand inside a page: no foreign addresses, ids of its own, the page's colours."""

import re

from multilogger.components.reproduction.plots import BACKGROUND, GRID, INK, MUTED, SERIES, Picture

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
