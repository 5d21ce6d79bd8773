"""The champion: the policy of least validation risk for a dataset, in MLflow's model registry.

    mlflow.pyfunc.load_model("models:/multilogger-yeast@champion")

Risks are self-normalised balanced estimates on the validation rows of each policy's own log. Different seeds
have different logs, so their estimates carry independent noise, and the least of many is a little too good
to be true; the interval is stored beside the risk. No number of the test split takes part.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import mlflow
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.training.settings import GuardSettings
from multilogger.flows.pipelines.recorded_cells import RecordedCell
from multilogger.tasks.cell_metrics import VALIDATION_ESTIMATOR
from multilogger.tasks.engine.locks import FileLock
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker

ALIAS = "champion"
SAW_LABELS = frozenset({"crf", *(name for name, method in METHODS.items() if method.saw_labels)})
GUARD = (GuardSettings().least_mean_weight, GuardSettings().most_mean_weight)


@dataclass(frozen=True)
class Promotion:
    """Whether there is a new champion, and one line that says who and why."""

    changed: bool
    message: str


def promote(tracker: Tracker, dataset: str, candidates: Sequence[RecordedCell]) -> Promotion:
    """Make the best eligible candidate the champion, if its risk is below the present champion's."""
    with FileLock(Store.current().locks / f"champion-{registered_name(dataset)}"):
        present = champion_of(tracker, dataset)
        eligible = sorted(
            (c for c in candidates if is_eligible(c)), key=lambda c: c.metrics["validation_risk"]
        )
        for best in eligible:
            if models := tracker.models_of(str(best.learn_run)):  # the run may be gone
                return _decide(tracker, dataset, best, models[0], present)
        return Promotion(False, f"{dataset}: no candidate may be champion, of {len(candidates)}")


def is_eligible(cell: RecordedCell) -> bool:
    """Learned from logs alone, and supported by them: a mean weight inside the guard, a finite interval.

    A policy of fewer labels solves another problem, whose losses are lower.
    """
    wanted = ("validation_risk", "validation_low", "validation_high", "validation_mean_weight")
    numbers = [cell.metrics.get(name, math.nan) for name in wanted]
    supported = all(math.isfinite(n) for n in numbers) and GUARD[0] <= numbers[-1] <= GUARD[1]
    all_labels = cell.choices.get("reduce.labels", "0") == "0"
    return cell.method not in SAW_LABELS and cell.learn_run is not None and supported and all_labels


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
    if tags.get("estimator") != VALIDATION_ESTIMATOR:
        _register(tracker, dataset, best, model)
        return Promotion(
            True,
            f"{dataset}: {who} is the new champion, {risk:.3f}; {reigning} was judged by another estimator",
        )
    least = float(tags["validation_risk"])
    if tags.get("model_id") == model:
        return Promotion(False, f"{dataset}: {reigning} stays champion, validation risk {least:.3f}")
    if risk < least:
        _register(tracker, dataset, best, model)
        message = f"{dataset}: {who} is the new champion, {risk:.3f} < {least:.3f} of {reigning}"
        return Promotion(True, message)
    return Promotion(False, f"{dataset}: {reigning} stays champion, {least:.3f} <= {risk:.3f} of {who}")


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
