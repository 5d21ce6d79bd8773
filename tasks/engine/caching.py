"""Prefect's caching, told our key and our idea of an intact result.

Prefect asks its result store whether the record of a key exists, and takes a record that cannot be
loaded as absent. So a serialiser that verifies the files while loading makes Prefect itself recompute
whatever is missing or altered.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from prefect.cache_policies import CachePolicy
from prefect.context import TaskRunContext
from prefect.serializers import Serializer

from multilogger.tasks.engine.artifact import MENDING, Artifact, DamagedArtifact
from multilogger.tasks.engine.progress import say
from multilogger.tasks.engine.stage import Stage, Step
from multilogger.tasks.engine.store import Store


@dataclass
class StageKey(CachePolicy):
    """The key of the stage that a task runs; see `Stage.key`."""

    def compute_key(
        self,
        task_ctx: TaskRunContext,
        inputs: dict[str, Any],
        flow_parameters: dict[str, Any],
        **kwargs: Any,
    ) -> str:
        stage: Stage = inputs["stage"]
        return stage.key(inputs["settings"], inputs["inputs"])


class ArtifactReference(Serializer):
    """An artifact as JSON; loading it verifies the files that it refers to."""

    type: Literal["multilogger-artifact"] = "multilogger-artifact"

    def dumps(self, obj: Artifact) -> bytes:
        return obj.model_dump_json().encode()

    def loads(self, blob: bytes) -> Artifact:
        return _verified(blob, Store.current().root)


def recorded_key(record: Path) -> str | None:
    """The key of the artifact that one of Prefect's records refers to; None if there is no record."""
    return str(_reference(record)["key"]) if record.exists() else None


def recorded_run(record: Path) -> str | None:
    """The MLflow run of the artifact that a record refers to; None if no record says."""
    try:
        return str(_reference(record)["run_id"]) if record.exists() else None
    except ValueError:
        return None


def _reference(record: Path) -> dict[str, Any]:
    """What `ArtifactReference` wrote into a record."""
    try:
        reference = json.loads(json.loads(record.read_text())["result"])
        return {name: reference[name] for name in ("key", "run_id")}
    except (KeyError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"{record} is no record of an artifact") from error


def _verified(reference: bytes | str, root: Path) -> Artifact:
    """The artifact that a reference names, if its files verify; else say why not, and raise."""
    artifact = Artifact(**json.loads(reference), root=root)
    try:
        artifact.verify()
    except DamagedArtifact as damage:
        say(f"{artifact.stage}: cached result {artifact.key[:8]} cannot be used, {damage}; {MENDING}")
        raise
    return artifact


class Lookup:
    """Finished results of one store, without running anything; every step is looked up and verified once.

    It finds what Prefect would take from its cache, without asking it: a reproduction has hundreds of cells,
    and asking a server about every stage of each would take a minute.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[Step, Artifact | None] = {}

    def find(self, step: Step) -> Artifact | None:
        """The intact result of a step, or None if any stage up to it would have to be computed."""
        if step not in self._known:
            self._known[step] = self._look(step)
        return self._known[step]

    def _look(self, step: Step) -> Artifact | None:
        inputs: dict[str, Artifact] = {}
        for name, source in step.inputs:
            found = self.find(source)
            if found is None:
                return None
            inputs[name] = found
        if step.stage.skip(step.settings, inputs) is not None:
            (only_input,) = inputs.values()
            return only_input
        key = step.stage.key(step.settings, inputs)
        artifact = self._recorded(key)
        return artifact if artifact is not None and artifact.key == key else None

    def _recorded(self, key: str) -> Artifact | None:
        """The artifact that the record of a key refers to, if it can be read and the files verify."""
        try:
            record = json.loads((self._store.results / key).read_text())
            return _verified(record["result"], self._store.root)
        except (OSError, ValueError, KeyError, TypeError, DamagedArtifact):
            return None
