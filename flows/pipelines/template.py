"""A finished MLflow run as a template: the settings of its whole pipeline, to run one stage of it again."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from multilogger.components.errors import BadInput
from multilogger.components.json_text import parsed_json
from multilogger.flows.pipelines.settings import check_read, pipeline_settings, typed_value
from multilogger.flows.pipelines.wiring import PipelineSettings, stages_for
from multilogger.tasks.engine.artifact import MANIFEST
from multilogger.tasks.engine.tracking import STORE_TAG, TEMPLATE_TAG, Tracker
from multilogger.tasks.registry import STAGES

Texts = Mapping[str, str]


@dataclass(frozen=True)
class Template:
    """The pipeline of a finished run.

    `stage_runs` has the run that made each stage's result, of the stages that it ran; `made_from` is the run
    that was its own template.
    """

    run_id: str
    name: str
    experiment: str
    dataset: str
    seed: int
    settings: Mapping[str, Any]
    stage_runs: Mapping[str, str]
    made_from: str | None = None

    @property
    def stages(self) -> tuple[str, ...]:
        learned = any(name.startswith("learn.") for name in self.settings)
        return stages_for(self.settings, whole=learned)

    def chosen(self, stage: str, changes: Mapping[str, Any]) -> PipelineSettings:
        """The settings of every stage, with changes to those of one; its inputs stay what they are."""
        if stage not in self.stages:
            raise BadInput(
                f"run {self.run_id} ({self.name}) has no stage {stage}, only {', '.join(self.stages)}; "
                "name a run of 'multilogger learn'"
            )
        for name in changes:
            owner = name.partition(".")[0]
            if owner != stage:
                raise BadInput(
                    f"--run keeps the inputs of {stage} as they are, and {name} is a setting of {owner}; "
                    f"run stage {owner}, or leave --run out and use 'multilogger learn --set {name}=...'"
                )
        if "learn.preset" in changes:
            raise BadInput(
                "the numbers of a preset are in the run already, a preset's name would not change them; "
                "set the numbers, or use 'multilogger learn --preset'"
            )
        chosen = pipeline_settings(self.stages, self.dataset, self.seed, None, {**self.settings, **changes})
        check_read(chosen, changes)
        return chosen


def read_template(tracker: Tracker, run_id: str) -> Template:
    """The pipeline that a finished run of a flow or of a stage belongs to."""
    run = _usable(tracker, run_id)
    stage = run.data.tags.get("stage")
    if stage is None:
        settings, source = _values(run.data.params), run
    else:
        settings, source = _around(tracker, run, stage)
    known = {name: value for name, value in settings.items() if not name.endswith(".dataset")}
    run_id = str(run.info.run_id)
    return Template(
        run_id=run_id,
        name=str(run.info.run_name),
        experiment=str(run.info.experiment_id),
        dataset=run.data.tags["dataset"],
        seed=int(run.data.tags["seed"]),
        settings=_without_missing_mirror(_checked(known, run_id)),
        stage_runs=_stage_runs(source) | ({stage: run_id} if stage else {}),
        made_from=source.data.tags.get(TEMPLATE_TAG),
    )


def nearest_with(tracker: Tracker, template: Template, stage: str) -> Template | None:
    """The template, or the nearest of those that it was made from, that has run a stage."""
    while stage not in template.stage_runs:
        if template.made_from is None:
            return None
        try:
            template = read_template(tracker, template.made_from)
        except BadInput:  # deleted since, or of another version
            return None
    return template


def _stage_runs(run: Run) -> dict[str, str]:
    """The run of each stage, as the flow's run links it."""
    links = {name: run.data.tags.get(f"stage.{name}.run_id") for name in STAGES}
    return {name: link for name, link in links.items() if link is not None}


def _usable(tracker: Tracker, run_id: str) -> Run:
    """A finished run of ours, or one line on why it is none."""
    if not run_id.strip():
        raise BadInput(
            "--run is empty; give an MLflow run id or how it begins, as 'multilogger compare' shows it"
        )
    try:
        run = tracker.run(run_id)
    except MlflowException as error:
        raise BadInput(
            f"MLflow's store at {tracker.uri} has no run {run_id}, nor a single one whose id begins so; "
            "'multilogger compare' lists runs, MULTILOGGER_HOME or MLFLOW_TRACKING_URI names another store"
        ) from error
    tags = run.data.tags
    if STORE_TAG not in tags:
        raise BadInput(f"run {run_id} ({run.info.run_name}) was not made by multilogger; name one that was")
    if run.info.lifecycle_stage == "deleted":
        raise BadInput(
            f"run {run_id} ({run.info.run_name}) was deleted; restore it in MLflow, or name another"
        )
    if run.info.status != "FINISHED":
        raise BadInput(
            f"run {run_id} ({run.info.run_name}) is {run.info.status}; a template must have finished"
        )
    if "dataset" not in tags or "seed" not in tags:
        raise BadInput(
            f"run {run_id} ({run.info.run_name}) stands for many pipelines; name the run of one of its cells"
        )
    return run


def _around(tracker: Tracker, run: Run, stage: str) -> tuple[dict[str, Any], Run]:
    """Settings of the pipeline that a stage's run was made in, and the run that says so.

    The flow's run has them all; without it, the stage's manifest leads to its inputs, and theirs to theirs.
    """
    own = _values(run.data.params, stage)
    parent = run.data.tags.get("mlflow.parentRunId")
    if parent is not None:
        try:
            flow = tracker.run(parent)
        except MlflowException:
            flow = run
        settings = _values(flow.data.params)
        if own.items() <= settings.items():
            return settings, flow
    return _from_manifests(tracker, run, stage), run


def _from_manifests(tracker: Tracker, run: Run, stage: str) -> dict[str, Any]:
    """The settings of a stage and of everything that fed it."""
    settings = _values(run.data.params, stage)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            tracker.download(run, MANIFEST, Path(scratch))
            inputs = parsed_json((Path(scratch) / MANIFEST).read_bytes())["inputs"]
        except (MlflowException, OSError, ValueError, KeyError) as error:
            raise BadInput(f"run {run.info.run_id} has lost its {MANIFEST}; name another run") from error
    for source in inputs.values():
        made = tracker.finished_stage_runs(source["stage"], source["key"])
        if not made:
            raise BadInput(
                f"run {run.info.run_id} cannot be a template: the run that made its input {source['stage']} "
                f"({source['key'][:8]}) is not in MLflow; name another run"
            )
        settings |= _from_manifests(tracker, made[0], source["stage"])
    return settings


def _values(params: Texts, stage: str | None = None) -> dict[str, Any]:
    """`stage.setting` to value, from MLflow's texts; a stage's own run has bare names."""
    prefix = f"{stage}." if stage else ""
    return {f"{prefix}{name}": typed_value(text) for name, text in params.items()}


def _checked(settings: dict[str, Any], run_id: str) -> dict[str, Any]:
    """Refuse settings that this version does not have."""
    for name in settings:
        owner, _, setting = name.partition(".")
        if owner not in STAGES or setting not in STAGES[owner].settings_type.described():
            raise BadInput(
                f"run {run_id} has the parameter {name}, which this version of multilogger does not know; "
                "name a run of this version"
            )
    return settings


def _without_missing_mirror(settings: dict[str, Any]) -> dict[str, Any]:
    """A mirror's files are known by their hashes: its folder may be gone when the results are not."""
    mirror = settings.get("download.mirror")
    if mirror is None or "://" in mirror or Path(mirror).expanduser().is_dir():
        return settings
    return settings | {"download.mirror": None}
