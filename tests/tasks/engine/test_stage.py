import pickle
from pathlib import Path
from typing import ClassVar

import pytest
from prefect.context import TaskRunContext

from multilogger.tasks.engine.artifact import Artifact, FileEntry
from multilogger.tasks.engine.runner import StageKey
from multilogger.tasks.engine.stage import StageSettings, plan_stage, stage
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.registry import STAGES


class Dough(StageSettings):
    not_in_key: ClassVar[frozenset[str]] = frozenset({"threads"})
    flour: float = 1.0
    threads: int = 1


def knead(settings: Dough, water: Artifact, run: StageRun) -> None:
    """Mix flour and water."""


KNEAD = stage("knead", version=1)(knead)


def artifact(key: str = "k", sha256: str = "0") -> Artifact:
    files = {"f": FileEntry(sha256=sha256, bytes=1)}
    return Artifact(stage="water", key=key, path="p", files=files, run_id="r", root=Path("/nowhere"))


def test_declaration_reads_the_signature() -> None:
    assert KNEAD.inputs == ("water",)
    assert KNEAD.settings_type is Dough
    assert KNEAD.summary == "Mix flour and water."


def test_key_is_stable() -> None:
    assert KNEAD.key(Dough(), {"water": artifact()}) == KNEAD.key(Dough(flour=1), {"water": artifact()})


@pytest.mark.parametrize(
    ("settings", "water"),
    [
        (Dough(flour=2), artifact()),
        (Dough(), artifact(key="other")),
        (Dough(), artifact(sha256="1")),
    ],
    ids=["settings", "input key", "input content"],
)
def test_key_changes_with_what_decides_the_result(settings: Dough, water: Artifact) -> None:
    assert KNEAD.key(settings, {"water": water}) != KNEAD.key(Dough(), {"water": artifact()})


def test_key_changes_with_name_and_version() -> None:
    keys = {
        stage(name, version)(knead).key(Dough(), {"water": artifact()})
        for name in ("knead", "fold")
        for version in (1, 2)
    }
    assert len(keys) == 4


def test_key_ignores_how_the_work_is_done() -> None:
    assert KNEAD.key(Dough(threads=8), {"water": artifact()}) == KNEAD.key(Dough(), {"water": artifact()})


def test_equal_steps_are_equal() -> None:
    source = stage("water", 1)(pour)
    planned = [plan_stage(KNEAD, Dough(), water=plan_stage(source, Dough())) for _ in range(2)]
    assert len(set(planned)) == 1


def pour(settings: Dough, run: StageRun) -> None:
    """Turn the tap."""


def test_wrong_inputs_are_refused() -> None:
    with pytest.raises(TypeError, match=r"stage 'knead' takes \('water',\), got \(\)"):
        plan_stage(KNEAD, Dough())


def test_declaration_without_run_is_refused() -> None:
    def forgot(settings: Dough) -> None: ...

    with pytest.raises(TypeError, match="needs one settings parameter and `run: StageRun`"):
        stage("forgot", 1)(forgot)


def test_saved_json_is_the_same_for_the_same_content(tmp_path: Path) -> None:
    run = StageRun(tmp_path)
    run.save_json("one.json", {"b": 1, "a": [2.5]})
    run.save_json("deep/two.json", {"a": [2.5], "b": 1})
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "deep" / "two.json").read_bytes()


def test_curves_have_a_step_a_point(tmp_path: Path) -> None:
    run = StageRun(tmp_path)
    run.log_curve("risk", [3.0, 2.0], first_step=1)
    assert [(m.name, m.value, m.step) for m in run.metrics] == [("risk", 3.0, 1), ("risk", 2.0, 2)]


@pytest.mark.parametrize("name", STAGES)
def test_stage_goes_to_a_worker_by_its_place(name: str) -> None:
    assert pickle.loads(pickle.dumps(STAGES[name])) is STAGES[name]


def test_stage_that_a_worker_would_not_find_is_refused() -> None:
    with pytest.raises(TypeError, match=r"test_stage\.knead is no stage; declare it there with @stage"):
        pickle.loads(pickle.dumps(KNEAD))


def test_cache_key_of_a_task_is_that_of_the_stage_it_is_handed() -> None:
    inputs = {"stage": KNEAD, "settings": Dough(), "inputs": {"water": artifact()}, "surroundings": None}
    key = StageKey().compute_key(TaskRunContext.model_construct(), inputs, {})
    assert key == KNEAD.key(Dough(), {"water": artifact()})
