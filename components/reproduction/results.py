"""What a reproduction is made of: results of cells, and the groups that a mean is taken over."""

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from multilogger.components.datasets.registry import actions_text
from multilogger.components.reproduction.statistics import MeanOverSeeds, mean_over_seeds, number


@dataclass(frozen=True)
class CellResult:
    """One cell. `exp` and `greedy` are losses on test, None if the cell failed; `error` then says why.

    `validation_risk` is the self-normalised balanced estimate on validation rows; `additivity_p` the p-value
    of the test that the loss adds up over labels, which only the additive methods do; `calibration_p` that of
    the test of a loss model of one-of-K actions, and `calibration_off` whether it is off by enough to matter.
    `note` says in a few words where the policy is below the best logger, or may be, on its own estimate;
    `barred` why it may not be chosen by its validation risk.
    `page` is where MLflow shows the run that made the result, below the server's address; empty if there is
    none. The last fields say where in a sweep the cell stands; they are None or empty outside of one.
    """

    dataset: str
    method: str
    preset: str
    seed: int
    exp: float | None
    greedy: float | None
    validation_risk: float | None = None
    additivity_p: float | None = None
    calibration_p: float | None = None
    calibration_off: bool | None = None
    note: str = ""
    barred: str = ""
    page: str = ""
    error: str = ""
    replay_count: int | None = None
    tau: float | None = None
    loggers: int | None = None
    choice: str = ""
    axis: str = ""
    level: str = ""
    objective: str = ""


@dataclass(frozen=True)
class DatasetSize:
    """A row of Table 1 as it was loaded."""

    dataset: str
    features: int
    labels: int
    n_train: int
    n_test: int
    actions: str = "labels"

    @property
    def actions_text(self) -> str:
        """`14 labels`, or `one of 10`."""
        return actions_text(self.actions, self.labels)


@dataclass(frozen=True)
class Reproduction:
    """Everything that was run, by the table or figure that it belongs to; what was not asked for is empty.

    `table2` has methods x datasets x seeds, `one_of` the same of datasets whose action is one of K.
    `figure1` varies `replay_count`; its reference lines have None there. `figure2` and `figure3` vary
    `tau`, in the same way. `choices` has one cell for each thing that the paper leaves open, named by
    `choice` (such as `loss_shift=none`; `default` is ours), and seed. `loggers` varies the number of
    `loggers` that the same number of rows comes from. `pairwise` has methods x seeds on the simulated
    dataset whose loss does not add up over labels. `constraint` varies the `level` of one `axis` at a time,
    under each `objective`.
    """

    table1: tuple[DatasetSize, ...] = ()
    table2: tuple[CellResult, ...] = ()
    one_of: tuple[CellResult, ...] = ()
    figure1: tuple[CellResult, ...] = ()
    figure2: tuple[CellResult, ...] = ()
    figure3: tuple[CellResult, ...] = ()
    choices: tuple[CellResult, ...] = ()
    loggers: tuple[CellResult, ...] = ()
    pairwise: tuple[CellResult, ...] = ()
    constraint: tuple[CellResult, ...] = ()

    @property
    def cells(self) -> tuple[CellResult, ...]:
        """All cells of all parts."""
        return tuple(cell for part in PARTS for cell in getattr(self, part))


Key = TypeVar("Key", bound=Hashable)

PARTS = ("table2", "one_of", "figure1", "figure2", "figure3", "choices", "loggers", "pairwise", "constraint")
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


def exp_over_seeds(cells: Iterable[CellResult]) -> MeanOverSeeds:
    """Mean EXP of the cells that succeeded."""
    return mean_over_seeds(list(exp_by_seed(cells).values()))


def paired(left: dict[int, float], right: dict[int, float]) -> list[tuple[float, float]]:
    """The numbers of the seeds that both have."""
    return [(left[seed], right[seed]) for seed in sorted(left.keys() & right.keys())]


def datasets_in_order(reproduction: Reproduction) -> list[str]:
    """Datasets as given: those of Table 1 first, then as they appear among the cells."""
    named: tuple[DatasetSize | CellResult, ...] = (*reproduction.table1, *reproduction.cells)
    return list(dict.fromkeys(part.dataset for part in named))
