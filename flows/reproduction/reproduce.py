"""Flows: the paper's tables and figures from their cells, with a report."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from multilogger.components.errors import without_secrets
from multilogger.components.reproduction.report.folder import write_outputs
from multilogger.components.reproduction.results import CellResult, DatasetSize, Reproduction
from multilogger.flows.cells.run_cells import run_cells
from multilogger.flows.cells.runner_choice import DEFAULT_RUNNER, DEFAULT_WORKERS, RunnerChoice
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.flow_run import tidy, tracked_run
from multilogger.flows.pipelines.learn import name_champion
from multilogger.flows.reproduction.plan import part_of, plan_of
from multilogger.flows.reproduction.scope import Scope
from multilogger.flows.reproduction.tables import reproduction_notes, reproduction_tables
from multilogger.flows.servers.local_server import running_servers
from multilogger.flows.terminal.terminal import to_markdown
from multilogger.tasks.dataset_files import load_facts
from multilogger.tasks.engine.progress import open_bar, tick_off
from multilogger.tasks.engine.runner import Lookup
from multilogger.tasks.engine.store import Store, writable_folder

EXPERIMENT = "reproductions"
DEFAULT_OUT = "reproduction"
UI_ADDRESS = "http://127.0.0.1:5000"


@dataclass(frozen=True)
class Reproduced:
    """What was reproduced, where its files are, and the MLflow run that has them too.

    `computed` cells were run now, `reused` were finished already; a cell that several parts share counts
    once, one that failed not at all.
    """

    reproduction: Reproduction
    out: Path
    run_id: str
    computed: int
    reused: int

    @property
    def failures(self) -> list[CellResult]:
        return [cell for cell in self.reproduction.cells if cell.error]


@flow(name="reproduce", flow_run_name="reproduce {target}")
def reproduce(
    target: str = "table2",
    datasets: list[str] | None = None,
    methods: list[str] | None = None,
    seeds: int = 10,
    preset: str | None = None,
    mirror: str | None = None,
    out: str = DEFAULT_OUT,
    settings: dict[str, Any] | None = None,
    workers: int = DEFAULT_WORKERS,
    presets: list[str] | None = None,
    runner: str = DEFAULT_RUNNER,
    address: str | None = None,
) -> Reproduced:
    """Run every cell of a table or figure that is not finished, and write tables, figures and a report.

    `datasets` and `methods` default to the experiment's own; seeds are 0 to `seeds` - 1; `settings` maps
    `stage.setting` to a value for every cell; `workers` cells run at a time. `presets` are shown side by
    side; `preset` names a single one, as older schedules do. Of target `all`, `methods` are those of Table 2.
    `runner` is `process` or `dask`, the latter on the cluster of the scheduler at `address`, if one is given.
    """
    return _reproduce(target, Scope.asked(locals()), Path(out), RunnerChoice(workers, runner, address))


def _reproduce(target: str, scope: Scope, out: Path, running: RunnerChoice) -> Reproduced:
    plan = plan_of(target, scope)
    store = Store.current().open()
    tidy(store)
    folder = writable_folder(out)
    cells = [cell for part in plan.values() for cell in part]
    datasets = ", ".join(dict.fromkeys(cell.dataset for cell in cells))
    name = f"{target} · {datasets} · {scope.seeds} seed{'s' if scope.seeds > 1 else ''}"
    with tracked_run(store, EXPERIMENT, name, {"flow": "reproduce"}, scope.params()) as run:
        done = run_cells(cells, running)
        results = iter(done.results)
        parts = {part_of(name): tuple(next(results) for _ in part) for name, part in plan.items()}
        reproduction = Reproduction(table1=_sizes(cells), **parts)
        with open_bar("writing the report", None):
            made = [scope.command(target)]
            files = write_outputs(reproduction, folder, _mlflow_address(store), made, _origin(scope))
            run.tracker.log_files(run.run_id, files)
        failed = sum(bool(cell.error) for cell in reproduction.cells)
        run.log_metrics({"cells": len(cells), "failed_cells": failed})
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        tick_off(name_champion(run.tracker, dataset))
    _show_on_run_page(name, reproduction)
    return Reproduced(reproduction, folder, run.run_id, done.computed, done.reused)


def _show_on_run_page(name: str, reproduction: Reproduction) -> None:
    """The tables as a Prefect artifact."""
    tables = reproduction_tables(reproduction)
    parts = [f"# {name}", *(f"## {title}\n\n{to_markdown(rows)}" for title, rows in tables.items())]
    parts += reproduction_notes(reproduction)
    create_markdown_artifact("\n\n".join(parts), key="reproduction", description="Tables of a reproduction")


def _mlflow_address(store: Store) -> str:
    """Where the report's links lead: the tracking server, or where `multilogger ui` shows this store."""
    if store.tracks_by_server:
        return without_secrets(store.tracking_uri)
    up = running_servers(store)
    return up.mlflow if up is not None and up.mlflow else UI_ADDRESS


def _origin(scope: Scope) -> dict[str, str]:
    return {
        "multilogger": version("multilogger"),
        "preset": ", ".join(scope.presets),
        "seeds": f"0 to {scope.seeds - 1}" if scope.seeds > 1 else "0",
    }


def _sizes(cells: Sequence[Cell]) -> tuple[DatasetSize, ...]:
    """Table 1, of the datasets as they were loaded."""
    lookup = Lookup(Store.current())
    sizes: dict[str, DatasetSize] = {}
    for cell in cells:
        if cell.dataset not in sizes and (data := lookup.find(cell.pipeline()["download"])) is not None:
            facts = load_facts(data)
            sizes[cell.dataset] = DatasetSize(
                facts.name, facts.features, facts.labels, facts.n_train, facts.n_test, facts.actions
            )
    return tuple(sizes.values())
