"""How far estimates of a policy's risk move when the estimated propensities are recalibrated."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.estimators.weights import importance_weights, log_mixture
from multilogger.components.propensities.estimated_policy import EstimatedPolicy
from multilogger.components.propensities.rows import ActedRows
from multilogger.components.text import html_table, text_table

AS_ESTIMATED = "as estimated"
NEARLY_NONE = 1e-6  # a share of the marginal distribution that only keeps logarithms finite
STEP = 1.25  # Choice: a quarter of the logits is more than held-out rows leave open in most logs


@dataclass(frozen=True)
class Moved:
    """The self-normalised risks under one calibration: by the rows' own propensities, and by h_avg."""

    calibration: str
    naive_sn: float
    balanced_sn: float


@dataclass(frozen=True, repr=False)
class RecalibrationSpread:
    """The risks under every calibration; `spread` is the largest less the smallest."""

    moves: tuple[Moved, ...]

    @property
    def spread(self) -> Moved:
        naive, balanced = ([getattr(one, name) for one in self.moves] for name in ("naive_sn", "balanced_sn"))
        return Moved("spread", max(naive) - min(naive), max(balanced) - min(balanced))

    def table(self) -> list[dict[str, str]]:
        return [
            {
                "propensities": one.calibration,
                "naive-sn": f"{one.naive_sn:.4f}",
                "balanced-sn": f"{one.balanced_sn:.4f}",
            }
            for one in (*self.moves, self.spread)
        ]

    def __repr__(self) -> str:
        return "\n".join(text_table(self.table()))

    def _repr_html_(self) -> str:
        return f"<p>{escape('How far estimates move')}</p>{html_table(self.table())}"


def recalibrations(policy: EstimatedPolicy) -> dict[str, EstimatedPolicy]:
    """Other calibrations of one logger: flatter, sharper, and the regression as it was fitted."""
    temperature, mixing = policy.linear.alpha, policy.mixing
    return {
        AS_ESTIMATED: policy,
        "flatter": policy.recalibrated(temperature / STEP, mixing),
        "sharper": policy.recalibrated(temperature * STEP, mixing),
        "not calibrated": policy.recalibrated(1.0, NEARLY_NONE),
    }


def recalibration_spread(
    rows: ActedRows,
    log_propensities: Matrix,
    estimated: NDArray[np.bool_],
    policies: Sequence[EstimatedPolicy],
    loss: Vector,
    log_target: Vector,
) -> RecalibrationSpread:
    """Self-normalised risks of a policy, with log h(y|x) = `log_target` (n,), under each calibration.

    An estimate moves by as much as log h_j(y|x) of the logger's policy does; logged propensities (not
    `estimated`) stay as they are.
    """
    others = [recalibrations(policy) for policy in policies]
    before = [_log_h(rows, policy) for policy in policies]
    counts = np.bincount(rows.logger, minlength=len(policies)).astype(np.float64)
    moves = []
    for name in others[0]:
        shift = np.stack([_log_h(rows, o[name]) - b for o, b in zip(others, before, strict=True)], axis=1)
        moved = np.minimum(log_propensities + np.where(estimated, shift, 0.0), 0.0)
        own = moved[np.arange(len(loss)), rows.logger]
        average = log_mixture(moved, counts)
        moves.append(Moved(name, _risk(log_target, own, loss), _risk(log_target, average, loss)))
    return RecalibrationSpread(tuple(moves))


def _log_h(rows: ActedRows, policy: EstimatedPolicy) -> Vector:
    return rows.space.log_probability_at(policy.logits(rows.x), rows.context, rows.action)


def _risk(log_target: Vector, log_propensity: Vector, loss: Vector) -> float:
    weights = importance_weights(log_target, log_propensity)
    return float(np.sum(weights * loss) / np.sum(weights))
