"""lambda* and its streamed statistics against the two-pass formulas as printed."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.lambda_star import (
    LoggerStats,
    LoggerSums,
    Stats,
    lambda_star,
    self_normalised_divergence,
    supported_lambda_star,
    supported_shares,
    update_stats,
)
from multilogger.components.estimators.logged_batch import Loggers

J = 3


def draw_log(seed: int, spread: float = 4.0, offset: float = 0.0) -> tuple[Loggers, Vector, Vector]:
    """logger, w and delta: weights over several powers of ten, losses from 0 to 14, unequal loggers."""
    rng = np.random.default_rng(seed)
    logger = rng.choice(J, p=[0.6, 0.3, 0.1], size=5000)
    w: Vector = np.exp(spread * rng.normal(size=5000))
    return logger, w, offset + rng.integers(0, 15, size=5000).astype(np.float64)


def as_printed(logger: Loggers, w: Vector, delta: Vector) -> Vector:
    """Section 5.1.2, word for word and in two passes."""
    u = w * delta
    u_bar = u.mean()
    s2 = []
    for j in range(J):
        S = w[logger == j].mean()
        s2.append(np.sum((u[logger == j] / S - u_bar) ** 2) / (np.sum(logger == j) - 1))
    return np.array(s2)


def stream(logger: Loggers, w: Vector, delta: Vector, sizes: list[int]) -> Stats:
    stats: Stats = (LoggerStats(),) * J
    for part in np.split(np.arange(len(w)), np.cumsum(sizes)):
        stats = update_stats(stats, logger[part], w[part], delta[part])
    return stats


@pytest.mark.parametrize("sizes", [[], [1] * 50, [4999], [7, 0, 1200, 3, 2000], [100] * 49])
@pytest.mark.parametrize("seed", [0, 1])
def test_streamed_equals_two_passes_for_split_and_shuffled_logs(seed: int, sizes: list[int]) -> None:
    logger, w, delta = draw_log(seed)
    expected = as_printed(logger, w, delta)
    order = np.random.default_rng(9).permutation(len(w))
    for rows in (np.arange(len(w)), order):
        stats = stream(logger[rows], w[rows], delta[rows], sizes)
        np.testing.assert_allclose(self_normalised_divergence(stats), expected, rtol=1e-10)
        variances = [np.var((w * delta)[logger == j]) for j in range(J)]
        np.testing.assert_allclose([s.squares / s.count for s in stats], variances, rtol=1e-10)


def test_digits_survive_where_sums_of_squares_would_lose_them() -> None:
    logger, w, delta = draw_log(2, spread=0.0, offset=1e7)
    stats = stream(logger, w, delta, [100] * 49)
    variances = np.array([np.var(delta[logger == j]) for j in range(J)])
    np.testing.assert_allclose([s.squares / s.count for s in stats], variances, rtol=1e-10)
    naive = [np.mean(delta[logger == j] ** 2) - np.mean(delta[logger == j]) ** 2 for j in range(J)]
    assert np.abs(naive / variances - 1).max() > 1e-5


def test_merge_joins_two_parts_in_either_order() -> None:
    _, w, delta = draw_log(3)
    left, right = LoggerStats().update(w[:900], delta[:900]), LoggerStats().update(w[900:], delta[900:])
    whole = LoggerStats().update(w, delta)
    for joined in (left.merge(right), right.merge(left)):
        assert joined.count == whole.count
        for field in ("sum_w", "sum_u", "squares", "sum_ww"):
            assert getattr(joined, field) == pytest.approx(getattr(whole, field), rel=1e-12)
    assert LoggerStats().merge(left) == left
    assert left.merge(LoggerStats()) == left


def test_values_worked_by_hand() -> None:
    # Logger 0: w 1, 1, u 2, 4, S 1.  Logger 1: w 1, 3, u 0, 12, S 2.  u_bar = 18/4 = 4.5.
    stats = (
        LoggerStats().update(np.array([1.0, 1.0]), np.array([2.0, 4.0])),
        LoggerStats().update(np.array([1.0, 3.0]), np.array([0.0, 4.0])),
    )
    # (2 - 4.5)^2 + (4 - 4.5)^2 = 6.5;  (0 - 4.5)^2 + (6 - 4.5)^2 = 22.5
    assert self_normalised_divergence(stats) == pytest.approx([6.5, 22.5])
    assert [s.squares for s in stats] == pytest.approx([2.0, 72.0])
    total = 2 / 6.5 + 2 / 22.5
    assert lambda_star(stats) == pytest.approx([1 / (6.5 * total), 1 / (22.5 * total)])


@pytest.mark.parametrize("seed", range(5))
def test_lambdas_are_normalised_and_minimise_the_variance(seed: int) -> None:
    stats = stream(*draw_log(seed), [500] * 9)
    n = np.array([s.count for s in stats], dtype=float)
    s2, best = self_normalised_divergence(stats), lambda_star(stats)
    assert np.sum(n * best) == pytest.approx(1.0, rel=1e-12)
    shares = np.random.default_rng(seed).dirichlet(np.ones(J), size=200)
    assert np.sum(n * best**2 * s2) <= np.sum(shares**2 / n * s2, axis=1).min()


def test_one_logger_gets_one_over_n() -> None:
    _, w, delta = draw_log(1)
    assert lambda_star((LoggerStats().update(w, delta),)) == pytest.approx([1 / 5000], rel=1e-12)


def test_a_logger_that_the_policy_has_left_does_not_stop_the_estimate() -> None:
    stats = (
        LoggerStats().update(np.array([1.0, 2.0]), np.array([1.0, 2.0])),
        LoggerStats().update(np.zeros(3), np.array([1.0, 2.0, 3.0])),
    )
    # u_bar = 5/5 = 1; the second logger's u are all 0, so its divergence is 3 * 1^2 / 2.
    assert self_normalised_divergence(stats)[1] == pytest.approx(1.5)
    assert np.isfinite(lambda_star(stats)).all()


HEARD = LoggerStats().update(np.array([1.0, 2.0, 0.5]), np.array([1.0, 2.0, 2.0]))
OTHER = LoggerStats().update(np.array([0.5, 1.0]), np.array([3.0, 2.0]))
SILENT = {
    "no weight": LoggerStats().update(np.zeros(3), np.array([1.0, 2.0, 3.0])),
    "next to no weight": LoggerStats().update(np.array([0.0, 0.0, 0.02]), np.array([1.0, 2.0, 3.0])),
    "mean weight 1 of two rows": LoggerStats().update(
        np.r_[np.zeros(398), 200.0, 200.0], np.r_[np.ones(398), 0.01, 0.02]
    ),
}


@pytest.mark.parametrize("silent", SILENT.values(), ids=SILENT.keys())
def test_a_logger_that_never_acts_as_the_policy_has_no_share_in_what_is_reported(silent: LoggerStats) -> None:
    assert lambda_star((HEARD, silent, OTHER))[1] > 0, "as printed, it has one"
    lambdas = supported_lambda_star((HEARD, silent, OTHER))
    np.testing.assert_allclose(lambdas[[0, 2]], lambda_star((HEARD, OTHER)), rtol=1e-12)
    assert lambdas[1] == 0.0
    n = silent.count
    assert supported_lambda_star((silent, silent)) == pytest.approx([0.5 / n, 0.5 / n])


def test_what_is_reported_is_lambda_star_where_all_loggers_are_heard() -> None:
    stats = stream(*draw_log(4, spread=0.5), [5000])
    np.testing.assert_allclose(supported_lambda_star(stats), lambda_star(stats), rtol=1e-12)


def test_shares_of_resamples_are_those_of_each_one_with_the_rows_of_the_log() -> None:
    sums = [LoggerSums.of(stats) for stats in ((HEARD, OTHER), (HEARD, SILENT["no weight"]))]
    counts = np.array([30.0, 20.0])
    both = LoggerSums(*(np.stack(parts) for parts in zip(*(vars(one).values() for one in sums), strict=True)))
    expected = [supported_shares(one, counts) for one in sums]
    np.testing.assert_allclose(supported_shares(both, counts), expected, rtol=1e-12)
    assert expected[1].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("loss", [0.0, 1.0])
def test_a_logger_with_one_loss_has_no_share(loss: float) -> None:
    weights = np.random.default_rng(0).lognormal(size=50)
    one = LoggerStats().update(weights, np.full(50, loss))
    np.testing.assert_array_equal(
        supported_shares(LoggerSums.of((one, HEARD)), np.array([50.0, 30.0])), [0, 1]
    )
    np.testing.assert_array_equal(
        supported_shares(LoggerSums.of((one, one)), np.array([50.0, 30.0])), [0.625, 0.375]
    )
    nearly = LoggerStats().update(weights, np.append(np.full(49, loss), 0.5))
    assert supported_shares(LoggerSums.of((nearly, HEARD)), np.array([50.0, 30.0]))[0] > 0


def test_a_logger_whose_weighted_losses_are_alike_has_no_weight() -> None:
    counts = np.array([2.0, 3.0])
    np.testing.assert_array_equal(counts * lambda_star((SPREAD, CONSTANT)), [1.0, 0.0])


SPREAD = LoggerStats().update(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
CONSTANT = LoggerStats().update(np.ones(3), np.full(3, 0.1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: lambda_star((CONSTANT, CONSTANT)),
            "the weighted losses of each logger are all equal (0.1, 0.1), so nothing tells how well the "
            "loggers speak of the policy: mend the losses",
        ),
        (
            lambda: lambda_star((SPREAD, LoggerStats().update(np.ones(1), np.ones(1)))),
            "logger 1 needs at least 2 rows for a divergence estimate, got 1; log more of it or drop it",
        ),
        (
            lambda: lambda_star((LoggerStats().update(np.zeros(2), np.ones(2)),)),
            "every logger needs a positive divergence estimate, got [0.0]; "
            "the policy has no support in the log: start from one closer to a logger",
        ),
        (
            lambda: LoggerStats().update(np.ones(2), np.ones(3)),
            "a chunk needs one weight a loss, got (2,) and (3,)",
        ),
        (
            lambda: LoggerStats().update(np.array([np.inf]), np.ones(1)),
            "weights and losses must be finite, got NaN or infinity; clip the weights",
        ),
        (
            lambda: update_stats((SPREAD,), np.array([0, 1]), np.ones(2), np.ones(2)),
            "logger ids must lie in 0..0, got 0 to 1; number the loggers from 0",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        call()
