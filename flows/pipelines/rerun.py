"""Flows: one stage again, from inputs that are in the cache or in MLflow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prefect import flow

from multilogger.flows.pipelines.flow_run import FlowRun, flow_run
from multilogger.flows.pipelines.learn import name_champion, record_cell
from multilogger.flows.pipelines.registered_logs import with_registered_log
from multilogger.flows.pipelines.settings import flat, pipeline_settings
from multilogger.flows.pipelines.template import Template, read_template
from multilogger.flows.pipelines.wiring import PipelineSettings, pipeline_of, stages_with
from multilogger.tasks.engine.execution import Status
from multilogger.tasks.engine.progress import tick_off
from multilogger.tasks.engine.runner import Outcome
from multilogger.tasks.engine.stage import shown
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import TEMPLATE_TAG, Tracker

SCORES = ("evaluate", "estimate")
COMPANIONS = dict.fromkeys(SCORES, frozenset({"lambda-star"}))
"""Stages that may be computed with another: a policy is evaluated at its own lambda*."""
AGAIN = " again"


@dataclass(frozen=True)
class Rerun:
    """The stage's outcome, the cached results that it was made from, and the MLflow run of the whole."""

    outcome: Outcome
    inputs: dict[str, Outcome]
    run_id: str

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return (*self.inputs.values(), self.outcome)


@flow(name="stage", flow_run_name="stage {name} of {dataset} seed {seed}")
def rerun_stage(
    name: str,
    dataset: str = "digits",
    seed: int = 0,
    mirror: str | None = None,
    settings: dict[str, Any] | None = None,
    refresh: bool = False,
) -> Rerun:
    """Run the named stage; every stage before it must be in the cache or in MLflow."""
    known = with_registered_log(dataset, mirror, settings or {})
    chosen = pipeline_settings(stages_with(name, known), dataset, seed, mirror, known)
    return _rerun(name, dataset, seed, chosen, refresh)


@flow(name="stage-from-run", flow_run_name="stage {name} from run {run_id}")
def rerun_from(name: str, run_id: str, changes: dict[str, Any] | None = None, refresh: bool = False) -> Rerun:
    """Run the named stage with the inputs and settings of a finished MLflow run, but for `changes`.

    `changes` maps `stage.setting` of that stage to a value.
    """
    store = Store.current().open()
    tracker = Tracker(store)
    template = read_template(tracker, run_id)
    chosen = template.chosen(name, changes or {})
    changed = differences(template, name, changes or {})
    done = _rerun(name, template.dataset, template.seed, chosen, refresh, template)
    _describe(tracker, done.run_id, name, template, changed)
    return done


def differences(template: Template, stage: str, changes: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Settings of the stage that are not the template's: (then, now) as a person would type them."""
    then, now = flat(template.chosen(stage, {})), flat(template.chosen(stage, changes))
    return {
        name: (shown(_typed(then[name])), shown(_typed(now[name]))) for name in now if now[name] != then[name]
    }


def _typed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _rerun(
    name: str,
    dataset: str,
    seed: int,
    chosen: PipelineSettings,
    refresh: bool,
    template: Template | None = None,
) -> Rerun:
    target = pipeline_of(chosen)[name]
    refreshed = frozenset({name} if refresh else ())
    with flow_run(f"stage {name}", dataset, seed, flat(chosen), only=name, refresh=refreshed) as run:
        if template is not None:
            run.tracker.tag(run.run_id, {TEMPLATE_TAG: template.run_id})
        run.runner.also = COMPANIONS.get(name, frozenset())
        outcome = run.runner.realise(target)
        inputs = {label: run.runner.realise(source) for label, source in target.inputs}
        _record(run, outcome, template)
    if name in SCORES:
        tick_off(name_champion(run.tracker, dataset))
    return Rerun(outcome, inputs, run.run_id)


def _record(run: FlowRun, outcome: Outcome, template: Template | None) -> None:
    """What a cell shows, once it is evaluated; and the template on the stage's own run."""
    if outcome.stage in SCORES:
        outcomes = {made.stage: made for made in run.runner.outcomes.values()}
        record_cell(run.tracker, run.run_id, outcomes)
    if template is not None and outcome.status is Status.COMPUTED:
        run.tracker.tag(outcome.artifact.run_id, {TEMPLATE_TAG: template.run_id})


def _describe(
    tracker: Tracker, run_id: str, stage: str, template: Template, changed: Mapping[str, tuple[str, str]]
) -> None:
    """A name and a note that say what was run again and what is new about it."""
    method = template.settings.get("learn.method")
    place = [part for part in template.name.split(" · ")[3:] if not part.endswith(AGAIN)]
    place += [f"{name.partition('.')[2]} {now}" for name, (_, now) in changed.items()]
    parts = [template.dataset, method, f"seed {template.seed}", *place, f"{stage}{AGAIN}"]
    news = ", ".join(f"`{name}` {now} (was {then})" for name, (then, now) in changed.items())
    note = (
        f"Stage **{stage}** again, with the inputs of "
        f"[{template.name}](#/experiments/{template.experiment}/runs/{template.run_id})"
        f"{' and ' + news if news else ''}."
    )
    tracker.rename(run_id, " · ".join(part for part in parts if part))
    tracker.describe(run_id, note)
