"""Every estimator as a function of sums over rows, for the log itself and for any number of resamples.

naive, weighted and balanced are those of sections 2.1.1 and 6; `-sn` divides by the weights' own mean,
`-clipped` cuts weights, `dr` adds a model of the loss. `additive-` has weights
that add up over labels. In a resample the share of each logger stays n_j / n.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.estimators.ips import mixed_risk
from multilogger.components.estimators.lambda_star import LoggerSums, supported_shares
from multilogger.components.evaluation.context_sums import AdditiveScores, Column, ScoredLog, Sums

NAIVE = ("naive", "naive-sn", "naive-clipped")
WEIGHTED = ("weighted", "weighted-sn", "weighted-clipped")
BALANCED = ("balanced", "balanced-sn", "balanced-clipped")
DR = "dr"
ADDITIVE = ("additive-naive", "additive-weighted", "additive-balanced")


@dataclass(frozen=True)
class WeightColumns:
    """Where the sums of w, w^2, u and u^2 stand, of weights as they are or cut."""

    w: Column
    ww: Column
    u: Column
    uu: Column


AS_THEY_ARE = WeightColumns(Column.W, Column.WW, Column.U, Column.UU)
CUT = WeightColumns(Column.W_CUT, Column.WW_CUT, Column.U_CUT, Column.UU_CUT)


def estimates(
    sums: Sums, counts: Vector, balanced: bool, dr: bool, additive: Vector | None = None
) -> dict[str, Vector]:
    """Estimated risks by name: (...,) each for sums (..., J, columns); NaN where a logger has no rows.

    `additive` (J,) are the loggers' shares in `additive-weighted`, where additive weights are known.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.moveaxis(sums / sums[..., [Column.ROWS]], -1, 0)
        share = counts / counts.sum()
        own, cut = lambda_shares(sums, counts, AS_THEY_ARE), lambda_shares(sums, counts, CUT)
        found = {
            "naive": mixed_risk(share, means[Column.U]),
            "naive-sn": mixed_risk(share, means[Column.U], means[Column.W]),
            "naive-clipped": mixed_risk(share, means[Column.U_CUT]),
            "weighted": mixed_risk(own, means[Column.U]),
            "weighted-sn": mixed_risk(own, means[Column.U], means[Column.W]),
            "weighted-clipped": mixed_risk(cut, means[Column.U_CUT]),
        }
        if balanced:
            found |= {
                "balanced": mixed_risk(share, means[Column.V]),
                "balanced-sn": mixed_risk(share, means[Column.V], means[Column.B]),
                "balanced-clipped": mixed_risk(share, means[Column.V_CUT]),
            }
        if dr:
            # Choice: with h/h_j alone, lambda* keeps a logger far from the policy from drowning the others.
            correction = mixed_risk(share if balanced else own, means[Column.R])
            found[DR] = mixed_risk(share, means[Column.Q]) + correction
        if additive is not None:
            own, pooled = means[Column.ADDITIVE_U], means[Column.ADDITIVE_V]
            risks = mixed_risk(share, own), mixed_risk(additive, own), mixed_risk(share, pooled)
            found |= dict(zip(ADDITIVE, risks, strict=True))
    return found


def lambda_shares(sums: Sums, counts: Vector, of: WeightColumns) -> Vector:
    """n_j lambda*_j from the sums of the same rows: (..., J)."""
    n, u = sums[..., Column.ROWS], sums[..., of.u]
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.maximum(sums[..., of.uu] - np.square(u) / n, 0.0)
    return supported_shares(LoggerSums(n, sums[..., of.w], u, squares, sums[..., of.ww]), counts)


def row_weights(name: str, log: ScoredLog, clip: float, shares: Mapping[str, Vector]) -> Vector:
    """What each row counts for in an estimator: n a_i w_i, a_i its logger's lambda: (n,)."""
    b = log.average_weights
    if log.additive is not None and name in ADDITIVE:
        return _additive_weights(name, log, log.additive)
    weights = b if b is not None and (name.startswith("balanced") or name == DR) else log.weights
    if name.endswith("clipped"):
        weights = np.minimum(weights, clip)
    if name.startswith("weighted") or (name == DR and b is None):
        share = shares.get(name, shares["weighted"])
        weights = weights * (share * log.rows / log.counts)[log.logger]
    return weights


def _additive_weights(name: str, log: ScoredLog, additive: AdditiveScores) -> Vector:
    if name == "additive-balanced":
        return additive.balanced
    share = additive.shares * log.rows / log.counts if name == "additive-weighted" else np.ones(log.loggers)
    return additive.own * share[log.logger]
