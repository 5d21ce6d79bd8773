"""A world of few contexts and labels whose risk is known exactly, to try estimators and intervals on."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.labels import (
    Labels,
    all_actions,
    log_probability_of_all,
)
from multilogger.components.actions.space import ActionSpace
from multilogger.components.estimators.weights import log_mixture
from multilogger.components.evaluation.context_sums import Contexts, ScoredLog
from multilogger.components.evaluation.loss_models.cross_fitting import LogShape, ModelRows, draw_folds
from multilogger.components.evaluation.loss_models.registry import DrModel, new_loss_model
from multilogger.components.evaluation.max_weights import MaxWeights
from multilogger.components.evaluation.score_log import Scored

Kinds = NDArray[np.int64]

LABELS = 4
KINDS = 6  # kinds of context

# how strongly the policy and each logger lean to the right labels; below 0 is away from them
STRENGTHS = {"good": (1.2, (0.3, 1.0)), "poor": (2.0, (-1.0, -0.5)), "very poor": (2.0, (-2.0, -1.5))}


@dataclass(frozen=True)
class Met:
    """Contexts that were met: logits (m, size) of the policy and of each logger, and features (m, d)."""

    space: ActionSpace
    target: Matrix
    loggers: tuple[Matrix, ...]
    x: Matrix

    def draw(
        self,
        passes: tuple[int, ...],
        losses: Callable[[Contexts, Actions], Vector],
        max_loss: float,
        rng: np.random.Generator,
        dr_model: DrModel,
    ) -> Scored:
        """Every logger acts in every context, `passes` times each."""
        space, contexts = self.space, len(self.target)
        logger = np.repeat(np.arange(len(passes)), np.multiply(passes, contexts))
        context = np.concatenate([np.tile(np.arange(contexts), r) for r in passes])
        logits = np.stack(self.loggers)[logger, context]
        action = space.draw(logits, rng)
        delta = losses(context, action)
        table = np.stack([space.log_probability(each[context], action) for each in self.loggers], axis=1)
        target = self.target[context]
        log = ScoredLog(
            names=tuple(f"logger-{j + 1}" for j in range(len(passes))),
            logger=logger,
            context=context,
            delta=delta,
            log_propensity=table[np.arange(len(context)), logger],
            log_target=space.log_probability(target, action),
            max_loss=max_loss,
            log_average=log_mixture(table, np.bincount(logger).astype(np.float64)),
            is_greedy=space.same(space.greedy(target), action),
            log_greedy=space.log_probability(target, space.greedy(target)),
        )
        folds = draw_folds(contexts, rng)
        shape = LogShape(log.rows, space.size, max_loss, folds, log.loggers)
        model = new_loss_model(space, dr_model, shape, rng.spawn(1)[0])
        x = self.x[context].astype(np.float32)
        over = log.log_average
        log_weight = None if over is None else log.log_target - over
        rows = ModelRows(context, logger, target, action, delta, x, log_weight=log_weight)
        model.add(rows)
        model.fit()
        return Scored(log, model.predict(rows), contexts_known=True, fitted_rows=model.fitted_rows)


@dataclass(frozen=True)
class World:
    """Kinds of context of equal probability; logits (KINDS, LABELS) of the policy and of each logger.

    The loss is the Hamming distance to the kind's own labels, plus half for each pair of neighbouring labels
    that are both wrong (so it does not add up over labels), plus noise of one half either way.
    """

    target: Matrix
    loggers: tuple[Matrix, ...]
    truth: Actions

    @property
    def max_loss(self) -> float:
        return LABELS + 0.5 * (LABELS - 1) + 0.5

    def mean_loss(self, kind: Kinds, action: Actions) -> Vector:
        """E delta(x, y) for kinds (n,) and actions (n, LABELS): (n,)."""
        wrong = action != self.truth[kind]
        pairs = (wrong[:, 1:] & wrong[:, :-1]).sum(axis=1)
        return np.asarray(wrong.sum(axis=1) + 0.5 * pairs + 0.25, dtype=np.float64)

    @property
    def risk(self) -> float:
        """R(h) by a sum over all kinds and actions."""
        actions = all_actions(LABELS)
        chance = np.exp(log_probability_of_all(self.target))
        losses = [self.mean_loss(np.full(len(actions), kind), actions) for kind in range(KINDS)]
        return float((chance * np.stack(losses)).sum(axis=1).mean())

    def draw(
        self,
        contexts: int,
        passes: tuple[int, ...],
        rng: np.random.Generator,
        dr_model: DrModel = DrModel.RIDGE,
    ) -> Scored:
        """A log in which every logger meets the same contexts, `passes` times each.

        The features of a context are its kind, one column each.
        """
        kinds = rng.integers(0, KINDS, contexts)

        def losses(context: Contexts, action: Actions) -> Vector:
            return self.mean_loss(kinds[context], action) + 0.25 * rng.choice([-1.0, 1.0], len(context))

        met = Met(
            Labels(LABELS),
            self.target[kinds],
            tuple(each[kinds] for each in self.loggers),
            np.eye(KINDS)[kinds],
        )
        return met.draw(passes, losses, self.max_loss, rng, dr_model)

    def max_weights(self, counts: Vector) -> MaxWeights:
        """The largest h/h_j of each logger, and the largest h/h_avg."""
        target = log_probability_of_all(self.target)
        tables = np.stack([log_probability_of_all(each) for each in self.loggers], axis=-1)
        own = np.exp(target[..., None] - tables).max(axis=(0, 1))
        return MaxWeights(own, float(np.exp(target - log_mixture(tables, counts)).max()))


def make_world(overlap: str, seed: int = 7) -> World:
    """`good`: the policy is a mild step from its loggers; `poor`, `very poor`: it goes against them."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, (KINDS, LABELS), dtype=np.uint8)
    clear = np.linspace(0.3, 1.7, KINDS)[:, None]  # some kinds are easy, some hardly decided
    leaning = clear * (2.0 * truth - 1.0) + 0.3 * rng.normal(size=truth.shape)
    target, loggers = STRENGTHS[overlap]
    return World(
        target=target * leaning,
        loggers=tuple(strength * leaning for strength in loggers),
        truth=truth,
    )
