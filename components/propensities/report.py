"""How good estimated propensities are, and whether logged ones agree with them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.propensities.check import FAMILY_LEVEL, WeightCheck, findings_of, weight_checks
from multilogger.components.propensities.crossfit import CrossFitted
from multilogger.components.propensities.tally import EDGES, Tally
from multilogger.components.text import html_table, text_table

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class PropensityBin:
    """Predicted probabilities in [low, high): their mean, how often it happened, and how many there were."""

    low: float
    high: float
    predicted: float
    observed: float
    count: int


@dataclass(frozen=True)
class LoggerEstimate:
    """One logger: its `rows`, whose own propensity was `logged` or is `estimated`, and the estimate itself.

    `log_likelihood` and `marginal_log_likelihood` are means over rows that the model did not see, the second
    of a logger that does not look at the context. `calibration_error` is the share of chances that stands in
    the wrong place: for one of K half the sum over bins of |predicted - observed| per row, for label vectors
    the mean over labels.
    """

    logger: str
    rows: int
    logged: int
    estimated: int
    fitted_rows: int
    log_likelihood: float
    marginal_log_likelihood: float
    model: str
    temperature: float
    mixing: float
    calibration_error: float
    calibration: tuple[PropensityBin, ...]


@dataclass(frozen=True, repr=False)
class PropensityReport:
    """One estimate per logger, and the weights of logged propensities against it.

    `estimated_share` is the share of all propensities (rows times loggers) that were not logged, `own_share`
    that of the rows' own. `checks` has one entry per logger and action whose propensities were logged.
    """

    loggers: tuple[LoggerEstimate, ...]
    checks: tuple[WeightCheck, ...]
    estimated_share: float
    own_share: float

    @property
    def findings(self) -> tuple[str, ...]:
        """What is wrong with logged propensities, one sentence each; none if they agree."""
        return findings_of(self.checks)

    @property
    def worst(self) -> float:
        """The mean weight that is furthest off 1 in standard errors; 1 where nothing was logged."""
        return max(self.checks, key=lambda one: abs(one.z)).mean_weight if self.checks else 1.0

    def to_json(self) -> str:
        """Everything, for machines."""
        facts = asdict(self) | {"findings": self.findings, "family_level": FAMILY_LEVEL}
        return json.dumps(facts, indent=2)

    def table(self) -> list[dict[str, str]]:
        """One line per logger."""
        return [
            {
                "logger": one.logger,
                "rows": f"{one.rows:,}",
                "logged": f"{one.logged:,}",
                "estimated": f"{one.estimated:,}",
                "log-likelihood": f"{one.log_likelihood:.4f}",
                "without context": f"{one.marginal_log_likelihood:.4f}",
                "calibration error": f"{one.calibration_error:.4f}",
                "model": one.model,
                "temperature": f"{one.temperature:g}",
                "mixing": f"{one.mixing:.3g}",
            }
            for one in self.loggers
        ]

    def __repr__(self) -> str:
        return "\n".join([self._share(), "", *text_table(self.table()), "", *self._verdict()])

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{escape(line)}</p>" for line in self._verdict())
        return f"<p>{escape(self._share())}</p>{html_table(self.table())}{lines}"

    def _share(self) -> str:
        return (
            f"{self.own_share:.1%} of the rows' own propensities and {self.estimated_share:.1%} of those "
            "under every logger are estimated; the rest was logged."
        )

    def _verdict(self) -> list[str]:
        if not self.checks:
            return ["No propensity was logged, so none could be checked."]
        return list(self.findings) or ["Logged propensities agree with the estimate."]


def report_of(
    names: tuple[str, ...],
    logger: Numbers,
    missing: NDArray[np.bool_],
    fits: Sequence[CrossFitted],
    tallies: Sequence[Tally],
) -> PropensityReport:
    """The report on J loggers from what their held-out rows say."""
    own = missing[np.arange(len(logger)), logger]
    return PropensityReport(
        loggers=tuple(
            _of_logger(name, own[logger == j], fits[j], tallies[j]) for j, name in enumerate(names)
        ),
        checks=weight_checks(names, tallies),
        estimated_share=float(missing.mean()),
        own_share=float(own.mean()),
    )


def _of_logger(name: str, missing: NDArray[np.bool_], fitted: CrossFitted, tally: Tally) -> LoggerEstimate:
    return LoggerEstimate(
        logger=name,
        rows=len(missing),
        logged=int((~missing).sum()),
        estimated=int(missing.sum()),
        fitted_rows=fitted.fitted_rows,
        log_likelihood=tally.log_likelihood / tally.rows,
        marginal_log_likelihood=tally.marginal_log_likelihood / tally.rows,
        model=str(fitted.model),
        temperature=fitted.temperature,
        mixing=fitted.mixing,
        calibration_error=_calibration_error(tally),
        calibration=_curve(tally.counts, tally.predicted, tally.observed),
    )


def _calibration_error(tally: Tally) -> float:
    off = float(np.abs(tally.predicted - tally.observed).sum())
    return off / (tally.rows * (tally.space.size if tally.space.action_shape else 2))


def _curve(counts: Vector, predicted: Vector, observed: Vector) -> tuple[PropensityBin, ...]:
    return tuple(
        PropensityBin(
            EDGES[b], EDGES[b + 1], predicted[b] / counts[b], observed[b] / counts[b], int(counts[b])
        )
        for b in np.flatnonzero(counts)
    )
