"""Flow: several methods and seeds on one dataset or log, with a table, a page and a champion."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from multilogger.components.datasets.registry import actions_text
from multilogger.components.errors import BadInput
from multilogger.components.reproduction.statistics import FEW_SEEDS, FEWEST_SEEDS
from multilogger.components.text import TextRows
from multilogger.flows.cells.run_cells import CellsDone, run_cells
from multilogger.flows.cells.runner_choice import DEFAULT_RUNNER, DEFAULT_WORKERS, RunnerChoice
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.flow_run import tidy, tracked_run
from multilogger.flows.pipelines.learn import name_champion
from multilogger.flows.pipelines.wiring import OWN
from multilogger.flows.study.command import command_of
from multilogger.flows.study.page import study_page
from multilogger.flows.study.plan import study_cells
from multilogger.flows.study.verdicts import (
    StudiedCell,
    chosen,
    conclusion,
    logger_rows,
    study_rows,
    units_text,
)
from multilogger.flows.terminal.terminal import to_markdown
from multilogger.tasks.dataset_files import load_facts
from multilogger.tasks.engine.progress import tick_off
from multilogger.tasks.engine.runner import Lookup
from multilogger.tasks.engine.store import Store, writable_folder
from multilogger.tasks.own_log.estimate import load_held_out
from multilogger.tasks.own_log.propensities import REPORT

PAGE, TABLE = "study.html", "study.csv"
METHODS_TITLE, LOGGERS_TITLE = "Methods", "Loggers on the same test rows"


@dataclass(frozen=True)
class Studied:
    """What a study found, where its files are, and the MLflow run that has them too."""

    tables: dict[str, TextRows]
    conclusion: list[str]
    champion: str
    out: Path
    run_id: str
    computed: int
    reused: int
    failed: int
    cells: int


@flow(name="study", flow_run_name="study {dataset}")
def study(
    dataset: str,
    methods: list[str] | None = None,
    seeds: int = 5,
    preset: str = "auto",
    mirror: str | None = None,
    settings: dict[str, Any] | None = None,
    out: str = "study",
    workers: int = DEFAULT_WORKERS,
    runner: str = DEFAULT_RUNNER,
    address: str | None = None,
) -> Studied:
    """Learn with every method and seed, compare the policies, and name the champion of the dataset."""
    running = RunnerChoice(workers, runner, address)
    cells = study_cells(dataset, methods, seeds, preset, mirror, settings or {})
    chosen_methods = list(dict.fromkeys(cell.method for cell in cells))
    store = Store.current().open()
    tidy(store)
    folder = writable_folder(Path(out))
    name = f"study · {dataset} · {', '.join(chosen_methods)} · {seeds} seed{'s' if seeds > 1 else ''}"
    params = {"methods": ",".join(chosen_methods), "seeds": seeds, "preset": preset}
    with tracked_run(store, "studies", name, {"flow": "study"}, params) as run:
        done = run_cells(cells, running)
        if done.refusal:
            raise BadInput(done.refusal)
        studied = _studied(cells, done, store)
        tables, lines = _tables(studied), conclusion(studied)
        notes = _notes(cells[0], seeds, store)
        title = f"{dataset}: {len(chosen_methods)} methods, {seeds} seeds"
        page = study_page(
            title,
            lines,
            tables,
            notes,
            command_of(dataset, chosen_methods, seeds, preset, mirror, settings or {}),
        )
        (folder / PAGE).write_text(page, encoding="utf-8")
        (folder / TABLE).write_text(_csv(study_rows(studied)), encoding="utf-8")
        run.tracker.log_files(run.run_id, [folder / PAGE, folder / TABLE])
        failed = sum(bool(cell.result.error) for cell in studied)
        run.log_metrics({"cells": len(cells), "failed_cells": failed})
    champion = name_champion(run.tracker, dataset)
    tick_off(champion)
    text = [f"# {title}", *lines, *(to_markdown(rows) for rows in tables.values())]
    create_markdown_artifact("\n\n".join(text), key="study", description="Methods side by side")
    return Studied(
        tables, lines, champion, folder, run.run_id, done.computed, done.reused, failed, len(cells)
    )


def _studied(cells: list[Cell], done: CellsDone, store: Store) -> list[StudiedCell]:
    lookup, found = Lookup(store), []
    for cell, result in zip(cells, done.results, strict=True):
        held_out = None
        if cell.roles is OWN and not result.error:
            scores = lookup.find(cell.pipeline()[OWN.scores])
            held_out = None if scores is None else load_held_out(scores)
        found.append(StudiedCell(result, held_out))
    return found


def _tables(cells: list[StudiedCell]) -> dict[str, TextRows]:
    tables: dict[str, TextRows] = {f"{METHODS_TITLE}{units_text(cells)}": study_rows(cells)}
    best = chosen(cells)
    if best is not None and best.held_out is not None:
        tables[LOGGERS_TITLE] = logger_rows(best.held_out)
    return tables


def _notes(cell: Cell, seeds: int, store: Store) -> list[str]:
    """What data it was, how it was split, and what was estimated."""
    if cell.roles is not OWN:
        return [
            f"Test is the expected loss against true labels, mean of {seeds} seeds with 95 % intervals; each "
            "seed has a log of its own.",
            *([FEW_SEEDS] if seeds < FEWEST_SEEDS else []),
        ]
    lookup, lines = Lookup(store), []
    if (data := lookup.find(cell.pipeline()[OWN.data])) is not None:
        facts = load_facts(data)
        lines.append(
            f"The log has {len(facts.loggers)} loggers ({', '.join(facts.loggers)}), {facts.features} "
            f"features, actions are {actions_text(facts.actions, facts.labels)}. {facts.test_rows:,} "
            "rows were kept aside for test by one split, the same for all methods and seeds; seeds change "
            "how a policy is learned, so the spread over seeds says nothing of the size of the log."
        )
    log = lookup.find(cell.pipeline()[OWN.log])
    if log is not None and REPORT in log.files:
        lines.append(
            "Some propensities were not logged and are estimated; every figure that weighs rows rests on "
            f"them. {REPORT} of the stage propensities says how good they are."
        )
    return lines


def _csv(rows: TextRows) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows([dict(row) for row in rows])
    return text.getvalue()
