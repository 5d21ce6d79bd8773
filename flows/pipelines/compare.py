"""`multilogger compare`: the methods of a dataset side by side, from MLflow's runs."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from multilogger.components.datasets.registry import DATASETS, loss_of
from multilogger.components.errors import BadInput, meant
from multilogger.components.reproduction.statistics import (
    FEW_SEEDS,
    FEWEST_SEEDS,
    MeanOverSeeds,
    mean_over_seeds,
)
from multilogger.components.text import TextRows
from multilogger.flows.pipelines.recorded_cells import (
    RecordedCell,
    barred,
    champion_of,
    order_of_cell,
    recorded_cells,
    recorded_datasets,
    usual_choices,
)
from multilogger.flows.pipelines.registered_logs import registered_logs
from multilogger.tasks.engine.tracking import Tracker

RUN_CHARACTERS = 12  # `stage --run` takes the beginning of an id
CHANGED = "changed from preset"
MORE_IS_BETTER = frozenset({"effective_rows"})
METRICS = ("exp", "greedy", "validation_risk", "certificate_log10", "effective_rows")
COLUMNS = ("exp", "greedy", "validation_risk")
ESTIMATED = "test, estimated"


@dataclass(frozen=True)
class ComparedRuns:
    """Rows to print, the best first, what stands above them, and the other datasets that have runs."""

    title: str
    rows: TextRows
    elsewhere: tuple[str, ...]


def compare(
    tracker: Tracker, dataset: str, metric: str = "exp", methods: Collection[str] = ()
) -> ComparedRuns:
    """One row per method, preset and choice of settings: means over seeds with 95 % intervals."""
    if metric not in METRICS:
        raise BadInput(f"unknown metric {metric!r}; choose one of {', '.join(METRICS)}")
    cells = recorded_cells(tracker, dataset)
    known = sorted({cell.method for cell in cells})
    wrong = [method for method in methods if method not in known]
    if not cells:
        raise BadInput(f"MLflow has no finished run of {dataset}; {_advice(tracker, dataset)}")
    if wrong:
        raise BadInput(f"MLflow has no finished run of {wrong[0]!r} on {dataset}, only of {', '.join(known)}")
    groups = [group for group in _groups(cells) if not methods or group[0].method in methods]
    groups.sort(key=lambda group: _rank(group, metric))
    champion = champion_of(tracker, dataset)
    crowned = (
        str(champion.run_id) if champion else ""
    )  # of the learning: a cell may have been run again since
    what, titles = _words(dataset, cells[0])
    shown = [name for name in COLUMNS if name in titles]
    columns = {name: titles.get(name, name) for name in (metric, *shown)}
    rows = [_row(dataset, group, groups, columns, crowned) for group in groups]
    if not any(row[CHANGED] for row in rows):
        rows = [{name: text for name, text in row.items() if name != CHANGED} for row in rows]
    title = (
        f"{dataset}: {what}, means over seeds with 95 % intervals; the best run is that of least validation "
        "risk"
    )
    if max(map(len, groups)) < FEWEST_SEEDS:
        title += f". {FEW_SEEDS}"
    elsewhere = tuple(name for name in recorded_datasets(tracker) if name != dataset)
    return ComparedRuns(title, rows, elsewhere)


def _words(dataset: str, cell: RecordedCell) -> tuple[str, dict[str, str]]:
    """What the figures are, and what heads their columns."""
    if cell.own_log:
        unit = "mean loss"
        if "import-log.reward" in cell.choices:
            unit = "mean loss (the largest reward minus the reward, as a share of its range)"
        what = f"{unit} on test rows, estimated from the log as no true labels exist"
        return what, {"exp": ESTIMATED, "validation_risk": "validation risk"}
    words = loss_of(dataset, cell.actions).words
    titles = {"exp": "EXP", "greedy": words.greedy, "validation_risk": "validation risk"}
    return f"{words.expected} on test (EXP) and others", titles


def _advice(tracker: Tracker, dataset: str) -> str:
    """What to do when a dataset has no runs: own files may have any name, or the name is wrong."""
    others = recorded_datasets(tracker)
    listed = f"; those with runs are {', '.join(others)}, name one with --dataset" if others else ""
    if dataset in DATASETS:
        table = "one-of" if DATASETS[dataset].actions == "one-of" else "table2"
        return (
            f"make some with 'multilogger learn --dataset {dataset}' or "
            f"'multilogger reproduce {table} --dataset {dataset}'{listed}"
        )
    if dataset in registered_logs():
        return f"make some with 'multilogger study --dataset {dataset} --mirror FOLDER'{listed}"
    if others:
        near = meant(dataset, [*others, *DATASETS])
        return f"{near}{listed.removeprefix('; ')}" if near else f"it is no registered dataset{listed}"
    near = meant(dataset, DATASETS)
    choices = ", ".join(DATASETS)
    return f"it is no registered dataset; {near}choose one of {choices}, and 'multilogger learn' first"


def _groups(cells: Sequence[RecordedCell]) -> list[list[RecordedCell]]:
    """Cells that differ in nothing but the seed, together."""
    found: dict[tuple[object, ...], list[RecordedCell]] = defaultdict(list)
    for cell in cells:
        found[cell.method, cell.preset, *sorted(cell.choices.items())].append(cell)
    return list(found.values())


def _row(
    dataset: str,
    group: Sequence[RecordedCell],
    groups: Sequence[Sequence[RecordedCell]],
    columns: Mapping[str, str],
    crowned: str,
) -> dict[str, str]:
    first = group[0]
    best = min(group, key=order_of_cell)
    numbers = {title: _shown(_mean(group, name)) for name, title in columns.items()}
    return {
        "method": first.method,
        "preset": first.preset,
        CHANGED: _what_changed(dataset, first, groups),
        "seeds": str(len(group)),
        **numbers,
        "best run": best.run_id[:RUN_CHARACTERS],
        "": "champion" if crowned and crowned in {cell.learn_run for cell in group} else barred(best),
    }


def _what_changed(dataset: str, cell: RecordedCell, groups: Sequence[Sequence[RecordedCell]]) -> str:
    """The settings that are not those of the preset.

    Data files have no default: these are shown where rows of one method and preset are not alike in them.
    """
    usual = usual_choices(dataset, cell)
    others = [g[0].choices for g in groups if (g[0].method, g[0].preset) == (cell.method, cell.preset)]
    alike = {name for name in cell.choices if len({choices.get(name) for choices in others}) == 1}
    return ", ".join(
        f"{name.removeprefix('learn.')}={text.replace(' ', '')}"
        for name, text in sorted(cell.choices.items())
        if (text != usual[name] if name in usual else name not in alike)
    )


def _mean(group: Sequence[RecordedCell], metric: str) -> MeanOverSeeds:
    return mean_over_seeds([cell.metrics[metric] for cell in group if metric in cell.metrics])


def _rank(group: Sequence[RecordedCell], metric: str) -> float:
    """Least first, but for what is better the more there is of it; groups without the metric last."""
    mean = _mean(group, metric).mean
    return math.inf if mean is None else -mean if metric in MORE_IS_BETTER else mean


def _shown(mean: MeanOverSeeds) -> str:
    if mean.mean is None:
        return ""
    return f"{mean.mean:.3f}{mean.told(3)}"
