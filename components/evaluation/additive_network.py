"""The additive-loss network as the loss model of the doubly robust estimate, cross-fitted by context.

q(x, y) = c + s ( |y| + z'p(x) ),  z_l = 1 - 2 y_l,

p(x) the network of `additive_model.py`, which unlike the ridge sees the features themselves. c and s, one
pair a fold, let the loss be of another height and scale than a count of wrong labels. It adds up over labels,
so E_{y ~ h} q(x, y) is exact. It is fitted to a bounded sample of rows, so that no log is held in memory.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multilogger.components.doubly_robust import ModelledLoss
from multilogger.components.evaluation.loss_model import Folds, ModelRows
from multilogger.components.evaluation.scored_log import Contexts
from multilogger.components.evaluation.skim_log import Advance
from multilogger.components.learners.additive_model import (
    AdditiveModel,
    additive_loss,
    blind_probabilities,
    expected_additive_loss,
)
from multilogger.components.learners.learned_policy import Standardisation
from multilogger.components.learners.presets import ADDITIVE
from multilogger.components.logged_batch import Loggers
from multilogger.components.policies import Actions, Matrix, Vector, marginals

MOST_ROWS = 20_000  # fitted to; with a thousand features their contexts take 80 MB
MOST_STEPS = 10_000  # of all members together: longer logs are passed fewer times, at least FEWEST_EPOCHS
FEWEST_EPOCHS = 10

Block = tuple[Contexts, NDArray[np.float32]]  # numbers of contexts (b,), -1 if not in the log, and x (b, d)


@dataclass(frozen=True)
class LogShape:
    """What is known of a log before its actions are read; `folds` (contexts,) is the fold of each context."""

    rows: int
    labels: int
    max_loss: float
    folds: Folds


class AdditiveNetwork:
    """One network a fold, fitted to the sampled rows of all other folds.

    `apart` gives the features of all contexts block by block where they do not stand in the rows. `advance`
    is told of the share of the fit that was done.
    """

    def __init__(
        self,
        shape: LogShape,
        rng: np.random.Generator,
        apart: Callable[[], Iterator[Block]] | None = None,
        advance: Advance = lambda _: None,
    ) -> None:
        self._shape, self._apart, self._advance = shape, apart, advance
        self._generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
        self.fitted_rows = min(shape.rows, MOST_ROWS)
        self._sampled = np.zeros(shape.rows, dtype=np.bool_)
        self._sampled[rng.permutation(shape.rows)[: self.fitted_rows]] = True
        self._seen = 0
        self._parts: list[ModelRows] = []
        self._x: list[NDArray[np.float32]] = []
        self._known = np.full(len(shape.folds), -1)  # where the features of a context stand in _x
        self._scale = shape.max_loss / shape.labels

    def add(self, rows: ModelRows) -> None:
        """Keep the sampled ones of some rows."""
        here = self._sampled[self._seen : self._seen + len(rows.delta)]
        self._seen += len(rows.delta)
        kept = ModelRows(
            rows.context[here], rows.logger[here], rows.logits[:0], rows.action[here], rows.delta[here]
        )
        self._parts.append(kept)
        if rows.x is not None:
            self._keep_features(kept.context, rows.x[here])

    def fit(self) -> None:
        """Fit every member, then its height and scale, to the rows of contexts outside of its fold."""
        if self._apart is not None:
            self._pick_features(self._apart)
        sample = _Sample.of(self._parts, self._known, self._scale)
        x = np.concatenate(self._x)
        self._parts, self._x = [], []
        self._standardisation = Standardisation.fit(x)
        fold = self._shape.folds[np.flatnonzero(self._known >= 0)]
        fold = fold[np.argsort(self._known[self._known >= 0])]
        settings = replace(ADDITIVE, folds=int(self._shape.folds.max()) + 1)
        steps = settings.folds * math.ceil(len(x) / settings.context_batch)
        epochs = max(FEWEST_EPOCHS, min(settings.epochs, MOST_STEPS // steps))
        model = _BlindModel(
            self._standardisation(x),
            sample,
            self._shape.labels,
            replace(settings, epochs=epochs),
            self._generator,
            torch.from_numpy(fold),
        )
        for _ in range(epochs):
            model.run_epoch()
            self._advance(1.0 / epochs)
        self._members = model.members
        self._calibration = np.stack(
            [_calibrated(model, k, sample, fold[sample.context] != k) for k in range(settings.folds)]
        )
        if self._apart is not None:
            self._chances = self._tabulated(self._apart)

    def predict(self, rows: ModelRows) -> ModelledLoss:
        """q at the logged actions and under the policy, by the member that has not seen the row's fold."""
        fold = self._shape.folds[rows.context]
        p = self._blind(rows.x, fold) if rows.x is not None else self._chances[rows.context]
        c, s = self._scale * self._calibration[fold].T
        return ModelledLoss(
            q_logged=c + s * additive_loss(p, rows.action),
            q_target=c + s * expected_additive_loss(p, marginals(rows.logits)),
        )

    def _keep_features(self, context: Contexts, x: NDArray[np.float32]) -> None:
        """Features of contexts that are not known yet, once each."""
        new, first = np.unique(context, return_index=True)
        first, new = first[self._known[new] < 0], new[self._known[new] < 0]
        self._known[new] = np.arange(len(new)) + sum(len(block) for block in self._x)
        self._x.append(x[first])

    def _pick_features(self, apart: Callable[[], Iterator[Block]]) -> None:
        """Features of the sampled rows' contexts."""
        wanted = np.zeros(len(self._known) + 1, dtype=np.bool_)  # the last is for -1, not in the log
        for part in self._parts:
            wanted[part.context] = True
        for context, x in apart():
            here = wanted[context]
            self._keep_features(context[here], x[here])

    def _tabulated(self, apart: Callable[[], Iterator[Block]]) -> NDArray[np.float32]:
        """p(x) of every context of the log: (contexts, q)."""
        table = np.empty((len(self._known), self._shape.labels), dtype=np.float32)
        for context, x in apart():
            here = context >= 0
            table[context[here]] = self._blind(x[here], self._shape.folds[context[here]])
        return table

    def _blind(self, x: NDArray[np.float32], fold: Folds) -> Matrix:
        return blind_probabilities(self._members, self._standardisation(x), torch.from_numpy(fold))


class _BlindModel(AdditiveModel):
    """A member learns the loggers' noise from its own rows too, so that nothing of its fold gets to it."""

    _noises: list[Tensor] | None = None

    def noise_for(self, k: int) -> Tensor:
        return self.noise if self._noises is None else self._noises[k]

    def estimate_noise(self) -> None:
        here = self.rows.present > 0
        blind = [here & (self.fold[self.rows.context] != k)[:, None] for k in range(len(self.members))]
        self._noises = [self.excess_noise(self.member(k), among) for k, among in enumerate(blind)]


@dataclass(frozen=True)
class _Sample:
    """The sampled rows, contexts and loggers numbered without gaps, losses as if they counted labels."""

    context: Contexts
    action: Actions
    delta: Vector
    logger: Loggers
    counts: Vector

    @classmethod
    def of(cls, parts: list[ModelRows], known: Contexts, scale: float) -> "_Sample":
        _, logger = np.unique(np.concatenate([part.logger for part in parts]), return_inverse=True)
        return cls(
            context=known[np.concatenate([part.context for part in parts])],
            action=np.concatenate([part.action for part in parts]),
            delta=np.concatenate([part.delta for part in parts]) / scale,
            logger=logger,
            counts=np.bincount(logger).astype(np.float64),
        )


def _calibrated(model: AdditiveModel, k: int, sample: _Sample, seen: NDArray[np.bool_]) -> Vector:
    """c and s of member k by least squares on the rows that it has seen: (2,)."""
    p = model.member(k).double().numpy()
    modelled = additive_loss(p[sample.context[seen]], sample.action[seen])
    terms = np.stack([np.ones(len(modelled)), modelled], axis=1)
    return np.asarray(np.linalg.lstsq(terms, sample.delta[seen], rcond=None)[0])
