"""Words and tables of them for terminals and notebooks."""

from collections.abc import Mapping, Sequence
from html import escape

TextRows = Sequence[Mapping[str, str]]


def shown(text: str) -> str:
    """A text for a terminal: what it would obey, an escape sign say, is written out; lines stay."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in text)


def text_table(rows: TextRows) -> list[str]:
    """Lines of a table, the first column to the left and numbers to the right."""
    heads = list(rows[0])
    lines = [
        [shown(word) for word in line] for line in (heads, *([row[head] for head in heads] for row in rows))
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join([_first(line[0], widths[0]), *_others(line[1:], widths[1:])]).rstrip() for line in lines
    ]


def html_table(rows: TextRows) -> str:
    """The same for a notebook."""
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(value)}</td>" for value in row.values()) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _first(text: str, width: int) -> str:
    return text.ljust(width)


def _others(texts: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [text.rjust(width) for text, width in zip(texts, widths, strict=True)]
