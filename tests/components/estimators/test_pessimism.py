"""Sums of pessimistic estimates by blocks of rows are those that the estimators themselves give."""

import numpy as np
import pytest

from multilogger.components.estimators import pessimism
from multilogger.components.estimators.pessimism import SmoothedRows
from multilogger.components.estimators.smoothing import Groups, Whole, smoothings, usual_smoothing
from tests.components.estimators.risks import ix_sums


@pytest.mark.parametrize("contexts", [40, 300])
@pytest.mark.parametrize("scale", [1.0, 90.0])
def test_implicit_exploration_in_blocks(contexts: int, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where probabilities are so small that they are 0."""
    monkeypatch.setattr(pessimism, "BLOCK", 64)
    rng = np.random.default_rng(0)
    n, most = 300, 2.0
    context = np.arange(n) % contexts
    propensity, target = -scale * 10 * rng.random((2, n))
    log_target = np.asarray(np.maximum(target, propensity - 50), dtype=np.float64)
    log_propensity = np.maximum(propensity, log_target - 50)
    delta = np.where(rng.random(n) < 0.4, most, 0.0)
    whole = Whole(contexts, n, -(-n // contexts))
    rows = SmoothedRows.of(log_target, delta, context, most, whole)
    _, found = rows.sides("naive", log_propensity)
    groups = Groups.of(context)
    given = [usual_smoothing(contexts), *smoothings(contexts).tolist()]
    assert len(found.mixture) == len(given) - 1
    for m, sides in zip(given, (found.usual, *found.mixture), strict=True):
        for rewards, mine in ((1 - delta / most, sides.reward), (delta / most, sides.loss)):
            theirs = ix_sums(log_target, log_propensity, rewards, 0.5 / m, groups)
            assert (mine.rate, mine.count) == pytest.approx((theirs.rate, theirs.count), rel=1e-12)
            assert mine.total == pytest.approx(theirs.total, rel=1e-12)
