"""Loggers whose propensities are known, and the rows that they log."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace, find_space
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.propensities.complete import CompletedPropensities, complete_propensities
from multilogger.components.propensities.rows import Numbers
from multilogger.components.propensities.settings import USUAL, PropensitySettings

Logits = Callable[[Matrix], Matrix]


@dataclass(frozen=True)
class Simulated:
    """Rows of J loggers and the truth of them: `table` (n, J) holds log h_k(y|x)."""

    x: Features
    context: Numbers
    action: Actions
    logger: Numbers
    table: Matrix
    space: ActionSpace

    @property
    def own(self) -> Vector:
        return self.table[np.arange(len(self.logger)), self.logger]

    @property
    def nothing(self) -> Vector:
        return np.full(len(self.logger), np.nan)

    def complete(
        self,
        own: Vector | None = None,
        table: Matrix | None = None,
        settings: PropensitySettings = USUAL,
        extra: Matrix | None = None,
    ) -> CompletedPropensities:
        names = [f"logger-{j + 1}" for j in range(self.table.shape[1])]
        return complete_propensities(
            self.x, self.context, self.action, self.logger, self.nothing if own is None else own, table,
            self.space, names, seed=0, settings=settings, extra=extra,
        )  # fmt: skip


def simulate(
    loggers: list[Logits], contexts: int, seed: int, kind: str = "one-of", size: int = 5
) -> Simulated:
    """Every logger acts once in every context, of 4 normal features."""
    rng, space = np.random.default_rng(seed), find_space(kind, size)
    x = rng.standard_normal((contexts, 4)).astype(np.float32)
    logits = [one(x.astype(np.float64)) for one in loggers]
    action = np.concatenate([space.draw(z, rng) for z in logits])
    table = np.stack([space.log_probability(np.tile(z, (len(loggers), 1)), action) for z in logits], axis=1)
    context = np.tile(np.arange(contexts), len(loggers))
    return Simulated(x, context, action, np.repeat(np.arange(len(loggers)), contexts), table, space)


def softmax_logger(seed: int, size: int = 5, scale: float = 0.7) -> Logits:
    """Linear in the context."""
    weights = scale * np.random.default_rng([seed, 1]).standard_normal((5, size))
    return lambda x: np.asarray(np.hstack([x, np.ones((len(x), 1))]) @ weights)


def uniform(size: int = 5) -> Logits:
    return lambda x: np.zeros((len(x), size))


def context_free(size: int = 5) -> Logits:
    """Like a Thompson sampler's: some actions often, others rarely, whatever the context is."""
    return lambda x: np.tile(np.linspace(0.0, 3.0, size), (len(x), 1))


def greedy_tree(size: int = 5, epsilon: float = 0.2) -> Logits:
    """The leaf of two thresholds says the action; the others share epsilon."""

    def logits(x: Matrix) -> Matrix:
        leaf = (x[:, 0] > 0) + 2 * (x[:, 1] > 0.3)
        p = np.full((len(x), size), epsilon / size)
        p[np.arange(len(x)), leaf % size] += 1.0 - epsilon
        return np.asarray(np.log(p))

    return logits
