"""Flow: one stage again, from inputs that are in the cache."""

from dataclasses import dataclass
from typing import Any

from prefect import flow

from multilogger.flows.flow_run import flow_run
from multilogger.flows.pipeline import LEARN, PREPARE, learn_steps, prepare_steps
from multilogger.flows.settings import flat, pipeline_settings
from multilogger.tasks.engine.execution import Outcome


@dataclass(frozen=True)
class Rerun:
    """The stage's outcome and the cached results that it was made from."""

    outcome: Outcome
    inputs: dict[str, Outcome]


@flow(name="stage", flow_run_name="stage {name} of {dataset} seed {seed}")
def rerun_stage(
    name: str,
    dataset: str = "digits",
    seed: int = 0,
    mirror: str | None = None,
    settings: dict[str, Any] | None = None,
    refresh: bool = False,
) -> Rerun:
    """Run the named stage; every stage before it must be in the cache."""
    stages = PREPARE if name in PREPARE else LEARN
    chosen = pipeline_settings(stages, dataset, seed, mirror, settings)
    target = (prepare_steps if name in PREPARE else learn_steps)(chosen)[name]
    refreshed = frozenset({name} if refresh else ())
    with flow_run(f"stage {name}", dataset, seed, flat(chosen), only=name, refresh=refreshed) as run:
        outcome = run.runner.realise(target)
        inputs = {label: run.runner.realise(source) for label, source in target.inputs}
    return Rerun(outcome, inputs)
