"""One logger's policy from its rows: cross-fitted, penalised and calibrated by held-out log-likelihood."""

from dataclasses import dataclass, replace

import numpy as np

from multilogger.components.actions.arrays import Matrix
from multilogger.components.loggers.crf import fit_crf
from multilogger.components.loggers.linear import LinearPolicy
from multilogger.components.propensities.estimated_policy import EstimatedPolicy, chances, marginal_of
from multilogger.components.propensities.rows import ActedRows, Numbers
from multilogger.components.propensities.settings import PropensitySettings
from multilogger.components.propensities.trees import MOST_NUMBERS, grow_tree

FEWEST_ROWS = 20  # below it a logger's marginal distribution is all that is estimated


@dataclass(frozen=True)
class Model:
    """What is fitted: a regression with inverse penalty `C`, or a tree of at most so many `leaves`."""

    C: float = 1.0
    leaves: int | None = None

    def __str__(self) -> str:
        return f"regression, C={self.C:g}" if self.leaves is None else f"tree, {self.leaves} leaves"


@dataclass(frozen=True)
class CrossFitted:
    """The policies of one logger: `by_fold` saw none of their fold's rows, `whole` saw all of them.

    `model` says what they are; `fitted_rows` is how many rows `whole` was fitted to.
    """

    by_fold: tuple[EstimatedPolicy, ...]
    whole: EstimatedPolicy
    model: Model
    fitted_rows: int

    @property
    def temperature(self) -> float:
        return self.whole.linear.alpha

    @property
    def mixing(self) -> float:
        return self.whole.mixing


def cross_fit(
    rows: ActedRows, own: Numbers, fold: Numbers, settings: PropensitySettings, rng: np.random.Generator
) -> CrossFitted:
    """Fit one logger to its rows `own`, of which at most `settings.most_rows` are drawn.

    The model is the one that, fitted to the other folds, makes the first fold likeliest: one choice, which
    its rows have seen. Temperature and mixing of a fold's model are chosen on the other folds alone.
    """
    if len(own) > settings.most_rows:
        own = np.sort(rng.permutation(own)[: settings.most_rows])
    lots = [own[fold[own] == k] for k in range(settings.folds)]
    others = [own[fold[own] != k] for k in range(settings.folds)]
    settings = replace(settings, mixings=settings.shares(len(own)))
    candidates = {kind: _fit(rows, others[0], kind) for kind in _models(settings, len(own), rows.space.size)}
    tables = {kind: _likelihoods(rows, lots[0], model, settings) for kind, model in candidates.items()}
    best = max(candidates, key=lambda kind: tables[kind].max())
    models = [candidates[best], *(_fit(rows, kept, best) for kept in others[1:])]
    table = np.stack([
        tables[best],
        *(_likelihoods(rows, lot, model, settings) for lot, model in zip(lots[1:], models[1:], strict=True)),
    ])  # fmt: skip
    total = table.sum(axis=0)
    by_fold = tuple(_calibrated(m, total - table[k], settings) for k, m in enumerate(models))
    whole = _calibrated(_fit(rows, own, best), total, settings)
    return CrossFitted(by_fold, whole, best, len(own))


def without_extra(
    rows: ActedRows, fitted: CrossFitted, own: Numbers, settings: PropensitySettings, rng: np.random.Generator
) -> EstimatedPolicy:
    """The policy of contexts alone, where the estimates of rows have extra columns as well."""
    if rows.extra is None:
        return fitted.whole
    if len(own) > settings.most_rows:
        own = np.sort(rng.permutation(own)[: settings.most_rows])
    plain = _fit(replace(rows, extra=None), own, fitted.model)
    return plain.recalibrated(fitted.temperature, fitted.mixing)


def _models(settings: PropensitySettings, rows: int, size: int) -> list[Model]:
    """What to choose from for a logger of so many rows; of equally good ones the first is taken."""
    trees = settings.leaves if rows * size <= MOST_NUMBERS else ()
    return [*(Model(C=C) for C in settings.C), *(Model(leaves=most) for most in trees)]


def _fit(rows: ActedRows, kept: Numbers, kind: Model) -> EstimatedPolicy:
    """Neither sharpened nor mixed yet; with too few rows, the smoothed marginal distribution."""
    space, action = rows.space, rows.action[kept]
    marginal = marginal_of(action, space)
    if len(kept) < FEWEST_ROWS:
        width = int(rows.x.shape[1]) + (0 if rows.extra is None else rows.extra.shape[1])
        return EstimatedPolicy(LinearPolicy(np.zeros((space.size, width + 1))), 1.0, marginal, space)
    data = rows.labelled(kept)
    if kind.leaves is not None:
        splits, weights = grow_tree(data, marginal, kind.leaves)
        return EstimatedPolicy(LinearPolicy(weights), 0.0, marginal, space, splits)
    weights = fit_crf(data, kind.C, standardise=True, free_bias=True)
    return EstimatedPolicy(LinearPolicy(weights), 0.0, marginal, space)


def _likelihoods(
    rows: ActedRows, held_out: Numbers, model: EstimatedPolicy, settings: PropensitySettings
) -> Matrix:
    """The log-likelihood of held-out rows at every temperature and mixing: (temperatures, mixings)."""
    table = np.zeros((len(settings.temperatures), len(settings.mixings)))
    shares = np.array(settings.mixings)
    for block in rows.blocks(held_out, settings.block_rows):
        logits, action = model.raw_logits(rows.features(block)), rows.action[block]
        often = chances(np.broadcast_to(model.marginal, logits.shape), action, rows.space)[..., None]
        for place, temperature in enumerate(settings.temperatures):
            p = chances(rows.space.probabilities(temperature * logits), action, rows.space)[..., None]
            table[place] += np.log((1.0 - shares) * p + shares * often).sum(axis=(0, 1))
    return table


def _calibrated(model: EstimatedPolicy, table: Matrix, settings: PropensitySettings) -> EstimatedPolicy:
    """At the temperature and the mixing of the largest log-likelihood."""
    if model.mixing == 1.0:
        return model
    best = np.unravel_index(int(table.argmax()), table.shape)
    mixing = settings.mixings[best[1]]
    return model.recalibrated(settings.temperatures[best[0]] if mixing < 1.0 else 1.0, mixing)
