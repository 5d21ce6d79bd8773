"""Executing one stage: restored from MLflow, or computed under an MLflow run and moved into place.

Nothing is believed by name: MLflow's copy is used only if its manifest is of the wanted key, every file has
the hash that the manifest says, and the manifest has the digest that was written into MLflow's database.
"""

import errno
import json
import shutil
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path, PurePosixPath

from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from prefect import State
from prefect.context import TaskRunContext
from prefect.states import Completed
from pydantic import BaseModel, ConfigDict

from multilogger.components.errors import BadInput
from multilogger.components.json_text import parsed_json
from multilogger.tasks.engine.artifact import (
    MANIFEST,
    Artifact,
    DamagedArtifact,
    FileEntry,
    discard_drafts,
    manifest_of,
    publish,
    recorded_run,
    sha256_of,
    temporary_folder,
)
from multilogger.tasks.engine.locks import StageLocks
from multilogger.tasks.engine.progress import open_bar, say
from multilogger.tasks.engine.stage import Name, Stage, StageSettings
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import DIGEST_TAG, NOTE_TAG, Tracker

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def restore(stage: Stage, key: str, store: Store, tracker: Tracker) -> Artifact | None:
    """Bring a result back from MLflow; None if no finished run has an intact copy.

    The caller holds the lock of the key. No run is made: the artifact keeps the run that computed it.
    """
    wanted = recorded_run(store.results / key)
    copies = tracker.finished_stage_runs(stage.name, key)
    for run in sorted(copies, key=lambda copy: copy.info.run_id != wanted):  # the recorded run first
        try:
            return _bring_back(run, stage, key, store, tracker)
        except DamagedArtifact as damage:
            say(f"{stage.name}: MLflow's copy in run {run.info.run_id} is refused, {damage}")
    return None


def _bring_back(run: Run, stage: Stage, key: str, store: Store, tracker: Tracker) -> Artifact:
    """Fetch, verify, and move into place in one rename."""
    final = store.artifacts / stage.name / key
    try:
        temporary = temporary_folder(final)
        _fetch(tracker, run, MANIFEST, temporary)
        files = _manifest_files(temporary / MANIFEST, stage, key)
        with open_bar(f"{stage.name} · restoring from MLflow", sum(f.bytes for f in files.values())) as bar:
            for name, entry in files.items():
                _fetch(tracker, run, name, temporary)
                bar(entry.bytes)
        draft = Artifact(
            stage=stage.name,
            key=key,
            path=temporary.relative_to(store.root).as_posix(),
            files=files,
            run_id=run.info.run_id,
            manifest=sha256_of(temporary / MANIFEST),
            root=store.root,
        )
        draft.verify()
        if run.data.tags.get(DIGEST_TAG, draft.digest) != draft.digest:
            raise DamagedArtifact(f"{MANIFEST} was altered")
        publish(temporary, final)
    except BaseException:
        discard_drafts(final)
        raise
    return draft.model_copy(update={"path": final.relative_to(store.root).as_posix()})


def _fetch(tracker: Tracker, run: Run, name: str, folder: Path) -> None:
    try:
        tracker.download(run, name, folder)
    except (MlflowException, OSError) as error:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise
        raise DamagedArtifact(f"{name} cannot be fetched") from error


def _manifest_files(path: Path, stage: Stage, key: str) -> dict[str, FileEntry]:
    """The files that a manifest lists, if it is the manifest of this key."""
    try:
        content = parsed_json(path.read_bytes())
        described = (content["stage"], content["version"], content["key"])
        files = {str(name): FileEntry(**entry) for name, entry in content["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedArtifact(f"{MANIFEST} cannot be read") from error
    if described != (stage.name, stage.version, key):
        raise DamagedArtifact(f"{MANIFEST} is of another result")
    for name in files:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise DamagedArtifact(f"{MANIFEST} names {name}, outside of its folder")
    return files


class NotCached(BadInput):
    """A stage was to be taken from the cache, and is not there."""


class Surroundings(BaseModel):
    """What stands around a stage and must not change its result.

    `cached_only`: take the result from the cache or from MLflow, never compute it. `refreshed`: compute it,
    never take it.
    """

    model_config = ConfigDict(frozen=True)
    root: Path
    dataset: Name
    seed: int
    flow_run_id: str
    cached_only: bool = False
    refreshed: bool = False


class Status(StrEnum):
    """How the result of a planned stage was had."""

    COMPUTED = "computed"
    CACHED = "cached"
    RESTORED = "restored"
    SKIPPED = "skipped"


def execute_stage(
    stage: Stage, settings: StageSettings, inputs: dict[str, Artifact], surroundings: Surroundings
) -> Artifact | State[Artifact]:
    """The body of every stage's Prefect task; reached only when the cache has no intact result."""
    key = stage.key(settings, inputs)
    store = Store(surroundings.root)
    tracker = Tracker(store)
    restored = None if surroundings.refreshed else restore(stage, key, store, tracker)
    if restored is not None:
        message = f"from MLflow run {restored.run_id}"
        return Completed(name=Status.RESTORED.capitalize(), message=message, data=restored)
    if surroundings.cached_only:
        raise NotCached(
            f"the result of {stage.name} with these settings ({key[:8]}) is not in the cache, nor in MLflow; "
            "make it with 'multilogger prepare' or 'multilogger learn' and the same options, "
            "then run this again"
        )
    lock = StageLocks(store.locks).path(key)  # held by Prefect's transaction around this call
    tracker.bury_earlier_runs(lock)
    run_id = tracker.start(
        surroundings.dataset,
        f"{surroundings.dataset} · {stage.name} · seed {surroundings.seed}",
        lock,
        _tags(stage, key, surroundings),
        parent=surroundings.flow_run_id,
    )
    try:
        tracker.log(run_id, settings.params())
        if (used := stage.dataset(inputs)) is not None:
            tracker.log_dataset(run_id, used)
        artifact, run = _make(stage, settings, inputs, key, run_id, store)
        tracker.log(run_id, {}, run.metrics)
        tracker.log_folder(run_id, artifact.folder)
        for model in run.models:
            tracker.log_model(run_id, model, artifact.folder)
        note = _note(stage, surroundings, inputs, run_id)
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
    checkpoints = store.checkpoints / key
    try:  # a signal may come as soon as the folder is there
        temporary = temporary_folder(final)
        run = StageRun(temporary, title=stage.name, checkpoints=checkpoints)
        started = time.perf_counter()
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
        manifest = sha256_of(temporary / MANIFEST)
        publish(temporary, final)
    except BaseException:
        discard_drafts(final)
        raise
    shutil.rmtree(checkpoints, ignore_errors=True)
    path = final.relative_to(store.root).as_posix()
    parts = {"stage": stage.name, "key": key, "path": path, "run_id": run_id, "manifest": manifest}
    return Artifact(files=files, root=store.root, **parts), run


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
