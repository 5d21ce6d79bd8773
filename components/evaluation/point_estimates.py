"""Every estimator as a function of sums over rows, for the log itself and for any number of resamples.

naive, weighted and balanced are those of sections 2.1.1 and 6; `-sn` divides by the weights' own mean,
`-clipped` cuts weights, `dr` adds a model of the loss. `additive-` has weights that add up over labels. In a
resample the share of each logger stays n_j / n.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.estimators.ips import mixed_risk
from multilogger.components.estimators.lambda_star import LoggerSums, supported_shares
from multilogger.components.evaluation.context_sums import Summed, Sums
from multilogger.components.evaluation.log_sums import LogSums, WeightKind

WEIGHTED = ("weighted", "weighted-sn", "weighted-clipped")
BALANCED = ("balanced", "balanced-sn", "balanced-clipped")
NORMALISED = ("naive-sn", "weighted-sn", "balanced-sn")
CLIPPED = ("naive-clipped", "weighted-clipped", "balanced-clipped")
DR = "dr"
ADDITIVE = ("additive-naive", "additive-weighted", "additive-balanced")


@dataclass(frozen=True)
class WeightColumns:
    """Where the sums of w, w^2, u and u^2 stand, of weights as they are or cut."""

    w: Summed
    ww: Summed
    u: Summed
    uu: Summed


AS_THEY_ARE = WeightColumns(Summed.W, Summed.WW, Summed.U, Summed.UU)
CUT = WeightColumns(Summed.W_CUT, Summed.WW_CUT, Summed.U_CUT, Summed.UU_CUT)


def estimates(
    sums: Sums, counts: Vector, balanced: bool, dr: bool, additive: Vector | None = None
) -> dict[str, Vector]:
    """Estimated risks by name: (...,) each for sums (..., J, columns); NaN where a logger has no rows.

    `additive` (J,) are the loggers' shares in `additive-weighted`, where additive weights are known.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.moveaxis(sums / sums[..., [Summed.ROWS]], -1, 0)
        share = counts / counts.sum()
        own, cut = lambda_shares(sums, counts, AS_THEY_ARE), lambda_shares(sums, counts, CUT)
        found = {
            "naive": mixed_risk(share, means[Summed.U]),
            "naive-sn": mixed_risk(share, means[Summed.U], means[Summed.W]),
            "naive-clipped": mixed_risk(share, means[Summed.U_CUT]),
            "weighted": mixed_risk(own, means[Summed.U]),
            "weighted-sn": mixed_risk(own, means[Summed.U], means[Summed.W]),
            "weighted-clipped": mixed_risk(cut, means[Summed.U_CUT]),
        }
        if balanced:
            found |= {
                "balanced": mixed_risk(share, means[Summed.V]),
                "balanced-sn": mixed_risk(share, means[Summed.V], means[Summed.B]),
                "balanced-clipped": mixed_risk(share, means[Summed.V_CUT]),
            }
        if dr:
            # Choice: with h/h_j alone, lambda* keeps a logger far from the policy from drowning the others.
            correction = mixed_risk(share if balanced else own, means[Summed.R])
            found[DR] = mixed_risk(share, means[Summed.Q]) + correction
        if additive is not None:
            own, pooled = means[Summed.ADDITIVE_U], means[Summed.ADDITIVE_V]
            risks = mixed_risk(share, own), mixed_risk(additive, own), mixed_risk(share, pooled)
            found |= dict(zip(ADDITIVE, risks, strict=True))
    return found


def lambda_shares(sums: Sums, counts: Vector, of: WeightColumns) -> Vector:
    """n_j lambda*_j from the sums of the same rows: (..., J)."""
    n, u = sums[..., Summed.ROWS], sums[..., of.u]
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.maximum(sums[..., of.uu] - np.square(u) / n, 0.0)
    return supported_shares(LoggerSums(n, sums[..., of.w], u, squares, sums[..., of.ww]), counts)


@dataclass(frozen=True)
class Estimators:
    """Which estimators a log allows, and the rows of its loggers."""

    counts: Vector
    balanced: bool
    dr: bool
    additive: Vector | None = None

    def __call__(self, sums: Sums) -> dict[str, Vector]:
        return estimates(sums, self.counts, self.balanced, self.dr, self.additive)


@dataclass(frozen=True)
class RowWeights:
    """What rows count for in an estimator, n a_i w_i with a_i their logger's lambda, summed up.

    Which weights they are, what each logger's are multiplied by (J,), their sum, squares and largest.
    """

    kind: WeightKind
    factor: Vector
    total: float
    squares: float
    largest: float


def row_weights(name: str, sums: LogSums, estimators: Estimators, shares: Mapping[str, Vector]) -> RowWeights:
    """Of the estimator of that name; `shares` are those of `weighted` and `weighted-clipped`."""
    kind, counts = weights_of(name, estimators.balanced), estimators.counts
    share: Vector | None = None
    if name == "additive-weighted":
        share = estimators.additive
    elif name in WEIGHTED or (name == DR and not estimators.balanced):
        share = shares.get(name, shares["weighted"])
    factor = np.ones(len(counts)) if share is None else share * counts.sum() / counts
    return RowWeights(
        kind,
        factor,
        float(sums.weights[kind] @ factor),
        float(sums.squares[kind] @ np.square(factor)),
        float(np.max(sums.largest[kind] * factor)),
    )


def weights_of(name: str, balanced: bool) -> WeightKind:
    """The weights of an estimator."""
    if name in ADDITIVE:
        return WeightKind.ADDITIVE_AVERAGE if name == "additive-balanced" else WeightKind.ADDITIVE
    average = balanced and (name in BALANCED or name == DR)
    kind = WeightKind.AVERAGE if average else WeightKind.OWN
    return WeightKind(kind + 1) if name in CLIPPED else kind
