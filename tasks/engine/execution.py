"""Running steps: each is a Prefect task, cached by its key, tracked as an MLflow run, executed once."""

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import cast

from prefect import State, Task, task
from prefect.context import TaskRunContext
from prefect.states import Completed
from prefect.transactions import IsolationLevel
from pydantic import BaseModel, ConfigDict

from multilogger.components.errors import BadInput
from multilogger.tasks.dataset_files import bandit_log_used
from multilogger.tasks.engine.artifact import (
    MANIFEST,
    MENDING,
    Artifact,
    manifest_of,
    publish,
    temporary_folder,
)
from multilogger.tasks.engine.caching import ArtifactReference, StageKey, recorded_key
from multilogger.tasks.engine.locks import StageLocks
from multilogger.tasks.engine.progress import say, tick_off
from multilogger.tasks.engine.restore import restore
from multilogger.tasks.engine.stage import Stage, StageSettings, Step
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import DIGEST_TAG, NOTE_TAG, Tracker
from multilogger.tasks.registry import STAGES


class NotCached(BadInput):
    """A stage was to be taken from the cache, and is not there."""


class Surroundings(BaseModel):
    """What stands around a stage and must not change its result.

    `cached_only`: take the result from the cache or from MLflow, never compute it. `refreshed`: compute it,
    never take it.
    """

    model_config = ConfigDict(frozen=True)
    root: Path
    dataset: str
    seed: int
    flow_run_id: str
    cached_only: bool = False
    refreshed: bool = False


class Status(StrEnum):
    """How a step came to its result."""

    COMPUTED = "computed"
    CACHED = "cached"
    RESTORED = "restored"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Outcome:
    """The result of a step, and how it was had."""

    stage: str
    artifact: Artifact
    status: Status
    seconds: float
    note: str = ""


def execute_stage(
    stage: str, settings: StageSettings, inputs: dict[str, Artifact], surroundings: Surroundings
) -> Artifact | State[Artifact]:
    """The body of every stage's Prefect task; reached only when the cache has no intact result."""
    declared = STAGES[stage]
    key = declared.key(settings, inputs)
    store = Store(surroundings.root)
    tracker = Tracker(store)
    restored = None if surroundings.refreshed else restore(declared, key, store, tracker)
    if restored is not None:
        message = f"from MLflow run {restored.run_id}"
        return Completed(name=Status.RESTORED.capitalize(), message=message, data=restored)
    if surroundings.cached_only:
        raise NotCached(
            f"the result of {stage} with these settings ({key[:8]}) is not in the cache, nor in MLflow; "
            "make it with 'multilogger prepare' or 'multilogger learn' and the same options, "
            "then run this again"
        )
    lock = StageLocks(store.locks).path(key)  # held by Prefect's transaction around this call
    tracker.bury_earlier_runs(lock)
    run_id = tracker.start(
        surroundings.dataset,
        f"{surroundings.dataset} · {stage} · seed {surroundings.seed}",
        lock,
        _tags(declared, key, surroundings),
        parent=surroundings.flow_run_id,
    )
    try:
        tracker.log(run_id, settings.params())
        if (used := bandit_log_used(inputs)) is not None:
            tracker.log_dataset(run_id, used)
        artifact, run = _make(declared, settings, inputs, key, run_id, store)
        tracker.log(run_id, {}, run.metrics)
        tracker.log_folder(run_id, artifact.folder)
        for model in run.models:
            tracker.log_model(run_id, model, artifact.folder)
        note = _note(declared, surroundings, inputs, run_id)
        tracker.tag(run_id, {DIGEST_TAG: artifact.digest, NOTE_TAG: note})
    except BaseException as error:
        tracker.fail(run_id, error)
        raise
    tracker.finish(run_id)
    return artifact


def _make(
    stage: Stage, settings: StageSettings, inputs: Mapping[str, Artifact], key: str, run_id: str, store: Store
) -> tuple[Artifact, StageRun]:
    """Call the stage in a temporary folder and move the folder into place."""
    final = store.artifacts / stage.name / key
    temporary = temporary_folder(final)
    checkpoints = store.checkpoints / key
    run = StageRun(temporary, title=stage.name, checkpoints=checkpoints)
    started = time.perf_counter()
    try:
        stage.call(settings, inputs, run)
        run.log_metrics({"wall_seconds": time.perf_counter() - started})
        files = manifest_of(temporary)
        provenance = {
            "stage": stage.name,
            "version": stage.version,
            "key": key,
            "settings": settings.identity(),
            "inputs": {name: {"stage": a.stage, "key": a.key} for name, a in inputs.items()},
            "files": {name: entry.model_dump() for name, entry in files.items()},
        }
        (temporary / MANIFEST).write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")
        publish(temporary, final)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    shutil.rmtree(checkpoints, ignore_errors=True)
    path = final.relative_to(store.root).as_posix()
    artifact = Artifact(stage=stage.name, key=key, path=path, files=files, run_id=run_id, root=store.root)
    return artifact, run


def _tags(stage: Stage, key: str, surroundings: Surroundings) -> dict[str, str]:
    tags = {
        "stage": stage.name,
        "key": key,
        "dataset": surroundings.dataset,
        "seed": str(surroundings.seed),
        NOTE_TAG: stage.summary,
    }
    context = TaskRunContext.get()
    if context is not None:
        tags["prefect.task_run_id"] = str(context.task_run.id)
    return tags


def _note(stage: Stage, surroundings: Surroundings, inputs: Mapping[str, Artifact], run_id: str) -> str:
    """What a person reads on the page of a stage's run."""
    sources = ", ".join(f"{name} from {a.stage} `{a.key}`" for name, a in inputs.items())
    return "\n\n".join(
        [
            stage.summary,
            f"{surroundings.dataset}, seed {surroundings.seed}. Inputs: {sources or 'none'}.",
            f"With one setting changed: `multilogger stage {stage.name} --run {run_id} --set KEY=VALUE`",
        ]
    )


StageTask = Task[[str, StageSettings, dict[str, Artifact], Surroundings], Artifact | State[Artifact]]
STATUS_OF_STATE = {"Cached": Status.CACHED, "Restored": Status.RESTORED}


def stage_task(stage: str, store: Store, refresh: bool = False) -> StageTask:
    """The Prefect task of a stage on a store."""
    policy = StageKey().configure(
        isolation_level=IsolationLevel.SERIALIZABLE, lock_manager=StageLocks(store.locks)
    )
    declare = task(
        name=stage,
        task_run_name=stage,
        cache_policy=policy,
        persist_result=True,
        result_storage=store.results,
        result_serializer=ArtifactReference(),
        cache_result_in_memory=False,
        refresh_cache=refresh,
    )
    return declare(execute_stage)


@dataclass
class Runner:
    """Realises steps inside a flow; every step once, its inputs first.

    `only` names the one stage that may be computed, but for those in `also`; all others must be in the cache
    or in MLflow.
    `refresh` names the stages to compute again even if they are cached.
    """

    store: Store
    surroundings: Surroundings
    only: str | None = None
    refresh: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    outcomes: dict[Step, Outcome] = field(default_factory=dict)

    def realise(self, step: Step) -> Outcome:
        """The outcome of a step: computed, cached, restored from MLflow, or skipped."""
        if step not in self.outcomes:
            inputs = {name: self.realise(source).artifact for name, source in step.inputs}
            self.outcomes[step] = self._run(step, inputs)
        return self.outcomes[step]

    def _run(self, step: Step, inputs: dict[str, Artifact]) -> Outcome:
        name = step.stage.name
        reason = step.stage.skip(step.settings, inputs)
        if reason is not None:
            (only_input,) = inputs.values()
            tick_off(f"{name} · {Status.SKIPPED}: {reason}")
            return Outcome(name, only_input, Status.SKIPPED, 0.0, reason)
        surroundings = self.surroundings.model_copy(
            update={
                "cached_only": self.only is not None and name != self.only and name not in self.also,
                "refreshed": name in self.refresh,
            }
        )
        key, started = step.stage.key(step.settings, inputs), time.perf_counter()
        refresh = name in self.refresh or self._record_is_unusable(name, key)
        state = stage_task(name, self.store, refresh)(
            name, step.settings, inputs, surroundings, return_state=True
        )
        artifact = cast(Artifact, state.result())  # Prefect unwraps the state of a restored result
        seconds = time.perf_counter() - started
        status = STATUS_OF_STATE.get(state.name or "", Status.COMPUTED)
        origin = " from MLflow" if status is Status.RESTORED else ""
        tick_off(f"{name} · {status}{origin} in {seconds:.1f} s")
        return Outcome(name, artifact, status, seconds)

    def _record_is_unusable(self, name: str, key: str) -> bool:
        """Whether there is a cache record that Prefect cannot read, or one of another result; say so."""
        try:
            if recorded_key(self.store.results / key) in (None, key):
                return False
        except ValueError:
            pass
        say(f"{name}: the cache record of {key[:8]} is damaged; {MENDING}")
        return True
