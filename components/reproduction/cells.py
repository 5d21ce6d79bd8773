"""Cells: which of them failed, what they are called, and the groups that a mean is taken over."""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from multilogger.components.reproduction.number_text import number
from multilogger.components.reproduction.results import CellResult, Reproduction

Key = TypeVar("Key", bound=Hashable)

PARTS = ("table2", "figure1", "figure2", "figure3", "choices", "loggers", "pairwise", "constraint")
"""The fields of a reproduction that hold cells."""


def succeeded(cell: CellResult) -> bool:
    """Whether a cell has a number that can be used; EXP is a loss, so finite and not below 0."""
    return cell.exp is not None and math.isfinite(cell.exp) and cell.exp >= 0


def failure_reason(cell: CellResult) -> str:
    """Why a cell has no number."""
    if cell.error:
        return cell.error
    return "no result and no reason given" if cell.exp is None else f"EXP is {cell.exp}, which is no loss"


def failed_cells(reproduction: Reproduction) -> list[tuple[str, CellResult]]:
    """Every failed cell with the part of the reproduction that it belongs to."""
    return [(part, cell) for part in PARTS for cell in getattr(reproduction, part) if not succeeded(cell)]


def cell_count(reproduction: Reproduction) -> int:
    return sum(len(getattr(reproduction, part)) for part in PARTS)


def sweep_position(cell: CellResult) -> str:
    """Where in a sweep a cell stands, in words; empty outside of one."""
    named = {
        "replay_count": number(cell.replay_count),
        "tau": number(cell.tau),
        "loggers": number(cell.loggers),
        "choice": cell.choice,
        cell.axis: cell.level,
        "under": "" if cell.objective == cell.level else cell.objective,
    }
    return ", ".join(f"{name} {value}" for name, value in named.items() if value)


def grouped(cells: Iterable[CellResult], key: Callable[[CellResult], Key]) -> dict[Key, list[CellResult]]:
    """Cells by key, keys as they appear; those of a key by seed, so that sums do not depend on the order."""
    groups: dict[Key, list[CellResult]] = {}
    for cell in cells:
        groups.setdefault(key(cell), []).append(cell)
    return {k: sorted(group, key=lambda c: c.seed) for k, group in groups.items()}


def exp_by_seed(cells: Iterable[CellResult]) -> dict[int, float]:
    """EXP of the cells that succeeded, by seed."""
    ordered = sorted(cells, key=lambda c: c.seed)
    return {cell.seed: cell.exp for cell in ordered if succeeded(cell) and cell.exp is not None}


def paired(left: dict[int, float], right: dict[int, float]) -> list[tuple[float, float]]:
    """The numbers of the seeds that both have."""
    return [(left[seed], right[seed]) for seed in sorted(left.keys() & right.keys())]


def datasets_in_order(reproduction: Reproduction) -> list[str]:
    """Datasets as given: those of Table 1 first, then as they appear among the cells."""
    cells: Sequence[CellResult] = [c for part in PARTS for c in getattr(reproduction, part)]
    names = [size.dataset for size in reproduction.table1] + [cell.dataset for cell in cells]
    return list(dict.fromkeys(names))
