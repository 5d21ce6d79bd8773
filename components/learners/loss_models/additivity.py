"""A test of the additive loss model: do pairs of labels explain what it leaves unexplained?

If delta(x, y) = a(x) + sum_l b_l(x) y_l + noise, then whatever a, b and the fitted p are, the residual
r = delta - q(x, y) is a sum over labels too, plus noise. Pair scores of the loggers' draws
(`policies.pair_scores`) are uncorrelated with any such sum: their correlation with r is zero under
additivity, even where p is wrong or the true labels are no function of x.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.labels import marginals, pair_scores
from multilogger.components.datasets.labelled_data import Features, LabelledData
from multilogger.components.learners.loss_models.form import AdditiveForm, additive_loss
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.memory import SideRows, TrainingLog
from multilogger.components.log.reading import thin_log
from multilogger.components.loggers.crf import fit_crf
from multilogger.components.loggers.linear import LinearPolicy

BLOCK_ROWS = 4096
MOST_PAIRS = 300  # of labels; with more than 25 labels a random choice of them
MOST_FITTED_ROWS = 50_000  # a direction needs no more
FORM = AdditiveForm()
SMALLEST_SCALE = 1e-6  # below it a pair never varies in the log
REJECT_BELOW = 0.01
CONFIRM_BELOW = 0.005  # of a second look
PARTS = 4  # of the contexts in a second look
TESTED_ROWS = 200_000  # of a log on disk
TESTED_NUMBERS = 20_000_000  # the labels of those rows
PROPENSITY_ROWS = 5_000  # for the logistic regressions that stand in for unknown loggers
PROPENSITY_C = 0.1


@dataclass(frozen=True)
class AdditivityTest:
    """`p_value`: one-sided, small when pairs of labels matter. `gain`: the share of the squared error on
    validation rows that a correction by pairs, fitted on training rows, takes away; negative if it adds.
    """

    p_value: float
    gain: float
    statistic: float
    pairs: int
    rows: int

    @property
    def rejected(self) -> bool:
        return self.p_value < REJECT_BELOW


def additivity_test(log: TrainingLog, p: Matrix, seed: int = 0) -> AdditivityTest:
    """Test the additive model p (m, q), which must not have been fitted on validation rows.

    A ridge regression of training residuals on the pairs, alone and times (1 - 2 p_l)(1 - 2 p_m), gives one
    direction S(x, y). On validation rows sum_i u_i / sqrt(sum_i u_i^2), u = r S / s2_j, is then nearly
    standard normal under additivity: given the contexts, rows are independent and u has mean zero.
    """
    chances = logging_marginals(log)
    pairs = choose_pairs(log.space.size, np.random.default_rng(seed))
    train, validation = log.part(validation=False), log.part(validation=True)
    if len(train.delta) > MOST_FITTED_ROWS:
        train_rows = np.random.default_rng(seed).permutation(len(train.delta))[:MOST_FITTED_ROWS]
    else:
        train_rows = np.arange(len(train.delta))
    precision = _precisions(train, p, np.arange(len(train.delta)))
    direction = _fit_direction(train, train_rows, p, chances, pairs, precision)
    terms, before, after = [], 0.0, 0.0
    for block in _blocks(validation, np.arange(len(validation.delta)), p, chances, pairs):
        weight, correction = precision[block.logger], block.features @ direction
        terms.append(weight * block.residual * correction)
        before += float(weight @ np.square(block.residual))
        after += float(weight @ np.square(block.residual - correction))
    u = np.concatenate(terms)
    scale = math.sqrt(float(u @ u))
    statistic = float(u.sum()) / scale if scale > 0 else 0.0
    return AdditivityTest(
        p_value=float(stdtr(max(len(u) - 1, 1), -statistic)) if scale > 0 else 1.0,
        gain=1.0 - after / before if before > 0 else 0.0,
        statistic=statistic,
        pairs=len(pairs),
        rows=len(u),
    )


def second_look(log: TrainingLog, p: Matrix, seed: int = 0) -> float:
    """The p-value of a test that looks at three quarters of all rows, for where the first one rejects.

    Contexts are in four parts, drawn at random; rows of each part but the first are met by the direction that
    the parts before it give. Under additivity the terms are a martingale, so that their sum is as nearly
    normal as in the first test, and pairs that matter show in three times as many of them: it may ask for one
    in two hundred where the first asks for one in a hundred, and sees as much. p (m, q) must not have been
    fitted to the rows of a context, at that context.
    """
    chances = logging_marginals(log)
    rng = np.random.default_rng(seed)
    pairs = choose_pairs(log.space.size, rng)
    rows = log.rows_of(True)
    part = (rng.permutation(log.contexts) % PARTS)[rows.context]
    taken = rng.permutation(len(rows.delta))[:MOST_FITTED_ROWS]
    terms = []
    for k in range(1, PARTS):
        before, now = np.sort(taken[part[taken] < k]), np.sort(taken[part[taken] == k])
        precision = _precisions(rows, p, before)
        direction = _fit_direction(rows, before, p, chances, pairs, precision)
        for block in _blocks(rows, now, p, chances, pairs):
            terms.append(precision[block.logger] * block.residual * (block.features @ direction))
    u = np.concatenate(terms)
    scale = math.sqrt(float(u @ u))
    return float(stdtr(max(len(u) - 1, 1), -float(u.sum()) / scale)) if scale > 0 else 1.0


def tested_twice(log: LearnerLog, p: Matrix) -> tuple[AdditivityTest, bool]:
    """The test, and whether the loss may be taken to add up over labels, as far as the log tells.

    A rejection costs nearly all evidence, so that a second look at more rows has to confirm it.
    """
    held = log
    if isinstance(held, StreamedLog):
        held = thin_log(held, min(TESTED_ROWS, TESTED_NUMBERS // held.space.size, held.rows))
    test = additivity_test(held, p)
    return test, not (test.rejected and second_look(held, p) < CONFIRM_BELOW)


def logging_marginals(log: TrainingLog) -> list[Matrix]:
    """pi_l(x) of every logger on all contexts, from its logits or else from its actions: (m, q) each."""
    if log.logger_logits:
        return [marginals(logits) for logits in log.logger_logits]
    return [marginals(_imitate(log, j).logits(log.x)) for j in range(log.loggers)]


def _imitate(log: TrainingLog, logger: int) -> LinearPolicy:
    """A linear policy that takes the training actions of a logger."""
    rows = np.flatnonzero((log.logger == logger) & ~log.validation)
    rows = rows[:: max(1, len(rows) // PROPENSITY_ROWS)]
    x: Features = log.x[log.context[rows]]
    return LinearPolicy(fit_crf(LabelledData(x, log.action[rows], log.space), PROPENSITY_C))


@dataclass(frozen=True)
class _Block:
    features: Matrix
    residual: Vector
    logger: NDArray[np.int64]


def _blocks(
    part: SideRows, rows: NDArray[np.intp], p: Matrix, chances: list[Matrix], pairs: NDArray[np.intp]
) -> Iterator[_Block]:
    """Features (b, 2P) and residuals (b,) of the given rows, some at a time."""
    table = np.stack(chances)
    for start in range(0, len(rows), BLOCK_ROWS):
        here = rows[start : start + BLOCK_ROWS]
        context, logger, y = part.context[here], part.logger[here], part.action[here]
        side = 1.0 - 2.0 * p[context]
        plain = pair_scores(table[logger, context], y, pairs)
        sided = plain * side[:, pairs[:, 0]] * side[:, pairs[:, 1]]
        residual = part.delta[here] - additive_loss(p[context], y)
        yield _Block(np.concatenate([plain, sided], axis=1), residual, logger)


def _fit_direction(
    part: SideRows,
    rows: NDArray[np.intp],
    p: Matrix,
    chances: list[Matrix],
    pairs: NDArray[np.intp],
    precision: Vector,
) -> Vector:
    """Coefficients (2P,) of a ridge regression of residuals on features, rows weighted by logger."""
    count = 2 * len(pairs)
    gram, moment = np.zeros((count, count)), np.zeros(count)
    for block in _blocks(part, rows, p, chances, pairs):
        weighted = block.features * precision[block.logger][:, None]
        gram += block.features.T @ weighted
        moment += weighted.T @ block.residual
    scale = np.sqrt(np.diag(gram) / max(len(rows), 1))
    used = scale > SMALLEST_SCALE
    direction = np.zeros(count)
    if used.any():
        # One unit of ridge a feature, on features of unit size: about the noise that each one adds.
        unit = gram[np.ix_(used, used)] / np.outer(scale[used], scale[used])
        ridge = unit + used.sum() * np.eye(int(used.sum()))
        direction[used] = np.linalg.solve(ridge, moment[used] / scale[used]) / scale[used]
    return direction


def _precisions(part: SideRows, p: Matrix, rows: NDArray[np.intp]) -> Vector:
    """1 / mean squared residual of the given rows of each logger: (J,)."""
    residual = part.delta[rows] - FORM.logged(p, part.context[rows], part.action[rows])
    loggers = len(part.counts)
    squares = np.bincount(part.logger[rows], np.square(residual), minlength=loggers)
    means = squares / np.maximum(np.bincount(part.logger[rows], minlength=loggers), 1)
    return 1.0 / np.maximum(means, np.finfo(np.float64).tiny ** 0.5)


def choose_pairs(labels: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Pairs l < m of labels: (P, 2)."""
    pairs = np.stack(np.triu_indices(labels, 1), axis=1)
    if len(pairs) <= MOST_PAIRS:
        return pairs
    return pairs[np.sort(rng.permutation(len(pairs))[:MOST_PAIRS])]
