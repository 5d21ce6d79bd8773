"""A killed run that goes on from its checkpoint ends with the same bits as one that was not."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.settings import DivergenceKind, LossShift
from multilogger.components.log.disk import LearnerLog
from multilogger.components.log.memory import TrainingLog
from tests.components.every_setting import LABEL_METHODS, EverySetting, learn


class Killed(Exception):
    pass


def kill_after(epoch: int) -> Callable[[EpochRecord], None]:
    def on_epoch(record: EpochRecord) -> None:
        if record.epoch == epoch:
            raise Killed

    return on_epoch


def check_resume(method: str, log: LearnerLog, settings: EverySetting, folder: Path, stop: int) -> None:
    unbroken = learn(method, log, settings, seed=7)
    with pytest.raises(Killed):
        learn(method, log, settings, 7, kill_after(stop), folder)
    heard: list[int] = []
    resumed = learn(method, log, settings, 7, lambda record: heard.append(record.epoch), folder)
    saved = stop - stop % settings.checkpoint_every
    assert heard == list(range(saved, len(unbroken.records) + 1))
    weights, expected = resumed.policy.network.state_dict(), unbroken.policy.network.state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    # NaN stands where a method has no such figure, so records are compared by their text.
    assert repr(resumed.records) == repr(unbroken.records)
    assert repr(resumed.best) == repr(unbroken.best)


@pytest.mark.parametrize("method", LABEL_METHODS)
def test_resumed_run_equals_the_unbroken_one(
    method: str, log: TrainingLog, quick: EverySetting, tmp_path: Path
) -> None:
    check_resume(method, log, replace(quick, epochs=5, checkpoint_every=2), tmp_path, stop=3)


def test_resume_with_exact_divergence_and_running_shift(
    log: TrainingLog, quick: EverySetting, tmp_path: Path
) -> None:
    settings = replace(quick, divergence=DivergenceKind.EXACT, loss_shift=LossShift.RUNNING, epochs=6)
    check_resume("weighted-reg", log, settings, tmp_path, stop=4)


@pytest.mark.parametrize("stop", [3, 5])
def test_resume_within_and_after_the_warm_up_of_an_exact_method(
    log: TrainingLog, quick: EverySetting, tmp_path: Path, stop: int
) -> None:
    settings = replace(quick, kappa=0.3, warm_up_epochs=4, epochs=7, checkpoint_every=1)
    check_resume("weighted-exact", log, settings, tmp_path, stop)


def test_finished_run_is_not_trained_again(log: TrainingLog, quick: EverySetting, tmp_path: Path) -> None:
    settings = replace(quick, epochs=4)
    first = learn("naive", log, settings, 0, checkpoint=tmp_path)
    heard: list[EpochRecord] = []
    again = learn("naive", log, settings, 0, heard.append, tmp_path)
    assert [record.epoch for record in heard] == [4]
    np.testing.assert_array_equal(again.policy.logits(log.x), first.policy.logits(log.x))


def test_checkpoint_is_two_files_without_pickle_and_the_one_before_is_kept(
    log: TrainingLog, quick: EverySetting, tmp_path: Path
) -> None:
    learn("weighted-reg", log, replace(quick, epochs=8), 0, checkpoint=tmp_path)
    arrays = [f"epoch-{8 - quick.checkpoint_every}.safetensors", "epoch-8.safetensors"]
    found = sorted(path.name for path in tmp_path.iterdir())
    assert found == ["checkpoint-before.json", "checkpoint.json", *arrays]


def empty(path: Path) -> None:
    path.write_bytes(b"")


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def fill_with_noise(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(path.stat().st_size))


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) * 2 // 3] ^= 1
    path.write_bytes(content)


def make_a_list(path: Path) -> None:
    path.write_text("[1, 2]")


DAMAGES = (empty, halve, fill_with_noise, flip_a_byte, make_a_list, Path.unlink)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["checkpoint.json", "epoch-3.safetensors"])
def test_damaged_checkpoint_is_said_and_the_one_before_is_gone_on_from(
    name: str, damage: Callable[[Path], None], log: TrainingLog, quick: EverySetting, tmp_path: Path
) -> None:
    settings = replace(quick, epochs=4, checkpoint_every=1)
    unbroken = learn("naive", log, settings, 7)
    with pytest.raises(Killed):
        learn("naive", log, settings, 7, kill_after(3), tmp_path)
    damage(tmp_path / name)
    heard: list[int] = []
    said: list[str] = []
    resumed = learn(
        "naive", log, settings, 7, lambda record: heard.append(record.epoch), tmp_path, said.append
    )
    assert heard == [2, 3, 4]
    gone = damage is Path.unlink and name == "checkpoint.json"  # as after a kill between two renames
    assert [("is damaged" in line, "\n" in line) for line in said] == ([] if gone else [(True, False)])
    assert repr(resumed.records) == repr(unbroken.records)
    assert not list(tmp_path.glob("*.draft"))


@pytest.mark.parametrize("damage", DAMAGES[:-1])
def test_learning_starts_anew_where_no_checkpoint_is_whole(
    damage: Callable[[Path], None], log: TrainingLog, quick: EverySetting, tmp_path: Path
) -> None:
    settings = replace(quick, epochs=4, checkpoint_every=1)
    with pytest.raises(Killed):
        learn("naive", log, settings, 7, kill_after(3), tmp_path)
    for path in tmp_path.glob("*.json"):
        damage(path)
    heard: list[int] = []
    said: list[str] = []
    learn("naive", log, settings, 7, lambda record: heard.append(record.epoch), tmp_path, said.append)
    assert heard == [1, 2, 3, 4]
    assert said[-1] == "no checkpoint is left to go on from: learning starts anew"


def test_checkpoint_of_another_layout_is_not_gone_on_from(
    log: TrainingLog, quick: EverySetting, tmp_path: Path
) -> None:
    """One of an earlier version would lack what today's learners look for."""
    settings = replace(quick, epochs=4, checkpoint_every=1)
    with pytest.raises(Killed):
        learn("naive", log, settings, 7, kill_after(2), tmp_path)
    index = json.loads((tmp_path / "checkpoint.json").read_text())
    earlier = {name: value for name, value in index.items() if name not in ("checksum", "sha256")}
    (tmp_path / "checkpoint.json").write_text(json.dumps(earlier | {"layout": 3}))
    (tmp_path / "checkpoint-before.json").unlink()
    heard: list[int] = []
    said: list[str] = []
    learn("naive", log, settings, 7, lambda record: heard.append(record.epoch), tmp_path, said.append)
    assert heard == [1, 2, 3, 4]
    assert "is of another version of multilogger, so it is not used" in said[0]
    assert said[1:] == ["no checkpoint is left to go on from: learning starts anew"]


@pytest.mark.parametrize(
    ("method", "seed", "clip", "differs"),
    [("balanced", 1, None, "method, seed"), ("naive", 0, 3.0, "settings")],
)
def test_checkpoint_of_another_run_is_said_and_not_gone_on_from(
    method: str,
    seed: int,
    clip: float | None,
    differs: str,
    log: TrainingLog,
    quick: EverySetting,
    tmp_path: Path,
) -> None:
    first = replace(quick, epochs=4, checkpoint_every=1)
    learn("naive", log, first, 0, checkpoint=tmp_path)
    settings = first if clip is None else replace(first, clip=clip)
    alone = learn(method, log, settings, seed)
    said: list[str] = []
    beside = learn(method, log, settings, seed, checkpoint=tmp_path, say=said.append)
    assert [f"another run, it differs in {differs}" in line for line in said] == [True, True, False]
    assert repr(beside.records) == repr(alone.records)
