"""What held-out rows say of one logger's estimate: likelihood, calibration, and weights against the log."""

from dataclasses import dataclass, field

import numpy as np

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.estimators.weights import LARGEST_LOG
from multilogger.components.propensities.estimated_policy import chances

# Finer where probabilities are small: with many actions nearly all of them are.
BETS = (0.1, 0.3, 1.0)  # shares of a stake that is set on the estimate, against the log
EDGES = (0.0, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass
class Tally:
    """Sums over the held-out rows of one logger.

    Of each bin of predicted probability: `counts`, the sums `predicted` and `observed`. Of the rows whose
    propensity was logged, with w = estimate / logged: `weights` are the sums of w 1[y = a], `expected` those
    of the estimate of a, `squares` those of their squared difference, `binomial` the sums of h(1 - h). Place
    0 is all actions together; then each action, or each label as 1 and each as 0. `bets` (folds, bets) are
    the sums of log(1 + b (w - 1)), by fold.
    """

    space: ActionSpace
    folds: int
    rows: int = 0
    log_likelihood: float = 0.0
    marginal_log_likelihood: float = 0.0
    counts: Vector = field(default_factory=lambda: np.zeros(len(EDGES) - 1))
    predicted: Vector = field(default_factory=lambda: np.zeros(len(EDGES) - 1))
    observed: Vector = field(default_factory=lambda: np.zeros(len(EDGES) - 1))
    checked: int = 0
    weights: Vector = field(init=False)
    expected: Vector = field(init=False)
    squares: Vector = field(init=False)
    binomial: Vector = field(init=False)
    bets: Matrix = field(init=False)

    def __post_init__(self) -> None:
        places = 1 + self.space.size * (2 if self.space.action_shape else 1)
        self.weights, self.expected = np.zeros(places), np.zeros(places)
        self.squares, self.binomial = np.zeros(places), np.zeros(places)
        self.bets = np.zeros((self.folds, len(BETS)))

    def add(self, fold: int, p: Matrix, marginal: Vector, action: Actions, logged: Vector) -> None:
        """Rows of a fold with probabilities p (b, size) of the model that did not see it; `logged` or NaN."""
        estimate = np.log(chances(p, action, self.space)).sum(axis=1)
        often = chances(np.broadcast_to(marginal, p.shape), action, self.space)
        self.rows += len(p)
        self.log_likelihood += float(estimate.sum())
        self.marginal_log_likelihood += float(np.log(often).sum())
        place = np.clip(np.searchsorted(EDGES, p.ravel(), side="right") - 1, 0, len(EDGES) - 2)
        hits = self._hits(action)
        bins = len(EDGES) - 1
        self.counts += np.bincount(place, minlength=bins)
        self.predicted += np.bincount(place, p.ravel(), minlength=bins)
        self.observed += np.bincount(place, hits.ravel().astype(np.float64), minlength=bins)
        if len(known := np.flatnonzero(~np.isnan(logged))):
            w = np.exp(np.minimum(estimate[known] - logged[known], LARGEST_LOG))
            self._weigh(p[known], hits[known], w)
            with np.errstate(divide="ignore"):
                gain = np.log1p(np.array(BETS) * (w[:, None] - 1.0))
            self.bets[fold] += np.maximum(gain, -LARGEST_LOG).sum(axis=0)

    def _hits(self, action: Actions) -> Matrix:
        """1 where an action was taken, or a label was 1: (b, size)."""
        if self.space.action_shape:
            return action.astype(np.float64)
        return np.asarray(action[:, None] == np.arange(self.space.size), dtype=np.float64)

    def _weigh(self, p: Matrix, hits: Matrix, w: Vector) -> None:
        if self.space.action_shape:
            p, hits = np.hstack([p, 1.0 - p]), np.hstack([hits, 1.0 - hits])
        ones = np.ones((len(p), 1))
        p, hits = np.hstack([ones, p]), np.hstack([ones, hits])
        off = w[:, None] * hits - p
        self.checked += len(p)
        self.weights += w @ hits
        self.expected += p.sum(axis=0)
        self.squares += (off * off).sum(axis=0)
        self.binomial += (p * (1.0 - p)).sum(axis=0)
