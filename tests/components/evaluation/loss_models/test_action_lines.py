"""A line per action, shrunk towards one that all share: against the ridge of all terms written out."""

import tracemalloc

import numpy as np
import pytest

from multilogger.components.evaluation.loss_models.action_lines import LineSums, line_losses, term_rows

ACTIONS = 4


def rows(seed: int = 0, n: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Terms (n, 3), losses and actions; action 3 never occurs."""
    rng = np.random.default_rng(seed)
    u = term_rows([rng.random(n), rng.random(n)])
    return u, rng.random(n), rng.integers(0, ACTIONS - 1, n)


def test_same_as_the_ridge_of_all_terms() -> None:
    u, delta, action = rows()
    own = np.eye(ACTIONS)[action]
    z = np.hstack([u, (own[:, :, None] * u[:, None, :]).reshape(len(u), -1)])
    penalty = np.diag([1e-9, *[1.0] * (z.shape[1] - 1)])
    dense = np.linalg.solve(z.T @ z + penalty, z.T @ delta)
    expected = dense[:3] + dense[3:].reshape(ACTIONS, 3)
    found = LineSums.of(u, delta, action, ACTIONS).lines()
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found[3], dense[:3], rtol=1e-8)  # an action without rows has the shared line


def test_sums_without_a_fold_are_those_of_the_other_rows() -> None:
    u, delta, action = rows()
    fold = np.arange(len(u)) % 3
    whole = LineSums.of(u, delta, fold * ACTIONS + action, 3 * ACTIONS)
    by_fold = LineSums(whole.gram.reshape(3, ACTIONS, 3, 3), whole.moment.reshape(3, ACTIONS, 3))
    others = fold != 1
    expected = LineSums.of(u[others], delta[others], action[others], ACTIONS)
    np.testing.assert_allclose(by_fold.without(1).gram, expected.gram)
    np.testing.assert_allclose(by_fold.without(1).moment, expected.moment)


def test_losses_by_hand() -> None:
    """Two folds of two actions; q = c + d u."""
    lines = np.array([[[0.1, 0.5], [0.2, 1.0]], [[0.3, 0.0], [0.4, 2.0]]])
    h = np.array([[0.25, 0.75], [0.5, 0.5]])
    found = line_losses(lines, np.array([0, 1]), np.array([1, 0]), h, [h])
    assert found.q_logged == pytest.approx([0.2 + 0.75, 0.3])
    assert found.q_target == pytest.approx(
        [0.25 * (0.1 + 0.5 * 0.25) + 0.75 * (0.2 + 0.75), 0.5 * 0.3 + 0.5 * (0.4 + 1.0)]
    )


def test_memory_grows_with_the_actions_and_not_with_their_square() -> None:
    u, delta, _ = rows()
    action = np.random.default_rng(1).integers(0, 20_000, len(u))
    tracemalloc.start()
    try:
        found = LineSums.of(u, delta, action, 20_000).lines()
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.isfinite(found).all()
    assert most < 20_000 * 1000  # a table of actions times actions alone has 3.2 GB
