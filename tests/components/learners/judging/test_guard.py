"""The guard: it says of a policy whether its own log puts it below the best logger."""

import math
from dataclasses import replace

import numpy as np
import pytest

from multilogger.components.datasets.losses import CROWDING
from multilogger.components.learners.judging import guard as module
from multilogger.components.learners.judging.guard import Guard, guard
from multilogger.components.learners.learn import learn
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog
from tests.components.conftest import make_training_log
from tests.components.every_setting import EverySetting

SPACES = ("labels", "one-of")


def true_gain(log: TrainingLog, logits: np.ndarray) -> float:
    """How much less a policy loses than logger 2 on the contexts of the log, by its true labels."""
    assert log.truth is not None

    def risk(of: np.ndarray) -> float:
        p = log.space.probabilities(of)
        if log.space.action_shape:
            return float(np.where(log.truth == 1, 1 - p, p).sum(axis=1).mean())
        return float(1 - p[np.arange(len(p)), log.truth].mean())

    return risk(log.logger_logits[1]) - risk(logits)


@pytest.mark.parametrize("actions", SPACES)
@pytest.mark.parametrize(("sharper", "sign"), [(2.0, 1), (0.0, -1), (-2.0, -1)])
def test_the_gain_is_that_of_true_labels(actions: str, sharper: float, sign: int) -> None:
    log = make_training_log(contexts=400, passes=(8, 8), actions=actions)
    logits = sharper * log.logger_logits[1]
    found = guard(log, logits, None)
    assert found.logger == 1
    assert found.rows == log.rows
    assert not found.unknown
    assert np.sign(found.gain) == sign
    assert abs(found.gain - true_gain(log, logits)) < 4 * found.standard_error
    line = found.line("naive")
    if sign > 0:
        assert (line, found.short()) == (None, "")
    else:
        assert line is not None
        assert line.startswith("worse than logger-2 on its own estimate: naive loses ")
        assert line.endswith("; keep logger-2, or learn with auto")
        assert found.short("old") == "worse than old on its own estimate"


@pytest.mark.parametrize("actions", SPACES)
def test_what_was_learned_by_heart_is_judged_where_it_was_not(actions: str) -> None:
    """A policy that is right at the contexts of training rows and wrong at the others."""
    log = make_training_log(contexts=400, passes=(8, 8), actions=actions)
    assert log.truth is not None
    half = np.arange(400) % 2 == 1
    by_context = replace(log, validation=half[log.context])
    one_hot = np.eye(3)[log.truth] if actions == "one-of" else log.truth.astype(np.float64)
    sure = np.asarray(3.0 * (one_hot - 0.5), dtype=np.float64)
    by_heart = np.where(half[:, None], -sure, sure)
    assert guard(log, sure, None).gain > 0
    found = guard(by_context, by_heart, None)
    assert not found.seen
    assert found.rows < 0.6 * log.rows
    assert found.worse
    blind = guard(log, sure, None, by_heart)
    assert not blind.seen
    assert blind.gain < guard(log, sure, None).gain
    assert "at contexts that it learned from" in str(guard(log, -sure, None).line("naive"))


def test_sums_of_labels_speak_where_products_of_weights_do_not() -> None:
    """A greedy policy has few effective rows; the labels of each row have many."""
    log = make_training_log(contexts=400, alphas=(0.05, 0.05))
    assert log.truth is not None
    logits = 40.0 * (log.truth.astype(np.float64) - 0.5)
    found = guard(log, logits, None)
    if found.adds:
        assert abs(found.gain - true_gain(log, logits)) < 4 * found.standard_error
        assert "if the loss adds up over labels" in str(Guard(**{**vars(found), "gain": -1.0}).line("naive"))
    small = make_training_log(contexts=40, passes=(1, 1), alphas=(0.05, 0.05))
    few = guard(small, -40.0 * (np.ones((40, 3))), None)
    assert few.adds


def test_a_loss_that_does_not_add_up_is_told_from_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels that are taken together cost more than each alone: sums of labels would praise all of them."""
    monkeypatch.setattr(module, "ENOUGH_ROWS", 1e9)
    log = make_training_log(contexts=400, passes=(8, 8), alphas=(0.05, 0.4))
    assert log.truth is not None
    crowded = replace(log, delta=CROWDING.value(log.action, log.truth[log.context]))
    everything = np.full((400, 3), 2.0)
    risks = [CROWDING.expected(one, log.truth).mean() for one in (log.logger_logits[1], everything)]
    found = guard(crowded, everything, None)
    assert not found.adds
    assert abs(found.gain - (risks[0] - risks[1])) < 3 * found.standard_error
    assert found.worse
    assert guard(log, everything, None).adds
    monkeypatch.setattr(module, "tested_twice", lambda *_: (None, True))
    misled = guard(crowded, everything, None)
    assert misled.gain - (risks[0] - risks[1]) > 3 * misled.standard_error


def test_weights_of_a_far_mean_are_not_relied_on() -> None:
    """A policy that repeats a row of each context has many effective rows, and a mean weight far above 1."""
    log = make_training_log(contexts=400, passes=(1, 1))
    first = np.unique(log.context, return_index=True)[1]
    repeated = 40.0 * (log.action[first].astype(np.float64) - 0.5)
    found = guard(log, repeated, None)
    assert found.effective_rows > module.ENOUGH_ROWS
    assert found.adds


def test_of_actions_that_nobody_takes_nothing_is_known() -> None:
    log = make_training_log(contexts=60, passes=(1, 1), actions="one-of")
    never = np.full((60, 3), -40.0)
    taken = np.zeros((60, 3), dtype=bool)
    taken[log.context, log.action] = True
    never[np.arange(60), taken.argmin(axis=1)] = 40.0  # most contexts have an action that no row has
    found = guard(log, never, None)
    assert found.unknown
    assert math.isnan(found.gain)
    assert "next to no row speaks of what naive learned (" in str(found.line("naive"))
    assert found.short() == "next to no row speaks of it, logger-2 is known"


def test_a_gain_that_may_be_chance_is_not_shown() -> None:
    found = Guard(0, 0.5, 0.01, 0.02, 0.0, 900.0, 1000, adds=False)
    assert found.short() == "not shown to be better than logger-1"
    assert "naive is not shown to be better than logger-1: it loses 0.010 less" in str(found.line("naive"))
    sure = Guard(0, 0.5, 0.1, 0.02, 0.0, 900.0, 1000, adds=False)
    assert not sure.in_doubt
    far = replace(sure, untold=0.07)
    assert far.in_doubt
    assert "with a standard error of 0.020, and no row tells of 0.070" in str(far.line("naive"))


def test_rows_on_disk_say_the_same(log: TrainingLog, streamed: StreamedLog) -> None:
    logits = 2.0 * log.logger_logits[1]
    one, other = guard(log, logits, None), guard(streamed, logits, None)
    assert one.gain == pytest.approx(other.gain)
    assert one.standard_error == pytest.approx(other.standard_error)
    assert one.effective_rows == pytest.approx(other.effective_rows)


def test_every_learner_but_those_that_know_has_one(log: TrainingLog, quick: EverySetting) -> None:
    learned = learn("weighted", log, quick.of("weighted"), 0)
    assert learned.guard == guard(log, learned.policy.logits(log.x), None)
    assert learn("full-information", log, quick.of("full-information"), 0).guard is None


@pytest.mark.parametrize(
    ("gain", "error", "said"),
    [
        (0.7, 0.5, "is not to be trusted, as it is -0.200, outside of the possible 0 to 1; auto has"),
        (
            -0.7,
            0.5,
            "worse than old on its own estimate of the loss, though it is 1.200, outside of the possible",
        ),
        (0.3, 0.5, "it loses 0.300 less than its 0.500 on its own estimate"),
        (-0.3, 0.5, "naive loses 0.300 more than its 0.500; keep old"),
    ],
)
def test_no_loss_is_quoted_that_cannot_be(gain: float, error: float, said: str) -> None:
    assert said in str(
        Guard(0, 0.5, gain, error, 0.0, 900.0, 1000, adds=False, max_loss=1.0).line("naive", "old")
    )
