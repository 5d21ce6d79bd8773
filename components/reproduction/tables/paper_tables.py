"""Tables 1 and 2 beside the paper's: datasets as they were loaded; EXP by dataset, method and preset."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.training.method import Group
from multilogger.components.reproduction.names import MethodGroup, method_group, method_rank, preset_rank
from multilogger.components.reproduction.paper_figures import (
    SAME_ROWS,
    paper_dataset,
    paper_exp,
    paper_table1,
)
from multilogger.components.reproduction.results import (
    CellResult,
    DatasetSize,
    Reproduction,
    datasets_in_order,
    exp_by_seed,
    grouped,
    paired,
    succeeded,
)
from multilogger.components.reproduction.statistics import MeanOverSeeds, fixed, mean_over_seeds


@dataclass(frozen=True)
class Table1Row:
    """`paper` is None for a dataset that the paper does not have."""

    ours: DatasetSize
    paper: DatasetSize | None

    @property
    def agrees(self) -> bool:
        return self.paper is not None and replace(self.paper, dataset=self.ours.dataset) == self.ours

    @property
    def note(self) -> str:
        if self.paper is None:
            return "not in the paper"
        same_rows = SAME_ROWS.get(self.ours.dataset)
        return f"other features of {same_rows}'s rows" if same_rows else ""


def table1_rows(reproduction: Reproduction) -> list[Table1Row]:
    paper = paper_table1()
    return [Table1Row(size, paper.get(paper_dataset(size.dataset))) for size in reproduction.table1]


@dataclass(frozen=True)
class Table2Row:
    """A method on a dataset. `cells` are all that were run, by seed; means are of those that succeeded.

    `twin` are the cells of the direct method of a `-reg` method under the same preset; empty without one.
    """

    dataset: str
    method: str
    preset: str
    cells: tuple[CellResult, ...]
    exp: MeanOverSeeds
    greedy: MeanOverSeeds
    paper: float | None
    twin: tuple[CellResult, ...] = ()

    @property
    def greedy_mean(self) -> float | None:
        return self.greedy.mean

    @property
    def note(self) -> str:
        """What was noted of its policies, with the number of seeds if it is not all of them."""
        counts = Counter(cell.note for cell in self.cells if cell.note)
        return "; ".join(
            note if count == len(self.cells) else f"{note} ({count} of {len(self.cells)} seeds)"
            for note, count in counts.most_common()
        )

    @property
    def repeats_twin(self) -> bool:
        """Whether EXP is that of the direct twin in every seed, to the last digit: no second result."""
        pairs = paired(exp_by_seed(self.cells), exp_by_seed(self.twin))
        return bool(pairs) and all(constrained == direct for constrained, direct in pairs)


def table2_rows(reproduction: Reproduction) -> list[Table2Row]:
    """Table 2 itself."""
    return method_rows(reproduction.table2, datasets_in_order(reproduction))


def pairwise_rows(reproduction: Reproduction) -> list[Table2Row]:
    """The same of the simulated loss that does not add up."""
    return method_rows(reproduction.pairwise, datasets_in_order(reproduction))


def method_rows(cells: Sequence[CellResult], datasets: Sequence[str]) -> list[Table2Row]:
    """Rows by dataset in the order given, then by method in the canonical order, then by preset."""
    groups = grouped(cells, lambda c: (c.dataset, c.method, c.preset))
    keys = sorted(groups, key=lambda k: (datasets.index(k[0]), method_rank(k[1]), preset_rank(k[2])))
    return [_row(groups[key], groups.get((key[0], _direct(key[1]), key[2]), [])) for key in keys]


def best_learned(rows: list[Table2Row], dataset: str) -> Table2Row | None:
    """The row of lowest mean EXP among the methods that see nothing but the log."""
    learned = [
        row
        for row in rows
        if row.dataset == dataset
        and row.exp.mean is not None
        and method_group(row.method) is MethodGroup.LEARNED
    ]
    return min(learned, key=lambda row: row.exp.mean or 0.0, default=None)


def _direct(method: str) -> str:
    """`weighted-reg` -> `weighted`; of another method a name that no method has."""
    constrained = method in METHODS and METHODS[method].group is Group.CONSTRAINED
    return METHODS[method].twin if constrained else ""


def _row(cells: list[CellResult], twin: list[CellResult]) -> Table2Row:
    good = [cell for cell in cells if succeeded(cell)]
    first = cells[0]
    return Table2Row(
        dataset=first.dataset,
        method=first.method,
        preset=first.preset,
        cells=tuple(cells),
        exp=mean_over_seeds([cell.exp for cell in good if cell.exp is not None]),
        greedy=mean_over_seeds([cell.greedy for cell in good if cell.greedy is not None]),
        paper=paper_exp(first.dataset, first.method),
        twin=tuple(twin),
    )


SAME_AS_DIRECT = "same as direct"
"""Stands where a number would repeat that of the direct twin.

Why it does, EXP cannot tell: the constraint never moved the policy, or not before the chosen epoch, as in a
short run from a warm start.
"""


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
    if row.repeats_twin:
        return SAME_AS_DIRECT
    if row.exp.mean is None:
        return "–"
    spread = "" if row.exp.half_width is None else f" ± {fixed(row.exp.half_width, 3)}"
    some = "" if row.exp.count == len(row.cells) else f" ({row.exp.count} of {len(row.cells)} seeds)"
    return f"{fixed(row.exp.mean, 3)}{spread}{some}"
