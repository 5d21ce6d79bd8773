"""Running planned stages: each is a Prefect task, cached by its key, tracked as an MLflow run, executed once.

Prefect's caching is told our key and our idea of an intact result. Prefect asks its result store whether
the record of a key exists, and takes a record that cannot be loaded as absent. So a serialiser that verifies
the files while loading makes Prefect itself recompute whatever is missing or altered.
"""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from prefect import State, Task, task
from prefect.cache_policies import CachePolicy
from prefect.context import TaskRunContext
from prefect.serializers import Serializer
from prefect.transactions import IsolationLevel

from multilogger.components.json_text import parsed_json
from multilogger.tasks.engine.artifact import MENDING, Artifact, DamagedArtifact, recorded_key
from multilogger.tasks.engine.execution import Status, Surroundings, execute_stage
from multilogger.tasks.engine.locks import StageLocks
from multilogger.tasks.engine.progress import say, tick_off
from multilogger.tasks.engine.stage import PlannedStage, Stage, StageSettings
from multilogger.tasks.engine.store import Store


@dataclass
class StageKey(CachePolicy):
    """The key of the stage that a task runs; see `Stage.key`."""

    def compute_key(
        self, task_ctx: TaskRunContext, inputs: dict[str, Any], flow_parameters: dict[str, Any], **kwargs: Any
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


def _verified(reference: bytes | str, root: Path) -> Artifact:
    """The artifact that a reference names, if its files verify; else say why not, and raise."""
    artifact = Artifact(**parsed_json(reference), root=root)
    try:
        artifact.verify()
    except DamagedArtifact as damage:
        say(f"{artifact.stage}: cached result {artifact.key[:8]} cannot be used, {damage}; {MENDING}")
        raise
    return artifact


class Lookup:
    """Finished results of one store, without running anything; every stage is looked up and verified once.

    It finds what Prefect would take from its cache, without asking it: a reproduction has hundreds of cells,
    and asking a server about every stage of each would take a minute.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[PlannedStage, Artifact | None] = {}

    def find(self, planned: PlannedStage) -> Artifact | None:
        """The intact result of a planned stage, or None if any stage up to it would have to be computed."""
        if planned not in self._known:
            self._known[planned] = self._look(planned)
        return self._known[planned]

    def _look(self, planned: PlannedStage) -> Artifact | None:
        inputs: dict[str, Artifact] = {}
        for name, source in planned.inputs:
            found = self.find(source)
            if found is None:
                return None
            inputs[name] = found
        if planned.stage.skip(planned.settings, inputs) is not None:
            (only_input,) = inputs.values()
            return only_input
        key = planned.stage.key(planned.settings, inputs)
        artifact = self._recorded(key)
        return artifact if artifact is not None and artifact.key == key else None

    def _recorded(self, key: str) -> Artifact | None:
        """The artifact that the record of a key refers to, if it can be read and the files verify."""
        try:
            record = parsed_json((self._store.results / key).read_text())
            return _verified(record["result"], self._store.root)
        except (OSError, ValueError, KeyError, TypeError, DamagedArtifact):
            return None


StageTask = Task[[Stage, StageSettings, dict[str, Artifact], Surroundings], Artifact | State[Artifact]]
STATUS_OF_STATE = {"Cached": Status.CACHED, "Restored": Status.RESTORED}


@dataclass(frozen=True)
class Outcome:
    """The result of a planned stage, and how it was had."""

    stage: str
    artifact: Artifact
    status: Status
    seconds: float
    note: str = ""


def stage_task(stage: Stage, store: Store, refresh: bool = False) -> StageTask:
    """The Prefect task of a stage on a store."""
    policy = StageKey().configure(
        isolation_level=IsolationLevel.SERIALIZABLE, lock_manager=StageLocks(store.locks)
    )
    declare = task(
        name=stage.name,
        task_run_name=stage.name,
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
    """Realises planned stages inside a flow; each once, its inputs first.

    `only` names the one stage that may be computed, but for those in `also`; all others must be in the cache
    or in MLflow.
    `refresh` names the stages to compute again even if they are cached.
    """

    store: Store
    surroundings: Surroundings
    only: str | None = None
    refresh: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    outcomes: dict[PlannedStage, Outcome] = field(default_factory=dict)

    def realise(self, planned: PlannedStage) -> Outcome:
        """The outcome of a planned stage: computed, cached, restored from MLflow, or skipped."""
        if planned not in self.outcomes:
            inputs = {name: self.realise(source).artifact for name, source in planned.inputs}
            self.outcomes[planned] = self._run(planned, inputs)
        return self.outcomes[planned]

    def _run(self, planned: PlannedStage, inputs: dict[str, Artifact]) -> Outcome:
        name = planned.stage.name
        reason = planned.stage.skip(planned.settings, inputs)
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
        key, started = planned.stage.key(planned.settings, inputs), time.perf_counter()
        refresh = name in self.refresh or self._record_is_unusable(name, key)
        state = stage_task(planned.stage, self.store, refresh)(
            planned.stage, planned.settings, inputs, surroundings, return_state=True
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
