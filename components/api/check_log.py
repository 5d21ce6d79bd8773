"""What a log holds, how well its loggers cover each other, and what to mend before it is learned from."""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.api.bandit_log import BanditLog
from multilogger.components.api.policy import as_policy
from multilogger.components.api.text import html_table, text_table
from multilogger.components.errors import BadInput
from multilogger.components.estimators.weights import importance_weights, log_mixture
from multilogger.components.evaluation.context_sums import ScoredLog
from multilogger.components.evaluation.support import (
    DETERMINISTIC,
    Overlap,
    logger_support,
    overlap,
    support_warnings,
)
from multilogger.components.log.checks import check_loggers

WEIGHTS = {
    "policy": "mean weight and effective rows: the policy over the logger, on the logger's rows",
    "average": "mean weight and effective rows: the logger over the average of all, on all rows",
    "uniform": "mean weight and effective rows: a uniform policy over the logger, on the logger's rows",
}
OFF_ONE = 0.05  # a smaller error in all propensities is hardly worth a word


@dataclass(frozen=True)
class LoggerCheck:
    """One logger: its rows and mean loss, the spread of its propensities, and the weights of `LogReport`."""

    name: str
    rows: int
    mean_loss: float
    propensities: tuple[float, float, float]  # the least, the median, the largest
    weights: Overlap


@dataclass(frozen=True, repr=False)
class LogReport:
    """What `BanditLog.check` found. `mend` says what is wrong, `notes` what the log does without.

    A mean weight is 1 in expectation if the propensities are right. It is that of the policy that was asked
    about, h/h_j. Without one it is h_j/h_avg, never above n/n_j, which soon tells a wrong propensity;
    where the propensities of other loggers are not known, it is that of a uniform policy, which is below 1
    where a logger leaves actions out.
    """

    log: str
    weights: str
    loggers: tuple[LoggerCheck, ...]
    mend: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there is nothing to mend."""
        return not self.mend

    def __repr__(self) -> str:
        return "\n".join([
            self.log,
            "",
            *text_table(self._table()),
            f"({WEIGHTS[self.weights]})",
            "",
            *self._lines(),
        ])  # fmt: skip

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(line)}</li>" for line in self._lines())
        return f"<p>{escape(self.log)}</p>{html_table(self._table())}<ul>{lines}</ul>"

    def _lines(self) -> list[str]:
        mend = [f"Mend: {line}." for line in self.mend] or ["Nothing to mend."]
        return [*mend, *(f"Note: {line}." for line in self.notes)]

    def _table(self) -> list[dict[str, str]]:
        return [
            {
                "logger": line.name,
                "rows": f"{line.rows:,}",
                "mean loss": f"{line.mean_loss:.3f}",
                "least propensity": f"{line.propensities[0]:.2g}",
                "median": f"{line.propensities[1]:.2g}",
                "largest": f"{line.propensities[2]:.2g}",
                "mean weight": f"{line.weights.mean_weight:.3f}",
                "effective rows": f"{line.weights.effective_rows:,.0f}",
            }
            for line in self.loggers
        ]


def check_log(log: BanditLog, policy: Any = None) -> LogReport:
    """Look at every logger of a log; see `LogReport`."""
    mend = list(_bad_loggers(log))
    if policy is not None:
        kind, scored = "policy", _scored(log, as_policy(policy, log).logits(log.x))
        weights = [overlap(scored.weights[log.logger == j]) for j in range(len(log.loggers))]
        whole = scored.weights if scored.average_weights is None else scored.average_weights
        mend += support_warnings(scored, logger_support(scored), overlap(whole))
    elif log.log_propensities is not None:
        average = _log_average(log, log.log_propensities)
        kind, weights = "average", [overlap(np.exp(own - average)) for own in log.log_propensities.T]
        mend += [line for j, over in enumerate(weights) if (line := _off_one(log.loggers[j], over))]
    else:
        uniform = log.space.log_probability(np.zeros((1, log.space.size)), log.action[:1])
        shares = importance_weights(np.repeat(uniform, len(log)), log.log_propensity)
        kind, weights = "uniform", [overlap(shares[log.logger == j]) for j in range(len(log.loggers))]
    return LogReport(
        log=repr(log),
        weights=kind,
        loggers=tuple(_logger(log, j, over) for j, over in enumerate(weights)),
        mend=tuple(mend),
        notes=tuple(_notes(log)),
    )


def _log_average(log: BanditLog, log_propensities: Matrix) -> Vector:
    return log_mixture(log_propensities, np.bincount(log.logger, minlength=len(log.loggers)).astype(float))


def _scored(log: BanditLog, logits: Matrix) -> ScoredLog:
    """The rows under a policy given by its logits on all contexts (m, q)."""
    likeliest, every = log.space.greedy(logits), log.log_propensities
    return ScoredLog(
        names=log.loggers,
        logger=log.logger,
        context=log.context,
        delta=log.loss,
        log_propensity=log.log_propensity,
        log_target=log.space.log_probability_at(logits, log.context, log.action),
        max_loss=log.max_loss,
        log_average=None if every is None else _log_average(log, every),
        is_greedy=log.space.same(likeliest[log.context], log.action),
        log_greedy=log.space.log_probability(logits, likeliest)[log.context],
    )


def _bad_loggers(log: BanditLog) -> list[str]:
    """What makes a logger useless, each by itself."""
    found = []
    for j, name in enumerate(log.loggers):
        rows = log.logger == j
        try:
            check_loggers([name], np.zeros(int(rows.sum()), dtype=np.int64), log.loss[rows])
        except BadInput as error:
            found.append(str(error))
            continue
        if float(np.median(np.exp(log.log_propensity[rows]))) > DETERMINISTIC:
            found.append(
                f"logger {name} is all but deterministic (median propensity above {DETERMINISTIC}): its rows "
                "say nothing of other actions; let it explore"
            )
    return found


def _off_one(name: str, over: Overlap) -> str | None:
    """A mean weight of h_j/h_avg that chance does not explain."""
    off = abs(over.mean_weight - 1.0)
    if off <= OFF_ONE or off <= 3.0 * over.standard_error:
        return None
    return (
        f"the mean weight of logger {name} is {over.mean_weight:.3f} ± {over.standard_error:.3f} where 1 is "
        "expected: propensities are wrong, or the loggers met contexts of different kinds"
    )


def _notes(log: BanditLog) -> list[str]:
    found = []
    if log.log_propensities is None and len(log.loggers) > 1:
        found.append("the propensities under every logger are not known: no balanced methods and estimates")
    if not log.contexts_known:
        found.append("there are no context ids: every row is taken as a context of its own")
    if not log.logger_policies:
        found.append("the loggers' policies are not known: no -exact methods, no bound of the weights")
    if not log.space.action_shape:
        taken = np.bincount(log.action, minlength=log.space.size)
        if never := int((taken == 0).sum()):
            first = log.actions[int(np.argmin(taken))]
            found.append(
                f"{never} of {log.space.size} actions were never taken, the first being {first!r}: no row "
                "says what they cost"
            )
    return found


def _logger(log: BanditLog, logger: int, weights: Overlap) -> LoggerCheck:
    rows = log.logger == logger
    least, median, largest = np.quantile(np.exp(log.log_propensity[rows]), (0.0, 0.5, 1.0)).tolist()
    return LoggerCheck(
        name=log.loggers[logger],
        rows=int(rows.sum()),
        mean_loss=float(log.loss[rows].mean()),
        propensities=(least, median, largest),
        weights=weights,
    )
