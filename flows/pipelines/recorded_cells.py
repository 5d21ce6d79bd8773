"""What MLflow knows of a dataset's cells, one run per method, seed and choice of settings; and the champion.

The champion is the policy of least validation risk for a dataset, in MLflow's model registry:

    mlflow.pyfunc.load_model("models:/multilogger-yeast@champion")

Risks are self-normalised balanced estimates on the validation rows of each policy's own log; where a policy
learned from these, of its parts that have not seen the context, or it is no candidate. Different seeds
have different logs, so their estimates carry independent noise, and the least of many is a little too good
to be true; the interval is stored beside the risk. No number of the test split takes part.
"""

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mlflow
from mlflow.entities import Run
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from multilogger.components.learners.methods import reads
from multilogger.components.learners.presets import PRESETS
from multilogger.flows.pipelines.settings import SPLIT_OF_PRESET, flat, pipeline_settings
from multilogger.flows.pipelines.wiring import stages_for
from multilogger.tasks.cell_metrics import (
    RULE_OF_TIES,
    VALIDATION_ESTIMATOR,
    Order,
    may_have_seen,
    order_of,
    why_not_chosen,
)
from multilogger.tasks.engine.locks import FileLock
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import EXPERIMENT_PREFIX, Tracker, param_text
from multilogger.tasks.learn_settings import preset_numbers
from multilogger.tasks.registry import STAGES


def existing_runs() -> Tracker:
    """The tracker of a store that has runs: no database is made for somebody who only wants to look."""
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "CRITICAL")
    store = Store.current()
    store.check_has_runs("learn")
    return Tracker(store.open())


NOT_A_CHOICE = frozenset({"download.mirror", "download.actions", "learn.method", "learn.preset"}) | {
    f"{name}.{setting}" for name, stage in STAGES.items() for setting in stage.settings_type.not_in_key
}
"""Parameters that say how or where, or have a column of their own."""


@dataclass(frozen=True)
class RecordedCell:
    """A finished run of a whole pipeline. `choices` are its settings but for what every seed changes.

    `actions` is the kind that was said of own files.
    """

    run_id: str
    name: str
    method: str
    preset: str
    seed: int
    choices: Mapping[str, str]
    metrics: Mapping[str, float]
    learn_run: str | None
    actions: str | None = None

    @property
    def own_log(self) -> bool:
        """Whether it was learned from a person's own log: then `exp` is an estimate, not a measurement."""
        return any(name.startswith("import-log.") for name in self.choices)


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
    given = ("download", "import-log", "learn")
    stages = [name for name in stages_for(cell.choices) if name not in given]
    usual = flat(pipeline_settings(stages, dataset, cell.seed))
    if "replay" in stages and cell.preset in SPLIT_OF_PRESET:
        usual["replay.split_by"] = SPLIT_OF_PRESET[cell.preset]
    numbers = preset_numbers(cell.preset, dataset, cell.method, cell.actions)
    usual |= {f"learn.{name}": value for name, value in numbers.items()} | {"learn.seed": cell.seed}
    return {name: param_text(value) for name, value in usual.items()}


def recorded_datasets(tracker: Tracker) -> list[str]:
    """The datasets that have a recorded cell."""
    found = tracker.client.search_experiments(filter_string=f"name LIKE '{EXPERIMENT_PREFIX}%'")
    names = (experiment.name.removeprefix(EXPERIMENT_PREFIX) for experiment in found)
    return sorted(name for name in names if _evaluated_runs(tracker, name))


def _evaluated_runs(tracker: Tracker, dataset: str) -> list[Run]:
    """Finished runs of flows that ended in an evaluation; a stage's own run has no tag `flow`."""
    query = "attributes.status = 'FINISHED' and tags.flow LIKE '%' and metrics.exp >= 0"
    return [run for run in tracker.runs_of(dataset, query) if "learn.method" in run.data.params]


def _unread(name: str, method: str) -> bool:
    """Whether a parameter is a setting that the method does not read; older versions recorded those too."""
    setting = name.removeprefix("learn.")
    return setting not in (name, "seed") and not reads(method, setting)


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
        actions=params.get("download.actions", params.get("import-log.kind")),
    )


ALIAS = "champion"


@dataclass(frozen=True)
class Promotion:
    """Whether there is a new champion, and one line that says who and why."""

    changed: bool
    message: str


def promote(tracker: Tracker, dataset: str, candidates: Sequence[RecordedCell]) -> Promotion:
    """Make the best eligible candidate the champion, if it comes before the present one."""
    with FileLock(Store.current().locks / f"champion-{registered_name(dataset)}"):
        present = champion_of(tracker, dataset)
        for best in sorted((c for c in candidates if is_eligible(c)), key=order_of_cell):
            if models := tracker.models_of(str(best.learn_run)):  # the run may be gone
                return _decide(tracker, dataset, best, models[0], present)
        return Promotion(False, f"{dataset}: no candidate may be champion, of {len(candidates)}")


def is_eligible(cell: RecordedCell) -> bool:
    """Whether a cell may be champion, by the rule that every choice among policies has."""
    return cell.learn_run is not None and not barred(cell)


def barred(cell: RecordedCell) -> str:
    """Why a cell may not be chosen; empty if it may."""
    return why_not_chosen(cell.method, cell.metrics, cell.choices.get("reduce.labels", 0))


def order_of_cell(cell: RecordedCell) -> Order:
    """What may be champion comes first, then the lower risk, then the rule of ties."""
    numbers = cell.metrics.get("validation_risk", math.inf), cell.method, cell.seed
    return order_of(bool(barred(cell)), *numbers)


def registered_name(dataset: str) -> str:
    """The name of a dataset's model; the registry takes neither slashes nor colons."""
    return f"multilogger-{re.sub('[/:]', '-', dataset)}"


def champion_of(tracker: Tracker, dataset: str) -> ModelVersion | None:
    """The present champion, None if there is none."""
    try:
        return tracker.client.get_model_version_by_alias(registered_name(dataset), ALIAS)
    except MlflowException:
        return None


def _decide(
    tracker: Tracker, dataset: str, best: RecordedCell, model: str, present: ModelVersion | None
) -> Promotion:
    risk, who = best.metrics["validation_risk"], f"{best.method} (seed {best.seed})"
    if present is None:
        _register(tracker, dataset, best, model)
        return Promotion(True, f"{dataset}: {who} is the first champion, validation risk {risk:.3f}")
    tags = present.tags
    reigning = f"{tags.get('method')} (seed {tags.get('seed')})"
    doubt = ""
    if tags.get("estimator") != VALIDATION_ESTIMATOR:
        doubt = "was judged by another estimator"
    elif may_have_seen(tags.get("method", ""), tags):
        doubt = "may have been judged by rows that it learned from"
    if doubt:
        _register(tracker, dataset, best, model)
        return Promotion(True, f"{dataset}: {who} is the new champion, {risk:.3f}; {reigning} {doubt}")
    least = float(tags["validation_risk"])
    if tags.get("model_id") == model:
        return Promotion(False, f"{dataset}: {reigning} stays champion, validation risk {least:.3f}")
    ruling = order_of(False, least, tags.get("method", ""), int(tags.get("seed", 0)))
    tie = f" ({RULE_OF_TIES})" if risk == least and reigning != who else ""
    if order_of_cell(best) < ruling:
        _register(tracker, dataset, best, model)
        than = f"{risk:.3f} {'=' if tie else '<'} {least:.3f} of {reigning}{tie}"
        return Promotion(True, f"{dataset}: {who} is the new champion, {than}")
    return Promotion(False, f"{dataset}: {reigning} stays champion, {least:.3f} <= {risk:.3f} of {who}{tie}")


def _register(tracker: Tracker, dataset: str, best: RecordedCell, model: str) -> None:
    client, name = tracker.client, registered_name(dataset)
    mlflow.set_tracking_uri(Store.current().tracking_uri)  # `models:/` is looked up there, not by the client
    try:
        client.create_registered_model(name, description=f"Policies learned from the logs of {dataset}")
    except MlflowException:
        client.get_registered_model(name)  # there already, or this says what is wrong
    tags = {
        "method": best.method,
        "preset": best.preset,
        "seed": str(best.seed),
        "estimator": VALIDATION_ESTIMATOR,
        "run_id": best.run_id,
        "model_id": model,
    }
    tags |= {name: repr(value) for name, value in best.metrics.items() if name.startswith("validation_")}
    version = client.create_model_version(
        name,
        source=f"models:/{model}",
        run_id=best.learn_run,
        model_id=model,
        tags=tags,
        description=f"{best.name}: validation risk {best.metrics['validation_risk']:.3f}",
    )
    client.set_registered_model_alias(name, ALIAS, version.version)
