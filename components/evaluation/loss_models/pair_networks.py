"""Networks in the loss model of the doubly robust estimate, cross-fitted by pairs of folds.

A network is fitted without each pair of folds. Those without fold k and another one predict fold k, on
average; a ridge combines them with the policy's own probabilities, and that of fold k learns from rows of
fold j by the network that has seen neither. So no part of what predicts a row has seen its context, and the
ridge is not misled by what a network knows by heart. They are fitted to a bounded sample of the log's rows.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.evaluation.loss_models.cross_fitting import (
    Apart,
    Block,
    Folds,
    LogShape,
    ModelRows,
)
from multilogger.components.learners.loss_models.ensemble import LossEnsemble
from multilogger.components.learners.loss_models.settings import LossModelSettings
from multilogger.components.policies.policy import Standardisation

MOST_ROWS = 20_000  # fitted to; with a thousand features their contexts take 80 MB
MOST_STEPS = 3_000  # of all networks together: longer logs are passed fewer times, at least FEWEST_EPOCHS
FEWEST_EPOCHS = 10
FEWEST_FOLDS = 3  # or a network without two of them has seen nothing
# Fixed here: an estimate must not move when learning is tuned.
FIT = LossModelSettings(
    hidden=(128,),
    batch_norm=False,
    standardise=True,
    risk_rate=1e-3,
    weight_decay=0.1,
    input_dropout=0.2,
    context_batch=128,
    epochs=50,
    patience=50,
)

Contexts = NDArray[np.int64]
Pair = tuple[int, int]
Settings = TypeVar("Settings", bound=LossModelSettings)


@dataclass(frozen=True)
class RowSample:
    """Rows with their contexts by place, and loggers numbered without gaps.

    Each of p contexts has one place: its number in the log in `kept` (p,), its features in `x` (p, d).
    """

    kept: Contexts
    x: NDArray[np.float32]
    context: Contexts
    logits: Matrix
    action: Actions
    delta: Vector
    logger: Loggers
    counts: Vector


class RowSampler:
    """Draws which rows to keep beforehand, then takes them as the log passes by."""

    def __init__(self, rows: int, contexts: int, most: int, rng: np.random.Generator) -> None:
        self.size = min(rows, most)
        self._sampled = np.zeros(rows, dtype=np.bool_)
        self._sampled[rng.permutation(rows)[: self.size]] = True
        self._seen = 0
        self._parts: list[ModelRows] = []
        self._x: list[NDArray[np.float32]] = []
        self._place = np.full(contexts, -1)  # where the features of a context stand in _x

    def add(self, rows: ModelRows) -> None:
        """Keep the sampled ones of some rows, and their features where they come along."""
        here = self._sampled[self._seen : self._seen + len(rows.delta)]
        self._seen += len(rows.delta)
        self._parts.append(
            ModelRows(
                rows.context[here], rows.logger[here], rows.logits[here], rows.action[here], rows.delta[here]
            )
        )
        if rows.x is not None:
            self._keep_features(rows.context[here], rows.x[here])

    def pick_features(self, blocks: Iterable[Block]) -> None:
        """Keep the features of the sampled rows' contexts, where they stand apart from the rows."""
        wanted = np.zeros(len(self._place) + 1, dtype=np.bool_)  # the last is for -1, not in the log
        for part in self._parts:
            wanted[part.context] = True
        for context, x in blocks:
            here = wanted[context]
            self._keep_features(context[here], x[here])

    def take(self) -> RowSample:
        """Hand over what was kept, and hold it no longer."""
        parts, x, known = self._parts, self._x, np.flatnonzero(self._place >= 0)
        self._parts, self._x = [], []
        _, logger = np.unique(np.concatenate([part.logger for part in parts]), return_inverse=True)
        return RowSample(
            kept=known[np.argsort(self._place[known])],
            x=np.concatenate(x),
            context=self._place[np.concatenate([part.context for part in parts])],
            logits=np.concatenate([part.logits for part in parts]),
            action=np.concatenate([part.action for part in parts]),
            delta=np.concatenate([part.delta for part in parts]),
            logger=logger,
            counts=np.bincount(logger).astype(np.float64),
        )

    def _keep_features(self, context: Contexts, x: NDArray[np.float32]) -> None:
        """Features of contexts that are not known yet, once each."""
        new, first = np.unique(context, return_index=True)
        first, new = first[self._place[new] < 0], new[self._place[new] < 0]
        self._place[new] = np.arange(len(new)) + sum(len(block) for block in self._x)
        self._x.append(x[first])


class BlindToPairs(LossEnsemble):
    """Member i is fitted without the pair `blind[i]` of folds; `settings.folds` is the number of pairs."""

    blind: Sequence[Pair]

    def seen_by(self, k: int) -> Tensor:
        fold, (one, other) = self.fold[self.context], self.blind[k]
        return (fold != one) & (fold != other)


class PairNetworks(ABC, Generic[Settings]):
    """The model of a log of some shape, fitted to a bounded sample of its rows.

    `apart` gives the features of all contexts block by block where they do not stand in the rows. `advance`
    is told of the share of the fit that was done.
    """

    settings: Settings

    def __init__(
        self,
        shape: LogShape,
        rng: np.random.Generator,
        apart: Apart | None = None,
        advance: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._shape, self._apart, self._advance = shape, apart, advance
        self._generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
        self._pairs = list(combinations(range(int(shape.folds.max()) + 1), 2))
        self._sampler = RowSampler(shape.rows, len(shape.folds), MOST_ROWS, rng)

    @abstractmethod
    def _open(self, x: Tensor, sample: RowSample, fold: Tensor, settings: Settings) -> BlindToPairs:
        """The networks, one per pair, still to be fitted to the rows of a sample."""

    @abstractmethod
    def _fitted_ridge(self, x: Tensor, sample: RowSample) -> NDArray[np.float64]:
        """What combines them with the policy, for each fold from rows of all the others: (folds, ...)."""

    @abstractmethod
    def predict(self, rows: ModelRows) -> ModelledLoss:
        """q at the logged actions and under the policy, by what has not seen the row's fold."""

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
                f"a network as the loss model of dr needs {FEWEST_FOLDS} contexts or more, got "
                f"{len(self._shape.folds)}; use --dr-model ridge"
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

    def _fitted_model(self, x: Tensor, sample: RowSample) -> BlindToPairs:
        settings = replace(self.settings, folds=len(self._pairs))
        steps = settings.folds * math.ceil(len(x) / settings.context_batch)
        epochs = max(FEWEST_EPOCHS, min(settings.epochs, MOST_STEPS // steps))
        fold = torch.from_numpy(self._shape.folds[sample.kept])
        model = self._open(x, sample, fold, replace(settings, epochs=epochs))
        model.blind = self._pairs
        for _ in range(epochs):
            model.run_epoch()
            self._advance(1.0 / epochs)
        return model

    def chances(self, rows: ModelRows) -> Matrix:
        """p(x) of rows by the networks that have not seen their folds: (m, size)."""
        if rows.x is None:
            return self._chances[rows.context].astype(np.float64)
        return self._blind(self._standardisation(rows.x), self._shape.folds[rows.context])

    def _chances_of(self, member: int, x: Tensor) -> Matrix:
        """p(x) of contexts (n, d) by one network: (n, size)."""
        return np.asarray(self._model.member_chances(self._model.members[member], x).double().numpy())

    def _blind(self, x: Tensor, fold: Folds) -> Matrix:
        """p(x) of contexts by the networks that have not seen their folds, averaged: (n, size)."""
        p = np.zeros((len(x), self._shape.size))
        for k in np.unique(fold):
            rows = np.flatnonzero(fold == k)
            members = [i for i, pair in enumerate(self._pairs) if k in pair]
            p[rows] = np.mean([self._chances_of(i, x[rows]) for i in members], axis=0)
        return p

    def _tabulated(self, apart: Apart) -> NDArray[np.float32]:
        """p(x) of every context of the log: (contexts, size)."""
        table = np.empty((len(self._shape.folds), self._shape.size), dtype=np.float32)
        for context, x in apart():
            here = context >= 0
            table[context[here]] = self._blind(
                self._standardisation(x[here]), self._shape.folds[context[here]]
            )
        return table

    def _pair_of(self, one: int, other: int) -> int:
        """The number of the network that has seen neither of two folds."""
        return self._pairs.index((min(one, other), max(one, other)))
