"""Every estimator as a function of sums over rows, for the log itself and for any number of resamples.

naive, weighted and balanced are those of sections 2.1.1 and 6; `-sn` divides by the weights' own mean,
`-clipped` cuts weights, `dr` adds a model of the loss. In a resample the share of each logger stays n_j / n.
"""

from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.labels import Matrix, Vector
from multilogger.components.estimators.lambda_star import S_FLOOR, SILENT_MEAN_WEIGHT
from multilogger.components.evaluation.context_sums import Column, Sums

NAIVE = ("naive", "naive-sn", "naive-clipped")
WEIGHTED = ("weighted", "weighted-sn", "weighted-clipped")
BALANCED = ("balanced", "balanced-sn", "balanced-clipped")
DR = "dr"

# A logger also says next to nothing of a policy with so few effective rows, in number and among its own, that
# chance decides what they say.
SILENT_EFFECTIVE_ROWS, SILENT_EFFECTIVE_SHARE = 20.0, 0.05


@dataclass(frozen=True)
class WeightColumns:
    """Where the sums of w, w^2, u and u^2 stand, of weights as they are or cut."""

    w: Column
    ww: Column
    u: Column
    uu: Column


AS_THEY_ARE = WeightColumns(Column.W, Column.WW, Column.U, Column.UU)
CUT = WeightColumns(Column.W_CUT, Column.WW_CUT, Column.U_CUT, Column.UU_CUT)


def estimates(sums: Sums, counts: Vector, balanced: bool, dr: bool) -> dict[str, Vector]:
    """Estimated risks by name: (...,) each for sums (..., J, columns); NaN where a logger has no rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums / sums[..., [Column.ROWS]]
        share = np.broadcast_to(counts / counts.sum(), means.shape[:-1])
        lambda_share = lambda_shares(sums, counts, AS_THEY_ARE)
        cut_share = lambda_shares(sums, counts, CUT)

        def mix(shares: Matrix, column: Column) -> Vector:
            return np.asarray((shares * means[..., column]).sum(axis=-1))

        found = {
            "naive": mix(share, Column.U),
            "naive-sn": mix(share, Column.U) / mix(share, Column.W),
            "naive-clipped": mix(share, Column.U_CUT),
            "weighted": mix(lambda_share, Column.U),
            "weighted-sn": mix(lambda_share, Column.U) / mix(lambda_share, Column.W),
            "weighted-clipped": mix(cut_share, Column.U_CUT),
        }
        if balanced:
            found |= {
                "balanced": mix(share, Column.V),
                "balanced-sn": mix(share, Column.V) / mix(share, Column.B),
                "balanced-clipped": mix(share, Column.V_CUT),
            }
        if dr:
            # Choice: with h/h_j alone, lambda* keeps a logger far from the policy from drowning the others.
            found[DR] = mix(share, Column.Q) + mix(share if balanced else lambda_share, Column.R)
    return found


def lambda_shares(sums: Sums, counts: Vector, of: WeightColumns) -> Matrix:
    """n_j lambda*_j (section 2.1.1) from the sums of the same rows: (..., J), adding up to 1.

    The divergence is the self-normalised one of section 5.1.2, as in `lambda_star.py`.
    """
    n = sums[..., Column.ROWS]
    mean_w = sums[..., of.w] / n
    scale = np.maximum(mean_w, S_FLOOR)
    centre = (sums[..., of.u].sum(axis=-1) / n.sum(axis=-1))[..., None]
    spread = sums[..., of.uu] / scale**2 - 2.0 * centre * sums[..., of.u] / scale + n * centre**2
    divergence = np.maximum(spread, 0.0) / (n - 1.0)
    # Choice: a logger that all but never acts as the policy has no share. Printed literally, section 5.1.2
    # may find a small divergence in its few rows, if their losses happen to be small, and give it almost all.
    effective = np.square(sums[..., of.w]) / sums[..., of.ww]
    few = (effective < SILENT_EFFECTIVE_ROWS) & (effective < SILENT_EFFECTIVE_SHARE * n)
    silent = (mean_w <= SILENT_MEAN_WEIGHT) | few
    precision = np.where(silent, 0.0, counts / divergence)
    # equal losses and weights in all rows of a logger: no spread at all, and nothing beats it
    exact = np.isinf(precision)
    precision = np.where(exact.any(axis=-1, keepdims=True), exact.astype(np.float64), precision)
    total = precision.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(total > 0, precision / total, counts / counts.sum()))
