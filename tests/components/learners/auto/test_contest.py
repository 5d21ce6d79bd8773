"""The contest of candidates that learn from weights, where the loss model is not enough."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from multilogger.components.learners.auto.contest import Contest
from multilogger.components.learners.auto.method import AutoSettings
from multilogger.components.learners.judging.evidence import Evidence
from multilogger.components.learners.judging.judge import judge
from multilogger.components.learners.judging.verdict import Comparison, Verdict, decide, joined
from multilogger.components.learners.judging.weighers import TRUSTED_WEIGHT, VectorWeigher
from multilogger.components.learners.learn import Learned, learn
from multilogger.components.learners.loss_models.form import AdditiveForm, FoldedModel
from multilogger.components.learners.loss_models.settings import Start
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.log.memory import TrainingLog
from multilogger.components.policies.policy import load_policy
from tests.components.conftest import make_training_log

QUICK = AutoSettings(hidden=(8,), epochs=3, folds=2, start=Start.RATES, checkpoint_every=1)


def of_pairs(log: TrainingLog) -> TrainingLog:
    """The same log with a loss of two labels that are the same, which does not add up over labels."""
    return replace(log, delta=(log.action[:, 0] == log.action[:, 1]).astype(np.float64))


@pytest.fixture(scope="module")
def pairs() -> TrainingLog:
    return of_pairs(make_training_log(contexts=120, alphas=(0.05, 0.2)))


@pytest.fixture(scope="module")
def learned(pairs: TrainingLog) -> Learned:
    return learn("auto", pairs, QUICK, 0)


def test_a_loss_that_does_not_add_up_has_a_contest(learned: Learned) -> None:
    assert learned.verdict is not None
    names = [one.name for one in learned.verdict.comparisons]
    assert names[3:] == [
        f"{name}{word}"
        for name in ("dr", "weighted-exact", "balanced-exact", "ls")
        for word in ("", ", greedy")
    ]
    assert len(learned.records) == 3 + 8 + 1
    assert [record.eligible for record in learned.records] == [False] * 11 + [True]
    assert not any(one.adds for one in learned.verdict.comparisons)
    assert learned.verdict.left_out == ()
    assert any("the loss does not add up over labels" in note for note in learned.notes)


def test_what_is_found_of_the_first_candidates_stands(pairs: TrainingLog, learned: Learned) -> None:
    """They are judged on all contexts; the half that judges a contest would show less of them."""
    alone = learn("auto", pairs, replace(QUICK, contest=False), 0).verdict
    assert alone is not None
    assert learned.verdict is not None
    for one, other in zip(learned.verdict.comparisons[:3], alone.comparisons, strict=True):
        assert (one.improvement, one.standard_error) == (other.improvement, other.standard_error)
        assert one.lower < other.lower  # the chance to fail is shared with the contest
    assert learned.verdict.best_logger == alone.best_logger


def test_no_policy_has_seen_the_contexts_that_it_is_judged_on(pairs: TrainingLog) -> None:
    """Losses of a part may be anything: what is judged there, or before, is the same."""
    first = Contest(pairs, QUICK, 0)
    for part, same in ((2, [True, False]), (3, [True, True])):
        own = first.part[pairs.context] == part
        second = Contest(replace(pairs, delta=np.where(own, 1.0 - pairs.delta, pairs.delta)), QUICK, 0)
        while len(first.found) < 6:
            first.run()
        while len(second.found) < 6:
            second.run()
        found = [
            all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
            for one, two in zip(first.found, second.found, strict=True)
        ]
        assert found == same * 3


def test_contexts_that_do_not_judge_count_for_nothing(pairs: TrainingLog) -> None:
    """Half of a log by `at` is what half of it is."""
    logits = [np.zeros((pairs.contexts, 3))]
    model = FoldedModel(AdditiveForm(), np.full((pairs.contexts, 3), 0.4))
    half = np.arange(pairs.contexts) % 2 == 0
    whole = judge(pairs, model, logits)
    names = ["uniform"]
    some = decide(names, whole.at(half), Evidence.ANY, True, 0.95, 1.0).comparisons[0]
    odd = replace(pairs, delta=np.where(half[pairs.context], pairs.delta, 3.0))
    other = decide(names, judge(odd, model, logits).at(half), Evidence.ANY, True, 0.95, 1.0).comparisons[0]
    assert some.improvement == other.improvement
    assert some.by_weights == other.by_weights
    assert some != decide(names, whole, Evidence.ANY, True, 0.95, 1.0).comparisons[0]


def test_the_best_of_both_verdicts_is_taken() -> None:
    def verdict(*gains: float, best: int = 1) -> Verdict:
        shown = tuple(Comparison(f"{gain}", gain, 0.01, -1.0, gain - 0.1) for gain in gains)
        return Verdict(best, 1.0, shown, None, 0.95)

    assert joined(verdict(0.05, 0.2), verdict(0.08, 0.02, best=0), 1.0).chosen == 1
    found = joined(verdict(0.05, 0.2), verdict(0.0, 0.3), 1.0)
    assert (found.chosen, found.best_logger, len(found.comparisons)) == (3, 1, 4)
    assert joined(verdict(0.05), verdict(0.08), 1.0).chosen is None


@pytest.mark.parametrize("stop", [5, 10])
def test_a_contest_that_was_killed_goes_on(
    pairs: TrainingLog, learned: Learned, tmp_path: Path, stop: int
) -> None:
    class Killed(Exception):
        pass

    def kill(record: EpochRecord) -> None:
        if record.epoch == stop:
            raise Killed

    with pytest.raises(Killed):
        learn("auto", pairs, QUICK, 0, kill, tmp_path)
    heard: list[int] = []
    again = learn("auto", pairs, QUICK, 0, lambda record: heard.append(record.epoch), tmp_path)
    assert heard == list(range(stop, 13))
    assert repr(again.records) == repr(learned.records)
    assert again.verdict == learned.verdict
    np.testing.assert_array_equal(again.policy.logits(pairs.x), learned.policy.logits(pairs.x))


def test_every_policy_of_a_contest_can_be_saved(pairs: TrainingLog, learned: Learned, tmp_path: Path) -> None:
    contest = Contest(pairs, QUICK, 0)
    while not contest.finished:
        contest.run()
    x = torch.from_numpy(pairs.x)
    for name, network, logits in contest.policies(x):
        folder = tmp_path / name
        folder.mkdir()
        policy = replace(learned.policy, network=network.eval(), size=contest.size)
        policy.save(folder)
        np.testing.assert_array_equal(load_policy(folder).logits(pairs.x), policy.logits(pairs.x))
        assert np.isfinite(logits).all()


def test_too_few_contexts_have_no_contest() -> None:
    log = make_training_log(contexts=3)
    assert not Contest(log, QUICK, 0).possible


def test_without_the_loggers_policies_only_who_can_competes(pairs: TrainingLog) -> None:
    contest = Contest(replace(pairs, logger_logits=()), QUICK, 0)
    assert [one.method.name for one in contest.contenders] == ["dr", "ls"]
    assert contest.left_out.keys() == {"weighted-exact", "balanced-exact"}


def test_reach_of_label_vectors_is_that_of_all_of_them(pairs: TrainingLog) -> None:
    """The means over draws, against sums over the eight label vectors."""
    rng = np.random.default_rng(0)
    logits = 2.0 * rng.normal(size=(pairs.contexts, 3))
    spread, untold = VectorWeigher(pairs, [logits, *pairs.logger_logits]).reach(1)
    counts = np.bincount(pairs.logger)
    expected = np.zeros((2, pairs.contexts))
    for y in product((0, 1), repeat=3):
        action = np.tile(np.array(y, dtype=np.uint8), (pairs.contexts, 1))
        h = np.exp(pairs.space.log_probability(logits, action))
        own = np.exp([pairs.space.log_probability(table, action) for table in pairs.logger_logits])
        average = counts @ own / counts.sum()
        assert (h <= TRUSTED_WEIGHT * average).all()
        expected += np.square(h / average - own / average) * average
    np.testing.assert_allclose(spread[0].mean(axis=1), expected.mean(axis=1), rtol=0.05)
    np.testing.assert_allclose(untold, 0.0, atol=1e-12)
