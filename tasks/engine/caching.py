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
        from multilogger.tasks.registry import STAGES

        key: str = STAGES[inputs["stage"]].key(inputs["settings"], inputs["inputs"])
        return key


class ArtifactReference(Serializer):
    """An artifact as JSON; loading it verifies the files that it refers to."""

    type: Literal["multilogger-artifact"] = "multilogger-artifact"

    def dumps(self, obj: Artifact) -> bytes:
        return obj.model_dump_json().encode()

    def loads(self, blob: bytes) -> Artifact:
        artifact = Artifact(**json.loads(blob), root=Store.current().root)
        try:
            artifact.verify()
        except DamagedArtifact as damage:
            say(f"{artifact.stage}: cached result {artifact.key[:8]} cannot be used, {damage}; {MENDING}")
            raise
        return artifact


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
