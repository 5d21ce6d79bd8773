"""The additive-loss network in the loss model of the doubly robust estimate, cross-fitted by context.

q(x, y) = c + sum_l [ a_l t_l + b_l y_l + d_l y_l t_l + e_l s_l + f_l y_l s_l ],  s_l = 2 p_l(x) - 1,

is the ridge of `loss_model.py` with terms of the additive network p beside those of the policy: the network
sees the features themselves, the ridge says how far to believe it, and lets the loss be of any height and
scale. It adds up over labels, so E_{y ~ h} q(x, y) is q at y = h's marginals.

A network is fitted without each pair of folds. Those without fold k and another one predict fold k, on
average; the ridge of fold k learns from rows of fold j by the network that has seen neither. So no part of
what predicts a row has seen its context, and the ridge is not misled by what a network knows by heart.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.labels import marginals
from multilogger.components.errors import BadInput
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.evaluation.loss_model import (
    Folds,
    ModelRows,
    label_terms,
    ridge_coefficients,
)
from multilogger.components.evaluation.row_sample import Block, RowSample, RowSampler
from multilogger.components.evaluation.skim_log import Advance
from multilogger.components.learners.loss_models.additive import AdditiveModel
from multilogger.components.learners.loss_models.additive_rows import AdditiveRows, GroupedRows
from multilogger.components.learners.loss_models.settings import AdditiveSettings
from multilogger.components.policies.policy import Standardisation

Pair = tuple[int, int]


class PairModel(AdditiveModel):
    """Member i is fitted without the i-th of `pairs`, and learns the loggers' noise from its own rows.

    `fold` (m,) is that of each context; `settings.folds` is the number of pairs.
    """

    def __init__(
        self,
        x: Tensor,
        rows: AdditiveRows,
        labels: int,
        settings: AdditiveSettings,
        generator: torch.Generator,
        fold: Tensor,
        pairs: Sequence[Pair],
    ) -> None:
        super().__init__(x, rows, labels, settings, generator, fold)
        self.pairs = pairs
        self._noises = [self.noise for _ in pairs]

    def seen_by(self, k: int) -> Tensor:
        fold = self.fold[self.rows.context]
        return (fold != self.pairs[k][0]) & (fold != self.pairs[k][1])

    def noise_for(self, k: int) -> Tensor:
        return self._noises[k]

    def estimate_noise(self) -> None:
        self._noises = [self.excess_noise(self.member(k), self.seen_by(k)) for k in range(len(self.members))]


# Fixed here: an estimate must not move when learning is tuned.
NETWORK = AdditiveSettings(
    hidden=(128,),
    batch_norm=False,
    standardise=True,
    risk_rate=1e-3,
    weight_decay=0.1,
    input_dropout=0.2,
    context_batch=128,
    working_noise=0.02,
    epochs=50,
    patience=50,
)
MOST_ROWS = 20_000  # fitted to; with a thousand features their contexts take 80 MB
MOST_STEPS = 3_000  # of all networks together: longer logs are passed fewer times, at least FEWEST_EPOCHS
FEWEST_EPOCHS = 10
FEWEST_FOLDS = 3  # or a network without two of them has seen nothing


@dataclass(frozen=True)
class LogShape:
    """What is known of a log before its actions are read; `folds` (contexts,) is the fold of each context."""

    rows: int
    labels: int
    max_loss: float
    folds: Folds


class AdditiveNetwork:
    """The model of a log of some shape, fitted to a bounded sample of its rows.

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
        self._pairs = list(combinations(range(int(shape.folds.max()) + 1), 2))
        self._sampler = RowSampler(shape.rows, len(shape.folds), MOST_ROWS, rng)

    @property
    def fitted_rows(self) -> int:
        return self._sampler.size

    def add(self, rows: ModelRows) -> None:
        """Keep the sampled ones of some rows."""
        self._sampler.add(rows)

    def fit(self) -> None:
        """Fit every network, then the ridge of every fold."""
        if len(self._pairs) < FEWEST_FOLDS:  # as many pairs as folds, if there are three
            raise BadInput(
                f"--dr-model additive needs {FEWEST_FOLDS} contexts or more, got {len(self._shape.folds)}; "
                "use --dr-model ridge"
            )
        if self._apart is not None:
            self._sampler.pick_features(self._apart())
        sample = self._sampler.take()
        self._standardisation = Standardisation.fit(sample.x)
        x = self._standardisation(sample.x)
        self._model = self._fitted_model(x, sample)
        self._coefficients = self._fitted_ridge(x, sample)
        if self._apart is not None:
            self._chances = self._tabulated(self._apart)

    def predict(self, rows: ModelRows) -> ModelledLoss:
        """q at the logged actions and under the policy, by what has not seen the row's fold."""
        fold = self._shape.folds[rows.context]
        if rows.x is None:
            p: Matrix = self._chances[rows.context].astype(np.float64)
        else:
            p = self._blind(self._standardisation(rows.x), fold)
        h, own = marginals(rows.logits), self._coefficients[fold]
        return ModelledLoss(
            q_logged=np.einsum("ij,ij->i", own, joint_terms(h, p, rows.action.astype(np.float64))),
            q_target=np.einsum("ij,ij->i", own, joint_terms(h, p, h)),
        )

    def _fitted_model(self, x: Tensor, sample: RowSample) -> PairModel:
        settings = replace(NETWORK, folds=len(self._pairs))
        steps = settings.folds * math.ceil(len(x) / settings.context_batch)
        epochs = max(FEWEST_EPOCHS, min(settings.epochs, MOST_STEPS // steps))
        settings = replace(settings, epochs=epochs)
        scaled = replace(sample, delta=sample.delta * self._shape.labels / self._shape.max_loss)
        fold = torch.from_numpy(self._shape.folds[sample.kept])
        model = PairModel(
            x, GroupedRows(scaled), self._shape.labels, settings, self._generator, fold, self._pairs
        )
        for _ in range(epochs):
            model.run_epoch()
            self._advance(1.0 / epochs)
        return model

    def _fitted_ridge(self, x: Tensor, sample: RowSample) -> Matrix:
        """The coefficients of each fold, from rows of all the others: (folds, 5q + 1)."""
        tables = {pair: self._chances_of(i, x) for i, pair in enumerate(self._pairs)}
        fold = self._shape.folds[sample.kept][sample.context]
        h, y = marginals(sample.logits), sample.action.astype(np.float64)
        found = []
        for k in range(int(self._shape.folds.max()) + 1):
            p = np.empty_like(h)
            for j in np.unique(fold[fold != k]):
                rows = fold == j
                p[rows] = tables[min(j, k), max(j, k)][sample.context[rows]]
            rows = fold != k
            terms = joint_terms(h[rows], p[rows], y[rows])
            found.append(ridge_coefficients(terms.T @ terms, terms.T @ sample.delta[rows]))
        return np.stack(found)

    def _chances_of(self, member: int, x: Tensor) -> Matrix:
        """p(x) of contexts (n, d) by one network: (n, q)."""
        return np.asarray(self._model.member_chances(self._model.members[member], x).double().numpy())

    def _blind(self, x: Tensor, fold: Folds) -> Matrix:
        """p(x) of contexts by the networks that have not seen their folds, averaged: (n, q)."""
        p = np.zeros((len(x), self._shape.labels))
        for k in np.unique(fold):
            rows = np.flatnonzero(fold == k)
            members = [i for i, pair in enumerate(self._pairs) if k in pair]
            p[rows] = np.mean([self._chances_of(i, x[rows]) for i in members], axis=0)
        return p

    def _tabulated(self, apart: Callable[[], Iterator[Block]]) -> NDArray[np.float32]:
        """p(x) of every context of the log: (contexts, q)."""
        table = np.empty((len(self._shape.folds), self._shape.labels), dtype=np.float32)
        for context, x in apart():
            here = context >= 0
            table[context[here]] = self._blind(
                self._standardisation(x[here]), self._shape.folds[context[here]]
            )
        return table


def joint_terms(h: Matrix, p: Matrix, y: Matrix) -> Matrix:
    """The terms of the policy's marginals h and of the network's p at y, all (n, q): (n, 5q + 1)."""
    s = 2.0 * p - 1.0
    return np.hstack([label_terms(h, y), s, y * s])
