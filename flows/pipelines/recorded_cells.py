"""What MLflow knows of a dataset's cells: one finished run per method, seed and choice of settings."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlflow.entities import Run

from multilogger.components.errors import BadInput
from multilogger.components.learners.methods import reads
from multilogger.components.learners.presets import PRESETS
from multilogger.flows.pipelines.pipeline import LEARN
from multilogger.flows.pipelines.settings import flat, pipeline_settings
from multilogger.tasks.engine.store import ROOT_VARIABLE, Store
from multilogger.tasks.engine.tracking import BATCH, EXPERIMENT_PREFIX, Tracker, param_text
from multilogger.tasks.learn_settings import preset_numbers
from multilogger.tasks.registry import STAGES

if TYPE_CHECKING:
    from multilogger.tasks.engine.tracking import Tracker


def existing_runs() -> "Tracker":
    """The tracker of a store that has runs: no database is made for somebody who only wants to look."""
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")
    store = Store.current()
    if not os.environ.get("MLFLOW_TRACKING_URI") and not (store.root / "mlflow.db").exists():
        raise BadInput(
            f"the store at {store.root} has no runs yet; run 'multilogger learn' first, "
            f"or name another store with {ROOT_VARIABLE}"
        )
    from multilogger.tasks.engine.tracking import Tracker

    return Tracker(store.open())


NOT_A_CHOICE = frozenset({"download.mirror", "learn.method", "learn.preset"}) | {
    f"{name}.{setting}" for name, stage in STAGES.items() for setting in stage.settings_type.not_in_key
}
"""Parameters that say how or where, or have a column of their own."""


@dataclass(frozen=True)
class RecordedCell:
    """A finished run of a whole pipeline. `choices` are its settings but for what every seed changes."""

    run_id: str
    name: str
    method: str
    preset: str
    seed: int
    choices: Mapping[str, str]
    metrics: Mapping[str, float]
    learn_run: str | None


def recorded_cells(tracker: Tracker, dataset: str) -> list[RecordedCell]:
    """The newest run of each cell of a dataset, the newest first."""
    newest: dict[tuple[object, ...], RecordedCell] = {}
    for run in _evaluated_runs(tracker, dataset):
        cell = _cell(run)
        identity = (cell.method, cell.preset, cell.seed, *sorted(cell.choices.items()))
        newest.setdefault(identity, cell)
    return list(newest.values())


def usual_choices(dataset: str, cell: RecordedCell) -> dict[str, str]:
    """What a cell would have if nobody had changed a setting, but for its data; empty for unknown presets."""
    if cell.preset not in PRESETS:
        return {}
    usual = flat(
        pipeline_settings([name for name in LEARN if name not in ("download", "learn")], dataset, cell.seed)
    )
    numbers = preset_numbers(cell.preset, dataset, cell.method)
    usual |= {f"learn.{name}": value for name, value in numbers.items()} | {"learn.seed": cell.seed}
    return {name: param_text(value) for name, value in usual.items()}


def recorded_datasets(tracker: Tracker) -> list[str]:
    """The datasets that have a recorded cell."""
    found = tracker.client.search_experiments(filter_string=f"name LIKE '{EXPERIMENT_PREFIX}%'")
    names = sorted(experiment.name.removeprefix(EXPERIMENT_PREFIX) for experiment in found)
    return [name for name in names if _evaluated_runs(tracker, name)]


def _evaluated_runs(tracker: Tracker, dataset: str) -> list[Run]:
    """Finished runs of flows that ended in an evaluation; a stage's own run has no tag `flow`."""
    client = tracker.client
    experiment = client.get_experiment_by_name(f"{EXPERIMENT_PREFIX}{dataset}")
    if experiment is None:
        return []
    query = "attributes.status = 'FINISHED' and tags.flow LIKE '%' and metrics.exp >= 0"
    found: list[Run] = []
    token = None
    while token != "":
        page = client.search_runs([experiment.experiment_id], query, max_results=BATCH, page_token=token)
        found += [run for run in page if "learn.method" in run.data.params]
        token = page.token or ""
    return found


def _unread(name: str, method: str) -> bool:
    """Whether a parameter is a setting that the method does not read; older versions recorded those too."""
    stage, _, setting = name.partition(".")
    return stage == "learn" and setting != "seed" and not reads(method, setting)


def _cell(run: Run) -> RecordedCell:
    params, tags = run.data.params, run.data.tags
    seed = tags.get("seed", "0")
    choices = {
        name: text
        for name, text in params.items()
        if name not in NOT_A_CHOICE and not (name.endswith(".seed") and text == seed)
        if not _unread(name, params["learn.method"])
    }
    return RecordedCell(
        run_id=run.info.run_id,
        name=str(run.info.run_name),
        method=params["learn.method"],
        preset=params.get("learn.preset", ""),
        seed=int(seed),
        choices=choices,
        metrics=run.data.metrics,
        learn_run=tags.get("stage.learn.run_id"),
    )
