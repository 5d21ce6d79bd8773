"""`BanditLog.check`: a log in memory as the looks of `components/checks` take it, also under a policy."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.api.bandit_log import BanditLog
from multilogger.components.api.companions import REMEDY, estimated_note, estimated_shares, known_table
from multilogger.components.api.policy import as_policy
from multilogger.components.checks.batches import CheckBatch, LogFacts, Places
from multilogger.components.checks.check import check
from multilogger.components.checks.drift import block_edges
from multilogger.components.checks.features import missing_values
from multilogger.components.checks.findings import Finding, id_findings, unlogged_finding
from multilogger.components.checks.report import LogReport
from multilogger.components.estimators.weights import log_mixture
from multilogger.components.evaluation.context_sums import ScoredLog
from multilogger.components.evaluation.log_sums import WeightKind, sum_up
from multilogger.components.evaluation.max_weights import bounds_of
from multilogger.components.evaluation.support import (
    Overlap,
    logger_support,
    overlap_of,
    support_warnings,
)
from multilogger.components.log.files import BATCH_ROWS
from multilogger.components.log.keys import feature_keys, mixed
from multilogger.components.log.memory import densify
from multilogger.components.loss_text import loss_text


def check_log(log: BanditLog, policy: Any = None) -> LogReport:
    """Look at every logger of a log; see `LogReport`.

    For propensities that are missing the share of the action stands in, as for files; for a look at a policy
    they are estimated.
    """
    missing = np.isnan(log.log_propensity)
    found = [*id_findings(log.ids), *missing_values(_missing_shares(log))]
    if missing.any() and policy is None:
        found.append(unlogged_finding(float(missing.mean())))
    elif missing.any():
        log = log.estimate_propensities()
        what = f"{int(missing.sum()):,} of {len(log):,} rows have no propensity; those shown are estimated"
        found.append(Finding("propensities-missing", "mend", what, float(missing.mean()), REMEDY))
    found += list(_estimate_findings(log))
    if policy is None:
        unlogged = frozenset(log.loggers[j] for j in np.unique(log.logger[missing]))
        return check(LogInMemory(_with_shares(log), unlogged), policy_findings=found)
    scored = _scored(log, as_policy(policy, log).logits(log.x))
    sums = sum_up(scored, None, bounds_of(math.inf, scored.loggers, None), np.random.default_rng(0))
    support = logger_support(scored.names, sums, scored.counts)
    own, kind = sums.weights, WeightKind.OWN if scored.log_average is None else WeightKind.AVERAGE

    def over(kind: WeightKind, of: slice) -> Overlap:
        rows, largest = float(scored.counts[of].sum()), float(sums.largest[kind, of].max())
        return overlap_of(rows, float(own[kind, of].sum()), float(sums.squares[kind, of].sum()), largest)

    weights = [over(WeightKind.OWN, slice(j, j + 1)) for j in range(scored.loggers)]
    lines = support_warnings(sums, support, over(kind, slice(None)))
    return check(LogInMemory(log), weights, [*found, *(policy_finding(line, scored) for line in lines)])


def _missing_shares(log: BanditLog) -> dict[str, float]:
    """Columns with missing values by the share of rows: the last feature of such a column says which."""
    ends = np.cumsum([column.width for column in log.columns.columns])
    return {
        column.name: float(densify(log.x[:, [end - 1]])[log.context].mean())
        for column, end in zip(log.columns.columns, ends, strict=True)
        if column.missing
    }


def _with_shares(log: BanditLog) -> BanditLog:
    """The log with the share of the action, or of all its labels, where a propensity is missing."""
    missing = np.isnan(log.log_propensity)
    if not missing.any():
        return log
    counts = np.bincount(log.logger, minlength=len(log.loggers))
    chosen = log.action if log.space.action_shape else np.eye(log.space.size)[log.action]
    taken = np.stack([chosen[log.logger == j].sum(axis=0) for j in range(len(counts))])
    share = ((taken + 0.5) / (counts[:, None] + 1.0))[log.logger]
    right = np.where(chosen == 1, share, 1.0 - share if log.space.action_shape else 1.0)
    own = np.where(missing, np.log(right).sum(axis=1), log.log_propensity)
    every = log.log_propensities
    table = None if every is None else np.where(np.isnan(every), own[:, None], every)
    return replace(log, log_propensity=own, log_propensities=table)


def _estimate_findings(log: BanditLog) -> Iterator[Finding]:
    """What is estimated, and which logged propensities do not agree with the estimate."""
    if (note := estimated_note(log)) is not None:
        what, _, remedy = note.rstrip(".").partition(": ")
        yield Finding("propensities-estimated", "note", what, estimated_shares(log)[1], remedy)
    if log.propensity_report is not None:
        for line in log.propensity_report.findings:
            what, _, remedy = line.rstrip(".").partition("; ")
            yield Finding("propensities-off-estimate", "mend", what, log.propensity_report.worst, remedy)


def policy_finding(line: str, scored: ScoredLog) -> Finding:
    """A warning of how the log covers a policy."""
    what, _, remedy = line.partition(": ")
    figure = float(scored.weights.mean())
    return Finding("policy-support", "mend", what, figure, remedy or "take a policy closer to the loggers")


class LogInMemory:
    """The rows of a `BanditLog`, in batches of the size that files are read in."""

    def __init__(self, log: BanditLog, unlogged: frozenset[str] = frozenset()) -> None:
        self._log = log
        self._time = None if log.time is None else times_as_numbers(log.time)
        self.facts = LogFacts(
            title=repr(log),
            loggers=log.loggers,
            actions=tuple(str(one) for one in log.actions),
            space=log.space,
            features=log.columns.names,
            counts=np.bincount(log.logger, minlength=len(log.loggers)).astype(np.float64),
            max_loss=log.max_loss,
            contexts_known=log.contexts_known,
            all_propensities=known_table(log) is not None,
            time_edges=None if self._time is None else block_edges(self._time),
            words="loss" if log.reward_range is None else "reward",
            loss=loss_text(log.reward_range),
            unlogged=unlogged,
        )

    def batches(self) -> Iterator[CheckBatch]:
        for start in range(0, len(self._log), BATCH_ROWS):
            yield self._batch(slice(start, start + BATCH_ROWS))

    def _batch(self, rows: slice) -> CheckBatch:
        log = self._log
        context, every = log.context[rows], known_table(log)

        def features(places: Places) -> NDArray[np.float32]:
            return densify(log.x[context[places]])

        return CheckBatch(
            facts=self.facts,
            logger=log.logger[rows],
            action=log.action[rows],
            loss=log.loss[rows],
            log_propensity=log.log_propensity[rows],
            log_propensities=None if every is None else every[rows],
            context=mixed(context) if log.contexts_known else feature_keys(log.x[context]),
            features=features,
            time=None if self._time is None else self._time[rows],
            validation=None if log.validation is None else log.validation[rows],
        )


def times_as_numbers(values: NDArray[np.generic]) -> Vector:
    """Numbers or times as numbers, in whatever unit: (n,)."""
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]").astype(np.int64).astype(np.float64)
    return np.asarray(values, dtype=np.float64)


def _scored(log: BanditLog, logits: Matrix) -> ScoredLog:
    """The rows under a policy given by its logits on all contexts (m, q)."""
    likeliest, every = log.space.greedy(logits), known_table(log)
    counts = np.bincount(log.logger, minlength=len(log.loggers)).astype(float)
    return ScoredLog(
        names=log.loggers,
        logger=log.logger,
        context=log.context,
        delta=log.loss,
        log_propensity=log.log_propensity,
        log_target=log.space.log_probability_at(logits, log.context, log.action),
        max_loss=log.max_loss,
        log_average=None if every is None else log_mixture(every, counts),
        is_greedy=log.space.same(likeliest[log.context], log.action),
        log_greedy=log.space.log_probability(logits, likeliest)[log.context],
    )
