"""Open Bandit Pipeline's estimators of a one-of-K log, recorded by `benchmarks/record_obp_figures.py`."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from multilogger.components.actions.arrays import Vector
from multilogger.components.actions.one_of import OneOf
from multilogger.components.estimators.doubly_robust import (
    ModelledLoss,
    balanced_doubly_robust,
    influence_values,
)
from multilogger.components.estimators.ips import (
    equal_lambdas,
    lambda_weighted_risk,
    logger_stats,
    own_rows,
)
from multilogger.components.estimators.logged_batch import LoggedBatch
from multilogger.components.estimators.weights import RAW, SELF_NORMALISED, WeightRule, log_mixture
from multilogger.components.evaluation.context_sums import ScoredLog, context_sums, total_sums
from multilogger.components.evaluation.point_estimates import estimates
from tests.components.estimators.risks import (
    balanced_risk,
    lambda_weighted_doubly_robust,
    naive_doubly_robust,
    naive_risk,
    plain_lambdas,
    switch_doubly_robust,
)

RECORDED = json.loads((Path(__file__).parent / "obp_one_of_figures.json").read_text())


@dataclass(frozen=True)
class Recorded:
    """The log as our estimators take it, every probability asked of the action space."""

    batch: LoggedBatch
    model: ModelledLoss


def recorded() -> Recorded:
    target, action = np.array(RECORDED["target_logits"]), np.array(RECORDED["action"])
    space, rows = OneOf(target.shape[1]), np.arange(len(action))
    table = np.stack(
        [space.log_probability(np.array(one), action) for one in RECORDED["logger_logits"]], axis=1
    )
    logger, q = np.array(RECORDED["logger"]), np.array(RECORDED["model"])
    batch = LoggedBatch(
        logger=logger,
        delta=np.array(RECORDED["delta"]),
        log_propensity=table[rows, logger],
        log_target=space.log_probability(target, action),
        max_loss=RECORDED["max_loss"],
        log_propensities=table,
    )
    return Recorded(batch, ModelledLoss(q[rows, action], (space.probabilities(target) * q).sum(axis=1)))


def influence_lambdas(one: Recorded, rule: WeightRule) -> Vector:
    """1 / (v_j sum_k n_k / v_k), v_j the variance of logger j's doubly robust terms: obp's weighing."""
    batch = one.batch
    terms = influence_values(own_rows(batch, rule.clip), one.model, equal_lambdas(batch.counts))
    spread = np.array([terms[batch.logger == j].var() for j in range(batch.loggers)])
    return np.asarray(1.0 / (spread * np.sum(batch.counts / spread)))


OURS: dict[str, Callable[[Recorded, WeightRule], float]] = {
    "ips": lambda one, rule: naive_risk(one.batch, rule).value,
    "dr": lambda one, rule: naive_doubly_robust(one.batch, one.model, rule).value,
    "naive": lambda one, rule: naive_risk(one.batch, rule).value,
    "weighted": lambda one, rule: (
        lambda_weighted_risk(one.batch, plain_lambdas(logger_stats(one.batch, rule.clip)), rule).value
    ),
    "balanced": lambda one, rule: balanced_risk(one.batch, rule).value,
    "naive-dr": lambda one, rule: naive_doubly_robust(one.batch, one.model, rule).value,
    "weighted-dr": lambda one, rule: (
        lambda_weighted_doubly_robust(one.batch, one.model, influence_lambdas(one, rule), rule).value
    ),
    "balanced-dr": lambda one, rule: balanced_doubly_robust(one.batch, one.model, rule).value,
    "snips": lambda one, _: naive_risk(one.batch, SELF_NORMALISED).value,
    "sndr": lambda one, _: naive_doubly_robust(one.batch, one.model, SELF_NORMALISED).value,
    "dm": lambda one, _: switch_doubly_robust(one.batch, one.model, 0.0).value,
    "switch-dr": lambda one, _: switch_doubly_robust(one.batch, one.model, RECORDED["switch"]).value,
}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ("raw", "clipped") for name in RECORDED[kind]]
)
def test_the_same_figure_of_the_same_log(kind: str, name: str) -> None:
    rule = RAW if kind == "raw" else WeightRule(clip=RECORDED["clip"])
    assert OURS[name](recorded(), rule) == pytest.approx(RECORDED[kind][name], abs=1e-8)


def test_switching_leaves_some_rows_out_and_keeps_some() -> None:
    one = recorded()
    weights = own_rows(one.batch).weights
    assert 0 < np.mean(weights > RECORDED["switch"]) < 1
    assert len(set(RECORDED["raw"].values())) == len(RECORDED["raw"]) - 2  # ips is naive, dr is naive-dr


def test_evaluation_says_the_same() -> None:
    """The figures of `multilogger evaluate`, from sums by context."""
    one = recorded()
    batch, rows = one.batch, one.batch.rows
    assert batch.log_propensities is not None
    log = ScoredLog(
        names=("a", "b", "c"),
        logger=batch.logger,
        context=np.arange(rows) // 2,
        delta=batch.delta,
        log_propensity=batch.log_propensity,
        log_target=batch.log_target,
        max_loss=batch.max_loss,
        log_average=log_mixture(batch.log_propensities, batch.counts),
        is_greedy=np.zeros(rows, dtype=np.bool_),
        log_greedy=np.zeros(rows),
    )
    sums = total_sums(context_sums(log, RECORDED["clip"], one.model), log.loggers)
    found = estimates(sums, log.counts, balanced=True, dr=True)
    raw, clipped = RECORDED["raw"], RECORDED["clipped"]
    theirs = {
        "naive": raw["naive"],
        "naive-sn": raw["snips"],
        "naive-clipped": clipped["naive"],
        "balanced": raw["balanced"],
        "balanced-clipped": clipped["balanced"],
        "dr": raw["balanced-dr"],
    }
    assert {name: float(found[name]) for name in theirs} == pytest.approx(theirs, abs=1e-8)
