"""What a log may be given besides its rows: propensities that it lacks, policies of loggers, right actions.

A log without propensities can be read and completed; what needs them says so here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from multilogger.components.actions.arrays import Matrix
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import first_bad
from multilogger.components.propensities.settings import USUAL, PropensitySettings

if TYPE_CHECKING:
    from multilogger.components.api.bandit_log import BanditLog
    from multilogger.components.propensities.recalibration import RecalibrationSpread

REMEDY = "log.estimate_propensities(seed=0) gives a log with estimates in their place"


class Companions:
    """The part of a `BanditLog` that adds them; each gives another log and leaves this one as it is."""

    def estimate_propensities(
        self, seed: int = 0, *, time: bool = False, settings: PropensitySettings | None = None
    ) -> Self:
        """The log with estimates where propensities are missing, also under the other loggers.

        One cross-fitted, calibrated regression per logger; what was logged stays. `time` lets loggers change
        over time. `propensity_report` says how good the estimates are and whether logged propensities agree
        with them. The loggers' policies come with it, unless the log has them; propensities that such known
        policies give are no estimates.
        """
        return cast(Self, _completed(self._log(), seed, time, settings))

    def recalibration(self, policy: Any) -> "RecalibrationSpread":
        """How far estimates of a policy's risk move when the estimated propensities are recalibrated."""
        return _recalibrated(self._log(), policy)

    def with_logger_policies(self, policies: Sequence[Any] | Mapping[Any, Any]) -> Self:
        """The log with the policies of its loggers, by name or in the order of `loggers`.

        A policy is what `evaluate` takes: of this package, or with a `predict_proba`. The `-exact` methods
        need them.
        """
        from multilogger.components.api.policy import policies_of_loggers

        found = policies_of_loggers(self._log(), policies)
        return cast(Self, replace(self._log(), logger_policies=found))

    def with_truth(self, truth: ArrayLike) -> Self:
        """The log with the right action of each context, which `FullInformation` alone looks at.

        Ids (m,), or true labels (m, q).
        """
        from multilogger.components.api.read_log import check_truth

        log = self._log()
        found = check_truth(truth, int(log.x.shape[0]), log.space, log.actions)
        return cast(Self, replace(log, truth=found))

    def _log(self) -> "BanditLog":
        return cast("BanditLog", self)


def known_table(log: "BanditLog") -> Matrix | None:
    """The log propensities under every logger (n, J), if none of them is missing."""
    table = log.log_propensities
    return None if table is None or np.isnan(table).any() else table


def require_propensities(log: "BanditLog", what: str) -> None:
    """Refuse a log that lacks propensities of its rows' own loggers."""
    missing = np.isnan(log.log_propensity)
    if (row := first_bad(missing)) is None:
        return
    name = log.loggers[int(log.logger[row])]
    raise BadInput(
        f"{what} needs the propensity of every row, but {int(missing.sum()):,} of {len(log):,} rows have "
        f"none, the first being row {row} of logger {name}; say where they stand with propensity or "
        f"log_propensity when the log is read, or estimate them: {REMEDY}"
    )


def estimated_note(log: "BanditLog") -> str | None:
    """What has to be said of any number that comes from this log; None if all propensities were logged."""
    if log.estimated is None or not log.estimated.any():
        return None
    own, every = estimated_shares(log)
    if own == 0:
        return (
            f"{every:.1%} of the propensities under every logger are estimated, not logged (the rows' own "
            "were logged): balanced and doubly robust figures rest on estimates."
        )
    return (
        f"The propensities of {own:.1%} of the rows are estimated, not logged: every figure that weighs rows "
        "rests on estimates, and its interval does not know their error."
    )


def estimated_shares(log: "BanditLog") -> tuple[float, float]:
    """Which share of the rows' own propensities is estimated, and which of those under every logger."""
    if log.estimated is None:
        return 0.0, 0.0
    own = log.estimated[np.arange(len(log)), log.logger]
    return float(own.mean()), float(log.estimated.mean())


def _completed(log: "BanditLog", seed: int, time: bool, settings: PropensitySettings | None) -> "BanditLog":
    from multilogger.components.api.policy import Policy
    from multilogger.components.api.split_log import check_seed
    from multilogger.components.propensities.complete import complete_propensities
    from multilogger.components.propensities.time import time_columns

    if time and log.time is None:
        raise BadInput("time=True needs the column of times; name it with time= when the log is read")
    when = time_columns(log.time) if time and log.time is not None else None
    done = complete_propensities(
        log.x, log.context, log.action, log.logger, log.log_propensity, _said(log), log.space, log.loggers,
        check_seed(seed), settings or USUAL, when,
    )  # fmt: skip
    rows = np.arange(len(log))
    policies = tuple(
        Policy(one, log.columns, log.actions, log.space, f"estimated {name}")
        for one, name in zip(done.policies, log.loggers, strict=True)
    )
    return replace(
        log,
        log_propensity=done.log_propensities[rows, log.logger],
        log_propensities=done.log_propensities,
        logger_policies=log.logger_policies or policies,
        estimated=done.estimated,
        propensity_report=done.report,
    )


def _said(log: "BanditLog") -> Matrix | None:
    """The table of the log, gaps filled by the loggers' policies where a person gave them: they are known."""
    if not log.logger_policies or known_table(log) is not None:
        return log.log_propensities
    given = [
        log.space.log_probability_at(policy.logits(log.x), log.context, log.action)
        for policy in log.logger_policies
    ]
    table = np.stack(given, axis=1)
    said = log.log_propensities
    return table if said is None else np.where(np.isnan(said), table, said)


def _recalibrated(log: "BanditLog", policy: Any) -> "RecalibrationSpread":
    from multilogger.components.api.policy import as_policy
    from multilogger.components.propensities.estimated_policy import EstimatedPolicy
    from multilogger.components.propensities.recalibration import recalibration_spread
    from multilogger.components.propensities.rows import ActedRows

    fitted = [model for one in log.logger_policies if isinstance(model := one.model, EstimatedPolicy)]
    if log.estimated is None or log.log_propensities is None or len(fitted) != len(log.loggers):
        raise BadInput(
            "recalibration needs a log whose propensities and loggers' policies are estimated; take that of "
            "log.estimate_propensities(seed=0)"
        )
    target = log.space.log_probability_at(as_policy(policy, log).logits(log.x), log.context, log.action)
    rows = ActedRows(log.x, log.context, log.action, log.logger, log.space)
    return recalibration_spread(rows, log.log_propensities, log.estimated, fitted, log.loss, target)
