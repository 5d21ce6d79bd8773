"""What policies are worth on contexts that they have not seen, by sums over rows, the same rows for all.

Two estimates of each policy h, as sums by context. With rewards r = 1 - delta/L and w = h/h_avg,

V_h = sum_i w_i r_i,  which assumes nothing of the loss, and

D_h = sum_i [ E_{y ~ h} q(x_i, y) + W_i (delta_i - q(x_i, y_i)) ],

doubly robust, with q the loss model of the fold that the context is not in. For one of K actions, and for
label vectors whose loss does not add up, W = w. For other label vectors W = 1 + sum_l k_l (y_l - p_jl),
k_l = (h_l - sum_j s_j p_jl) / v_l with the variance v_l = sum_j s_j p_jl (1 - p_jl), additive weights as in
`estimators/additive_weights.py`. A logger whose policy is not known is worth what its own rows say, each
counted n/n_j times. So is V of one whose policy is an estimate: what it makes of the logged propensities has
no bound, and no mean of 1.

Where no logger does what a policy does, weights say nothing and the model is alone: v_l is taken as 0.005 at
least, and w as 100 at most. The worst that the model may then be off by is kept apart, as `untold`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.estimators.weights import importance_weights
from multilogger.components.learners.judging.own_rows import own_sums
from multilogger.components.learners.judging.weighers import (
    ChoiceWeigher,
    LabelWeigher,
    Table,
    VectorWeigher,
    Weigher,
)
from multilogger.components.learners.loss_models.form import FoldedModel
from multilogger.components.log.disk import LearnerLog, PolicyTable
from multilogger.components.log.lots import lots

MOST_WEIGHT = 1e9  # a cut of weights lowers V of a policy, and so claims less of it
SAME = 1e-3  # of log propensities: what is logged and what the policy of a logger says


@dataclass
class Sums:
    """Of one policy by context: V (m,) and D (m,), and what E_{y ~ h} q is there (m,), NaN if not known.

    `mass` and `squares` (m,) are sum_i w_i and sum_i w_i^2.
    """

    reward: Vector
    loss: Vector
    modelled: Vector
    mass: Vector
    squares: Vector

    def add(self, context: NDArray[np.int64], weights: Vector, rewards: Vector, losses: Vector) -> None:
        """Some rows: their weights w, their rewards before and their losses after weighing, (n,) each."""
        for total, values in (
            (self.reward, weights * rewards),
            (self.loss, losses),
            (self.mass, weights),
            (self.squares, weights * weights),
        ):
            total += np.bincount(context, values, minlength=len(total))

    @property
    def effective_rows(self) -> float:
        """Kish's count, but no more than the sum of weights: of weights all next to nothing his is high."""
        mass, squares = float(self.mass.sum()), float(self.squares.sum())
        return min(mass**2 / squares, mass) if squares > 0 else 0.0


@dataclass(frozen=True)
class Judged:
    """Candidates and loggers on the same rows.

    `rows` (m,) are those of each context. `own_losses` (J, m) are the losses of each logger's own rows, each
    counted n/n_j times. `largest` (J, m) is what V of a logger is at most. `spread` (C, J, m) is
    E[(W_h - W_j)^2] of each candidate against each logger in closed form, and `untold` (C, J, m) what the
    difference of both may be off by; NaN if they are not known. `noise` is the mean squared residual of the
    loss model.
    """

    candidates: tuple[Sums, ...]
    loggers: tuple[Sums, ...]
    rows: Vector
    own_losses: Matrix
    largest: Matrix
    spread: Table
    untold: Table
    noise: float
    max_loss: float

    def at(self, contexts: NDArray[np.bool_]) -> "Judged":
        """The same on the rows of some contexts (m,) alone."""

        def of(sums: Sums) -> Sums:
            return Sums(
                reward=np.where(contexts, sums.reward, 0.0),
                loss=np.where(contexts, sums.loss, 0.0),
                modelled=sums.modelled,
                mass=np.where(contexts, sums.mass, 0.0),
                squares=np.where(contexts, sums.squares, 0.0),
            )

        return replace(
            self,
            candidates=tuple(map(of, self.candidates)),
            loggers=tuple(map(of, self.loggers)),
            rows=self.rows * contexts,
            own_losses=self.own_losses * contexts,
        )


def judge(
    log: LearnerLog,
    model: FoldedModel,
    candidates: Sequence[Matrix],
    imitate: bool = True,
    adds: bool = True,
) -> Judged:
    """One pass over all rows; candidates are logits (m, size), at each context of who has not seen it.

    Label vectors of loggers that are not known are judged by a copy of them, unless it is not wanted: then
    D is nothing. `adds` says whether the loss may be taken to add up over labels.
    """
    known = list(log.logger_logits)
    tables = [*candidates, *known]
    contexts, loggers = log.contexts, log.loggers
    weigher = _weigher(log, tables, imitate or bool(known), adds)
    unknown = [np.full(contexts, np.nan)] * (loggers - len(known))
    found = [_empty(modelled) for modelled in (*map(model.expected, tables), *unknown)]
    own = own_sums(log)
    largest, squares = np.zeros((loggers, contexts)), 0.0
    policies = [PolicyTable.of(log.space, logits) for logits in tables]
    for lot in lots(log):
        residual = lot.delta - model.logged(lot.context, lot.action)
        reward = 1.0 - lot.delta / log.space.largest_loss
        squares += float(residual @ residual)
        share = lot.counts.sum() / lot.counts
        largest += np.outer(share, np.bincount(lot.context, minlength=contexts))
        for number, (policy, sums) in enumerate(zip(policies, found, strict=False)):
            w = importance_weights(
                policy.log_probability(lot.context, lot.action), lot.log_average, MOST_WEIGHT
            )
            loss = sums.modelled[lot.context] + weigher.weights(number, lot, w) * residual
            sums.add(lot.context, w, reward, loss)
    split = len(candidates)
    spread, untold = weigher.reach(split)
    for j, sums in enumerate(found[split:]):
        if not known:
            sums.loss = own.losses[j]
        if not known or not _acted(log, policies[split + j], j):
            sums.reward = own.rewards[j]
    return Judged(
        candidates=tuple(found[:split]),
        loggers=tuple(found[split:]),
        rows=own.rows,
        own_losses=own.losses,
        largest=largest,
        spread=spread,
        untold=untold,
        noise=squares / float(own.rows.sum()),
        max_loss=log.space.largest_loss,
    )


def _weigher(log: LearnerLog, tables: Sequence[Matrix], known_or_copied: bool, adds: bool) -> Weigher:
    """The weights of residuals: of whole label vectors, of each label by itself, or of one of K actions."""
    if log.space.action_shape and not adds:
        return VectorWeigher(log, tables)
    if log.space.action_shape and known_or_copied:
        return LabelWeigher(log, tables)
    return ChoiceWeigher(log, tables)


def _acted(log: LearnerLog, policy: PolicyTable, logger: int) -> bool:
    """Whether a policy is the one that logged a logger's rows, by what it says of their propensities."""
    off = 0.0
    for lot in lots(log):
        gap = np.abs(policy.log_probability(lot.context, lot.action) - lot.log_propensity)
        off = max(off, float(gap[lot.logger == logger].max(initial=0.0)))
    return off <= SAME


def _empty(modelled: Vector) -> Sums:
    reward, loss, mass, squares = np.zeros((4, len(modelled)))
    return Sums(reward, loss, modelled, mass, squares)
