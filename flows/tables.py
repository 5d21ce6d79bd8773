"""Tables as rows of text, for whoever shows them."""

from collections.abc import Mapping, Sequence

Rows = Sequence[Mapping[str, str]]


def to_markdown(rows: Rows) -> str:
    """Rows as a Markdown table."""
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *([row[c] for c in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
