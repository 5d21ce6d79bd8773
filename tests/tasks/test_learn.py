"""learn as a plain function on a log that is larger than its limit, and the list of its settings."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from multilogger.components.actions.label_losses import expected_hamming
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.training.method import Needs
from multilogger.tasks.dataset_files import load_test
from multilogger.tasks.download import DownloadSettings, download
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage_run import read_json
from multilogger.tasks.learn import learn_policy, load_learned, reads_policies
from multilogger.tasks.learn_settings import LearnSettings
from multilogger.tasks.log_files import count_log
from multilogger.tasks.policy_checks import guard_note
from multilogger.tasks.replay import ReplaySettings, replay
from multilogger.tasks.train_loggers import TrainLoggersSettings, load_scores, train_loggers
from tests.components.every_setting import EverySetting
from tests.tasks.conftest import make

Inputs = dict[str, Artifact]


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    data = make(tmp_path, download, DownloadSettings())
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(), data=data)
    log = make(tmp_path, replay, ReplaySettings(passes=(2, 3)), data=data, loggers=loggers)
    return {"data": data, "loggers": loggers, "log": log}


def settings_of(method: str, memory_rows: int) -> LearnSettings:
    return LearnSettings.build(
        {"method": method, "memory_rows": memory_rows, "epochs": 4, "hidden": "16", "risk_rate": 0.01}
    )


def other_messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Without those on the best logger: runs as short as these are below it."""
    return [line for line in caplog.messages if "than logger-" not in line]


def test_log_above_the_limit_is_streamed(
    tmp_path: Path, inputs: Inputs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rows = count_log(inputs["log"])
    assert rows == 5 * 1257
    memory = make(tmp_path, learn_policy, settings_of("weighted", rows), "memory", **inputs)
    assert other_messages(caplog) == []

    def refuse(*_: object) -> None:
        raise AssertionError("the whole log was read")

    monkeypatch.setattr("multilogger.components.log.reading.read_training_log", refuse)
    disk = make(tmp_path, learn_policy, settings_of("weighted", rows - 1), "disk", **inputs)
    said = "the log has 6,285 rows, more than learn.memory_rows (6,284): learning streams it from disk"
    assert other_messages(caplog) == [said]
    test = load_test(inputs["data"])
    exp = [float(np.mean(expected_hamming(load_learned(p).logits(test.x), test.y))) for p in (memory, disk)]
    assert exp[0] != exp[1]
    assert exp[1] == pytest.approx(exp[0], abs=0.15)
    assert exp[1] < load_scores(inputs["loggers"])["logger-1"]["exp"]


def test_a_constraint_that_never_binds_is_said(
    tmp_path: Path, inputs: Inputs, caplog: pytest.LogCaptureFixture
) -> None:
    numbers = {"method": "naive-reg", "epochs": 1, "hidden": "16", "warm_up_steps": 5}
    make(tmp_path, learn_policy, LearnSettings.build({**numbers, "kappa": 1e-6}), "bound", **inputs)
    assert other_messages(caplog) == []
    make(tmp_path, learn_policy, LearnSettings.build({**numbers, "kappa": 1e6}), "open", **inputs)
    assert other_messages(caplog) == [
        "the constraint of naive-reg never moved the policy, so this is the direct method's; "
        "a kappa below 1e+06 may bind"
    ]


def test_a_policy_below_the_best_logger_is_said_and_noted(
    tmp_path: Path, inputs: Inputs, caplog: pytest.LogCaptureFixture
) -> None:
    settings = LearnSettings.build({"method": "naive", "preset": "tuned", "epochs": 1, "hidden": "16"})
    learned = make(tmp_path, learn_policy, settings, "below", **inputs)
    assert any(line.startswith("worse than logger-2 on its own estimate: naive") for line in caplog.messages)
    assert guard_note(learned) == "worse than logger-2 on its own estimate"
    kept = read_json(learned.folder / "guard.json")
    assert kept["gain"] < 0
    assert kept["logger"] == 1


def test_additivity_is_tested_on_as_many_rows_as_may_be_held(tmp_path: Path, inputs: Inputs) -> None:
    learned = make(tmp_path, learn_policy, settings_of("additive", 1000), "additive", **inputs)
    tested = read_json(learned.folder / "additivity.json")
    assert 200 < tested["rows"] <= 250  # a quarter of 1000
    assert 0.0 <= tested["p_value"] <= 1.0


def key_of(inputs: Inputs, **numbers: object) -> str:
    return learn_policy.key(
        LearnSettings.build({"method": "naive", "preset": "tuned", "dataset": "yeast", **numbers}), inputs
    )


def test_what_is_read_counts_in_the_key_and_how_to_work_does_not(inputs: Inputs) -> None:
    usual = key_of(inputs)
    for name, value in {"warm_start": 3, "warm_start_rate": 1e-4, "shift_share": 0.5, "clip": 7}.items():
        assert key_of(inputs, **{name: value}) != usual, name
    assert key_of(inputs, shift_share=1, warm_start=0) == usual, "the preset's own"
    assert key_of(inputs, checkpoint_every=3) == usual
    assert key_of(inputs, tau=3.0) == usual, "naive reads no tau"


def test_the_key_has_no_settings_of_other_methods() -> None:
    naive = LearnSettings.build({"method": "naive"}).identity()
    assert {"method", "seed", "clip", "warm_start"} <= naive.keys()
    assert not {"tau", "kappa", "folds", "wcrm_clips", "preset", "dataset", "checkpoint_every"} & naive.keys()
    assert LearnSettings.build({"method": "crf"}).identity() == {"method": "crf", "seed": 0}


@pytest.mark.parametrize("method", METHODS)
def test_every_setting_has_a_type(method: str) -> None:
    """Text is no number, a fraction no count, and a word that is none of the known ones no choice."""
    for name, value in vars(METHODS[method].settings()).items():
        bad: list[object] = ["a text"] if name != "loss" else []
        bad += [1.5] if type(value) is int else []
        for wrong in bad:
            with pytest.raises(ValidationError, match=name):
                LearnSettings.build({"method": method, name: wrong})


def test_every_setting_of_learn_is_listed_with_a_meaning_of_its_own() -> None:
    listed = LearnSettings.described()
    own = {field.name for field in fields(EverySetting)}
    assert set(listed) == (own - {"loss"}) | {"method", "preset", "seed", "dataset", "actions"}
    assert all(text.default and text.meaning for text in listed.values())
    assert len({text.meaning for text in listed.values()}) == len(listed)


@pytest.mark.parametrize("method", METHODS)
def test_a_long_log_has_the_policies_that_a_method_asks_for(method: str) -> None:
    """Also those of a group whose other methods need none."""
    found = METHODS[method]
    if Needs.LOGGER_POLICIES in found.needs or method in ("auto", "naive-reg", "weighted-reg"):
        assert reads_policies(method, found.settings())
    else:
        assert not reads_policies(method, found.settings())
