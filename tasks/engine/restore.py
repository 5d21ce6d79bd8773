"""Results that the local cache has lost, from the copies that MLflow keeps of them.

Nothing is believed by name: a copy is used only if its manifest is of the wanted key, every file has the
hash that the manifest says, and the manifest has the digest that was written into MLflow's database.
"""

import errno
import json
import shutil
from pathlib import Path, PurePosixPath

from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from multilogger.tasks.engine.artifact import (
    MANIFEST,
    Artifact,
    DamagedArtifact,
    FileEntry,
    publish,
    temporary_folder,
)
from multilogger.tasks.engine.caching import recorded_run
from multilogger.tasks.engine.progress import open_bar, say
from multilogger.tasks.engine.stage import Stage
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import DIGEST_TAG, Tracker

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
    temporary = temporary_folder(final)
    try:
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
            root=store.root,
        )
        draft.verify()
        if run.data.tags.get(DIGEST_TAG, draft.digest) != draft.digest:
            raise DamagedArtifact(f"{MANIFEST} was altered")
        publish(temporary, final)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
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
        content = json.loads(path.read_bytes())
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
