"""What a run of a whole pipeline shows: the same few numbers, under the same names, for every method."""

import math

from multilogger.tasks.evaluate import Evaluation

VALIDATION_ESTIMATOR = "balanced-sn"
"""Choice: the self-normalised balanced estimate, which has the least variance of ours, compares policies."""


def cell_metrics(result: Evaluation) -> dict[str, float]:
    """Losses on test, the risk that validation rows alone say with its 95 % interval, and the certificate.

    `certificate_log10` is of the bound of Theorem 3.2 at lambda*, for the `evaluate.eta` among the
    parameters: the bound itself may be 1e20, and nothing else would be seen in a chart beside it. What is not
    finite is left out, as charts cannot show it.
    """
    risk = result.estimates[VALIDATION_ESTIMATOR]
    metrics = {
        "exp": result.exp,
        "greedy": result.greedy,
        "validation_risk": risk["value"],
        "validation_low": risk["low"],
        "validation_high": risk["high"],
        "validation_mean_weight": risk["mean_weight"],
        "effective_rows": risk["effective_rows"],
    }
    if "weighted" in result.certificates:
        metrics["certificate_log10"] = _log10(result.certificates["weighted"]["bound"])
    return {name: value for name, value in metrics.items() if math.isfinite(value)}


def _log10(value: float) -> float:
    return math.log10(value) if value > 0 else math.nan
