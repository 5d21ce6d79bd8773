"""Rows of Table 2 with presets side by side: one line per method, one column per preset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from multilogger.components.reproduction.number_text import fixed
from multilogger.components.reproduction.preset_names import preset_rank
from multilogger.components.reproduction.table2 import Table2Row

OPEN = "constraint open"
"""Stands where a number would repeat that of the direct twin."""


@dataclass(frozen=True)
class MethodLine:
    """A method on a dataset, its rows by preset. One that does not depend on the preset has a single row."""

    method: str
    rows: Mapping[str, Table2Row]

    @property
    def paper(self) -> float | None:
        return next(iter(self.rows.values())).paper

    @property
    def only(self) -> Table2Row | None:
        """The row of a method that was run under one preset."""
        return next(iter(self.rows.values())) if len(self.rows) == 1 else None


def shown_presets(rows: Sequence[Table2Row]) -> tuple[str, ...]:
    """The presets of rows, from the paper's to ours."""
    return tuple(sorted({row.preset for row in rows}, key=preset_rank))


def method_lines(rows: Sequence[Table2Row]) -> list[MethodLine]:
    """Lines of one dataset, methods in the order of its rows."""
    return [
        MethodLine(method, {row.preset: row for row in rows if row.method == method})
        for method in dict.fromkeys(row.method for row in rows)
    ]


def exp_text(row: Table2Row | None) -> str:
    """`0.611 ± 0.008`, with the number of seeds if some failed; empty for a row that there is not."""
    if row is None:
        return ""
    if row.constraint_open:
        return OPEN
    if row.exp.mean is None:
        return "–"
    spread = "" if row.exp.half_width is None else f" ± {fixed(row.exp.half_width, 3)}"
    some = "" if row.exp.count == len(row.cells) else f" ({row.exp.count} of {len(row.cells)} seeds)"
    return f"{fixed(row.exp.mean, 3)}{spread}{some}"
