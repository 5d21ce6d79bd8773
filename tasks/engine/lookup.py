"""Finished results without running anything: what Prefect would take from its cache, found without asking it.

A reproduction has hundreds of cells; asking a server about every stage of each would take a minute.
"""

import json
from pathlib import Path

from multilogger.tasks.engine.artifact import MENDING, Artifact, DamagedArtifact
from multilogger.tasks.engine.progress import say
from multilogger.tasks.engine.stage import Step
from multilogger.tasks.engine.store import Store


class Lookup:
    """Answers for one store; every step is looked up and verified once."""

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
        artifact = _recorded(self._store.results / key, self._store.root)
        return artifact if artifact is not None and artifact.key == key else None


def _recorded(record: Path, root: Path) -> Artifact | None:
    """The artifact that one of Prefect's records refers to, if it can be read and the files verify."""
    try:
        artifact = Artifact(**json.loads(json.loads(record.read_text())["result"]), root=root)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    try:
        artifact.verify()
    except DamagedArtifact as damage:
        say(f"{artifact.stage}: cached result {artifact.key[:8]} cannot be used, {damage}; {MENDING}")
        return None
    return artifact
