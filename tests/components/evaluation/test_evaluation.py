"""The whole evaluation: coverage, warnings, and the rule of whom to trust."""

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.simulated_world import make_world
from multilogger.components.evaluation.evaluation import (
    EstimateRow,
    PolicyEvaluation,
    Request,
    evaluate_policy,
)
from multilogger.components.evaluation.intervals import Interval
from multilogger.components.evaluation.picture import draw_evaluation
from multilogger.components.evaluation.score_log import Scored
from multilogger.components.evaluation.support import LoggerSupport, Overlap, recommend

QUICK = Request(replicates=200)


def evaluated(scored: Scored, request: Request = QUICK) -> PolicyEvaluation:
    return evaluate_policy(scored.log, scored.model, request, np.random.default_rng(0))


def test_intervals_cover_at_their_level_where_overlap_is_good() -> None:
    """200 logs of shared contexts: nominal 95 % within three Monte Carlo errors; Bernstein never below it."""
    world = make_world("good")
    logs, held, bernstein = 200, dict[str, int](), dict[str, int]()
    for seed in range(logs):
        rng = np.random.default_rng([seed, 77])
        scored = world.draw(150, (2, 2), rng)
        largest = world.max_weights(scored.log.counts)
        for row in evaluate_policy(scored.log, scored.model, QUICK, rng, largest).estimates:
            held[row.name] = held.get(row.name, 0) + _holds(row.bootstrap, world.risk)
            if row.bernstein is not None:
                bernstein[row.name] = bernstein.get(row.name, 0) + _holds(row.bernstein, world.risk)
    error = math.sqrt(0.95 * 0.05 / logs)
    for name, count in held.items():
        assert abs(count / logs - 0.95) < 3.0 * error, name
    assert set(bernstein) == {f"{n}{s}" for n in ("naive", "weighted", "balanced") for s in ("", "-clipped")}
    assert min(bernstein.values()) >= 0.95 * logs


def _holds(interval: Interval, risk: float) -> bool:
    return interval.low <= risk <= interval.high


def test_rows_of_one_context_taken_as_independent_cover_too_little() -> None:
    world = make_world("good")
    logs, held = 100, 0
    for seed in range(logs):
        scored = world.draw(100, (8, 8), np.random.default_rng([seed, 78]))
        loose = replace(scored, log=replace(scored.log, context=np.arange(scored.log.rows)))
        row = next(r for r in evaluated(loose).estimates if r.name == "balanced")
        held += _holds(row.bootstrap, world.risk)
    assert held / logs < 0.85


def test_good_overlap_warns_of_nothing_and_trusts_dr() -> None:
    found = evaluated(make_world("good").draw(400, (2, 2), np.random.default_rng(1)))
    assert found.warnings == ()
    assert found.recommendation.estimator == "dr"
    assert found.recommendation.sentence.startswith("Trust dr: ")
    assert sum(found.lambda_share) == pytest.approx(1.0)
    assert found.clip == pytest.approx(math.sqrt(1600))


def test_poor_overlap_is_warned_of() -> None:
    found = evaluated(make_world("very poor").draw(200, (2, 2), np.random.default_rng(1)))
    text = " | ".join(found.warnings)
    assert "logger logger-1: 400 rows are worth" in text
    assert "800 rows are worth only" in text
    assert found.recommendation.estimator != "dr"


def test_wrong_propensities_show_in_the_mean_weight() -> None:
    scored = make_world("good").draw(400, (2, 2), np.random.default_rng(1))
    log = scored.log
    assert log.log_average is not None
    off = replace(
        log, log_propensity=log.log_propensity - math.log(1.3), log_average=log.log_average - math.log(1.3)
    )
    found = evaluated(replace(scored, log=off))
    assert any("where 1 is expected: the propensities are wrong" in line for line in found.warnings)
    assert found.recommendation.estimator == "balanced-sn"


def test_deterministic_policies_and_rare_actions_are_warned_of() -> None:
    scored = make_world("good").draw(400, (2, 2), np.random.default_rng(1))
    log = replace(
        scored.log,
        log_greedy=np.zeros(scored.log.rows),
        log_target=np.where(scored.log.is_greedy, 0.0, -np.inf),
    )
    rare = np.log(np.array([1e-5, 0.2, 0.5, 0.5]))
    found = evaluate_policy(log, scored.model, QUICK, np.random.default_rng(0), greedy_log_propensity=rare)
    text = " | ".join(found.warnings)
    assert "the policy is all but deterministic (1.000 on its likeliest action)" in text
    assert "in 25.0% of the contexts every logger takes the policy's likeliest action" in text


@pytest.mark.parametrize(
    ("whole", "name", "words"),
    [
        (Overlap(1.02, 0.01, 500, 0.01), "dr", "Trust dr: 1.000"),
        (Overlap(1.02, 0.01, 60, 0.01), "balanced-sn", "rough figure only"),
        (Overlap(1.02, 0.01, 500, 0.2), "balanced-sn", "rough figure only"),
        (Overlap(0.75, 0.01, 500, 0.01), "balanced-sn", "rough figure only"),
        (Overlap(0.65, 0.01, 500, 0.01), None, "none of them: the loggers do not cover what the policy does"),
        (
            Overlap(1.0, 0.01, 19.7, 0.01),
            None,
            "none of them: too few rows speak of the policy (19 effective",
        ),
        (Overlap(0.0, 0.0, 0, 0.0), None, "can be borne), and too few rows speak of the policy (0 effective"),
    ],
)
def test_rule_of_trust(whole: Overlap, name: str | None, words: str) -> None:
    rows = {
        n: EstimateRow(n, 1.0, 0.1, Interval(0.8, 1.2), None, 1.0, 100)
        for n in ("dr", "balanced-sn", "naive")
    }
    found = recommend(rows, [LoggerSupport("a", 9, 1.5, 1.0, 9.0, 0.1, 0.5)], whole)
    assert found.estimator == name
    assert words in found.sentence
    if name is not None:
        assert "below the best logger's 1.500 by more than the error of both" in found.sentence


def test_the_error_of_the_best_logger_counts_too() -> None:
    """0.2 and 0.25 together are 0.32: apart by 0.35, not by 0.3."""
    rows = {"dr": EstimateRow("dr", 1.0, 0.1, Interval(0.8, 1.2), None, 1.0, 100)}
    for loss, words in (
        (1.35, "below the best logger's 1.350 by more"),
        (1.3, "not told apart from the best"),
    ):
        logger = LoggerSupport("a", 9, loss, 1.0, 9.0, 0.1, 0.5, error=0.25)
        assert words in recommend(rows, [logger], Overlap(1.0, 0.01, 500, 0.01)).sentence


def test_picture_has_both_formats_and_the_same_bytes_twice(tmp_path: "pytest.TempPathFactory") -> None:
    found = evaluated(make_world("good").draw(60, (2, 2), np.random.default_rng(1)))
    first = [path.read_bytes() for path in draw_evaluation(found, "title", 0.95, tmp_path / "a")]  # type: ignore[operator]
    again = [path.read_bytes() for path in draw_evaluation(found, "title", 0.95, tmp_path / "b")]  # type: ignore[operator]
    assert first == again
    assert first[0].startswith(b"\x89PNG")
    assert b"<svg" in first[1]
    assert b"balanced-sn" in first[1] or b"<use" in first[1]


def test_smoothed_intervals_hold_and_are_narrower_than_bernstein_ones() -> None:
    world, logs, held, narrower = make_world("poor"), 30, dict[str, int](), 0
    for seed in range(logs):
        rng = np.random.default_rng([seed, 79])
        scored = world.draw(100, (2, 2), rng)
        found = evaluate_policy(scored.log, None, Request(replicates=20), rng)
        for one in found.smoothed:
            held[one.name] = held.get(one.name, 0) + (one.low <= world.risk <= one.high)
        cut = next(row.bernstein for row in found.estimates if row.name == "balanced-clipped")
        smooth = next(one for one in found.smoothed if one.name == "balanced-ls")
        assert cut is not None
        narrower += smooth.high - smooth.low < cut.high - cut.low
    assert list(held) == ["naive-ls", "naive-ix", "balanced-ls", "balanced-ix"]
    assert min(held.values()) >= 0.95 * logs
    assert narrower == logs


def test_without_propensities_of_other_loggers_only_naive_weights_are_smoothed() -> None:
    scored = make_world("good").draw(100, (2, 2), np.random.default_rng(1))
    found = evaluated(replace(scored, log=replace(scored.log, log_average=None)))
    assert [one.name for one in found.smoothed] == ["naive-ls", "naive-ix"]
