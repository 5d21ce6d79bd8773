"""Evaluation of policies that choose one of K actions: by enumeration, by many logs, and from files."""

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.choice_world import KINDS, make_choice_world
from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.one_of import OneOf
from multilogger.components.actions.space import ActionSpace
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.datasets.losses import ZERO_ONE
from multilogger.components.errors import BadInput
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.estimators.weights import log_mixture
from multilogger.components.evaluation import score_log as score_log_module
from multilogger.components.evaluation.context_logits import ContextLogits
from multilogger.components.evaluation.context_sums import ScoredLog, context_sums, total_sums
from multilogger.components.evaluation.evaluation import Request, evaluate_policy
from multilogger.components.evaluation.intervals import Interval
from multilogger.components.evaluation.loss_models.registry import DrModel
from multilogger.components.evaluation.max_weights import greedy_log_propensity, known_max_weights
from multilogger.components.evaluation.point_estimates import estimates
from multilogger.components.evaluation.score_log import ModelChoice, Scored, score_log
from multilogger.components.log.files import open_log_files
from multilogger.components.log.schema import log_file, log_schema, to_table
from multilogger.components.loggers.linear import LinearPolicy
from multilogger.components.loggers.replay import ReplayPlan, SplitBy, replay_pass

# Two contexts of probabilities 0.3 and 0.7 and three actions: six outcomes of one logged row.
SPACE = OneOf(3)
P_X = np.array([0.3, 0.7])
TARGET = np.array([[0.4, -1.0, 0.2], [1.2, 0.3, -0.5]])
LOGGERS = (np.array([[0.0, 0.2, 0.1], [-0.5, 0.1, 0.3]]), np.array([[1.0, -1.0, 0.0], [1.0, 0.5, -1.0]]))
LOSS = np.array([[0.0, 1.0, 0.6], [0.9, 0.2, 0.35]])
WRONG_MODEL = np.array([[1.0, 0.2, 0.7], [0.3, 0.1, 0.6]])
RISK = float(P_X @ (SPACE.probabilities(TARGET) * LOSS).sum(axis=1))


def test_every_unbiased_estimator_is_so_over_every_log() -> None:
    """Logs of two rows by one logger and one by the other, all 216 of them; dr has a wrong model."""
    context, action = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    log_target = SPACE.log_probability(TARGET[context], action)
    table = np.stack([SPACE.log_probability(one[context], action) for one in LOGGERS], axis=1)
    chance = P_X[context][:, None] * np.exp(table)
    q_target = (SPACE.probabilities(TARGET) * WRONG_MODEL).sum(axis=1)
    logger, counts = np.array([0, 0, 1]), np.array([2.0, 1.0])
    total = dict.fromkeys(("naive", "balanced", "dr"), 0.0)
    for rows in itertools.product(range(6), repeat=3):
        at = np.array(rows)
        log = ScoredLog(
            names=("a", "b"),
            logger=logger,
            context=np.arange(3),
            delta=LOSS[context[at], action[at]],
            log_propensity=table[at, logger],
            log_target=log_target[at],
            max_loss=SPACE.largest_loss,
            log_average=log_mixture(table[at], counts),
            is_greedy=np.zeros(3, dtype=np.bool_),
            log_greedy=np.zeros(3),
        )
        model = ModelledLoss(WRONG_MODEL[context[at], action[at]], q_target[context[at]])
        sums = total_sums(context_sums(log, 1.5, model), log.loggers)
        found = estimates(sums, log.counts, balanced=True, dr=True)
        for name in total:
            total[name] += float(np.prod(chance[at, logger])) * float(found[name])
    assert total == pytest.approx(dict.fromkeys(total, RISK), rel=1e-12)


def test_intervals_cover_at_their_level_where_overlap_is_good() -> None:
    """200 logs: nominal 95 % and the risk within three Monte Carlo errors; Bernstein never below 95 %."""
    world = make_choice_world("good")
    logs, held, bernstein = 200, dict[str, int](), dict[str, int]()
    values: dict[str, list[float]] = {}
    for seed in range(logs):
        rng = np.random.default_rng([seed, 80])
        scored = world.draw(150, (2, 2), rng)
        largest = known_max_weights(OneOf(5), world.target, world.loggers, scored.log.counts)
        for row in evaluate_policy(scored.log, scored.model, Request(replicates=200), rng, largest).estimates:
            values.setdefault(row.name, []).append(row.value)
            held[row.name] = held.get(row.name, 0) + _holds(row.bootstrap, world.risk)
            if row.bernstein is not None:
                bernstein[row.name] = bernstein.get(row.name, 0) + _holds(row.bernstein, world.risk)
    for name, count in held.items():
        assert abs(count / logs - 0.95) < 3.0 * math.sqrt(0.95 * 0.05 / logs), name
        error = np.std(values[name], ddof=1) / math.sqrt(logs)
        assert abs(np.mean(values[name]) - world.risk) < 3.0 * error, name
    assert set(bernstein) == {f"{n}{s}" for n in ("naive", "weighted", "balanced") for s in ("", "-clipped")}
    assert min(bernstein.values()) >= 0.95 * logs


def _holds(interval: Interval, risk: float) -> bool:
    return interval.low <= risk <= interval.high


def test_largest_weights_are_exact() -> None:
    world, counts = make_choice_world("good"), np.array([300.0, 100.0])
    found = known_max_weights(OneOf(5), world.target, world.loggers, counts)
    expected = world.max_weights(counts)
    np.testing.assert_allclose(found.own, expected.own, rtol=1e-12)
    assert found.average == pytest.approx(expected.average, rel=1e-12)


def test_poor_overlap_is_warned_of() -> None:
    world = make_choice_world("very poor")
    scored = world.draw(200, (2, 2), np.random.default_rng(1))
    rare = greedy_log_propensity(OneOf(5), world.target, world.loggers)
    assert rare.shape == (KINDS,)
    request, rng = Request(replicates=200), np.random.default_rng(0)
    found = evaluate_policy(scored.log, scored.model, request, rng, greedy_log_propensity=rare)
    text = " | ".join(found.warnings)
    assert "800 rows are worth only" in text
    assert "every logger takes the policy's likeliest action with a probability below 0.001" in text
    assert found.recommendation.estimator != "dr"
    good = make_choice_world("good").draw(400, (2, 2), np.random.default_rng(1))
    best = evaluate_policy(good.log, good.model, request, rng)
    assert (best.warnings, best.recommendation.estimator) == ((), "dr")


@dataclass(frozen=True)
class Chooser:
    """The action of the largest of the features, most of the time."""

    features: int = 3

    @property
    def space(self) -> ActionSpace:
        return SPACE

    def logits(self, x: Features) -> Matrix:
        return 1.5 * np.asarray(x, dtype=np.float64)


def own_table(rows: int = 60) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    propensities = rng.uniform(0.1, 0.9, (rows, 2))
    logger = np.arange(rows) % 2
    return {
        "logger": [("new", "old")[j] for j in logger],
        "action": rng.integers(0, 3, rows).tolist(),
        "loss": rng.uniform(0, 1, rows).tolist(),
        "propensity": propensities[np.arange(rows), logger].tolist(),
        "propensities": propensities.tolist(),
        "context": (np.arange(rows) // 2).tolist(),
        "x": np.repeat(rng.normal(size=(rows // 2, 3)), 2, axis=0).tolist(),
    }


def read(
    folder: Path,
    content: dict[str, Any],
    numbers: dict[str, int] | None = None,
    kind: DrModel = DrModel.RIDGE,
) -> Scored:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(content), folder / "log.parquet")
    files = open_log_files(folder, contexts_given=False)
    rng = np.random.default_rng(0)
    return score_log(files, Chooser(), rng, choice=ModelChoice(kind), action_numbers=numbers)


def test_own_files_are_scored_under_the_policy(tmp_path: Path) -> None:
    content = own_table()
    found = read(tmp_path, content)
    log, action = found.log, np.array(content["action"])
    logits = 1.5 * np.array(content["x"], dtype=np.float32).astype(np.float64)
    np.testing.assert_allclose(log.log_target, SPACE.log_probability(logits, action))
    np.testing.assert_array_equal(log.is_greedy, logits.argmax(axis=1) == action)
    np.testing.assert_allclose(np.exp(log.log_greedy), SPACE.probabilities(logits).max(axis=1))
    assert log.max_loss == 1.0
    assert found.model is not None
    assert found.fitted_rows == 60


def test_named_actions_give_the_same(tmp_path: Path) -> None:
    content = own_table()
    expected = read(tmp_path / "numbers", content)
    names = {"buy": 1, "sell": 0, "hold": 2}
    back = {number: name for name, number in names.items()}
    named = content | {"action": [back[number] for number in content["action"]]}
    found = read(tmp_path / "names", named, names)
    np.testing.assert_array_equal(found.log.log_target, expected.log.log_target)
    assert found.model is not None
    assert expected.model is not None
    np.testing.assert_array_equal(found.model.q_target, expected.model.q_target)
    with pytest.raises(BadInput, match=r"log.parquet, row 0: an action is a whole number from 0 to 2, got"):
        read(tmp_path / "again", named)


def test_wide_tables_of_logits_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = own_table()
    expected = read(tmp_path, content)
    monkeypatch.setattr(score_log_module, "MOST_LOGITS", 3 * 7)
    found = read(tmp_path, content)
    np.testing.assert_array_equal(found.log.log_target, expected.log.log_target)
    assert found.model is not None
    assert expected.model is not None
    np.testing.assert_allclose(found.model.q_target, expected.model.q_target, rtol=1e-9)


@pytest.mark.parametrize("kind", [DrModel.RIDGE, DrModel.NETWORK])
def test_dr_has_a_model_of_its_own(tmp_path: Path, kind: DrModel) -> None:
    found = read(tmp_path, own_table(), kind=kind)
    assert found.model is not None
    assert np.std(found.model.q_logged) > 0
    assert 0.0 < found.model.q_target.mean() < 1.0


def test_losses_above_one_and_models_of_labels_are_refused(tmp_path: Path) -> None:
    content = own_table()
    with pytest.raises(BadInput, match="'additive' of dr is not for actions of kind 'one-of'"):
        read(tmp_path, content, kind=DrModel.ADDITIVE)
    content["loss"][5] = 1.5
    with pytest.raises(BadInput, match=r"row 5: the loss is 1.5, above the largest loss 1;"):
        read(tmp_path, content)


def test_a_replay_is_scored_by_its_numbers(tmp_path: Path) -> None:
    """A log as the stage writes it: int32 numbers, with the names of actions in the schema."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(50, 3)).astype(np.float32)
    truth = x.argmax(axis=1)
    loggers = [LinearPolicy(np.hstack([np.eye(3), np.zeros((3, 1))]), alpha) for alpha in (0.3, 2.0)]
    logits = [logger.logits(x) for logger in loggers]
    plan = ReplayPlan(seed=7, validation_share=0.3, split_by=SplitBy.ROW, batch_rows=1000)
    for logger in range(2):
        rows = next(replay_pass(SPACE, logits, truth, logger, 0, plan, ZERO_ONE))
        path = log_file(tmp_path, logger, 0)
        path.parent.mkdir(parents=True)
        pq.write_table(to_table(rows, log_schema(SPACE, 2)), path)
    files = open_log_files(tmp_path, contexts_given=True)
    apart = ContextLogits(SPACE, Chooser().logits(x), {row: row for row in range(50)}, lambda: iter([x]))
    found = score_log(files, Chooser(), np.random.default_rng(0), apart)
    assert found.log.rows == 100
    assert set(np.unique(found.log.delta)) == {0.0, 1.0}
    result = evaluate_policy(
        found.log, found.model, Request(replicates=100), np.random.default_rng(0),
        known_max_weights(SPACE, apart.logits, logits, found.log.counts),
    )  # fmt: skip
    exact = float(ZERO_ONE.expected(apart.logits, truth).mean())
    row = next(row for row in result.estimates if row.name == "dr")
    assert row.value == pytest.approx(exact, abs=4.0 * row.standard_error)
