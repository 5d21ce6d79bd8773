"""What a finished flow says in words, from the files of its stages."""

import json
from pathlib import Path

import pytest

from multilogger.flows.pipelines.summary import seen_contexts
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.execution import Status
from multilogger.tasks.engine.runner import Outcome


def outcome(root: Path, stage: str, name: str, content: object) -> Outcome:
    """A stage that left one file."""
    (root / stage).mkdir()
    (root / stage / name).write_text(json.dumps(content))
    artifact = Artifact(stage=stage, key="k", path=stage, files={}, run_id="", root=root)
    return Outcome(stage, artifact, Status.COMPUTED, 0.0)


@pytest.mark.parametrize(
    ("method", "split_by", "said"),
    [("naive", "row", True), ("dm", "row", True), ("naive", "context", False), ("logger-2", "row", False)],
)
def test_validation_rows_of_contexts_that_were_learned_from_are_told(
    method: str, split_by: str, said: bool, tmp_path: Path
) -> None:
    result = {"method": method, "exp": 0.1, "greedy": 0.1, "estimates": {}, "certificates": {}}
    outcomes = {
        "replay": outcome(tmp_path, "replay", "manifest.json", {"settings": {"split_by": split_by}}),
        "evaluate": outcome(tmp_path, "evaluate", "evaluation.json", result),
    }
    line = seen_contexts(outcomes)
    assert (line is not None) is said
    assert "replay.split_by=context" in (line or "replay.split_by=context")


@pytest.mark.parametrize("stage", ["evaluate", "estimate"])
@pytest.mark.parametrize("split_by", ["row", "context"])
@pytest.mark.parametrize(
    ("sight", "told"),
    [("blind", "judged by a part of the policy that has not seen"), ("all", "from the very rows that judge")],
)
def test_rows_that_a_policy_learned_from_are_told_however_they_were_split(
    sight: str, told: str, split_by: str, stage: str, tmp_path: Path
) -> None:
    result = {"method": "dm", "exp": 0.1, "greedy": 0.1, "estimates": {}, "certificates": {}, "sight": sight}
    outcomes = {stage: outcome(tmp_path, stage, "evaluation.json", result)}
    if stage == "evaluate":
        split = {"settings": {"split_by": split_by}}
        outcomes["replay"] = outcome(tmp_path, "replay", "manifest.json", split)
    else:
        outcomes["import-log"] = outcome(tmp_path, "import-log", "manifest.json", {})
    assert told in (seen_contexts(outcomes) or "")
