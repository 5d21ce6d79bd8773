"""A log on disk as the looks take it: any columns of its files, in two passes, a batch at a time.

The first pass numbers loggers and actions; the second gives the rows. Features of words are taken by a number
of each word, times by their seconds: good enough to look for leaks. Where a propensity is missing, the share
of the action among the logger's rows stands in, and the report says so.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import SPACES
from multilogger.components.checks.batches import CheckBatch, LogFacts
from multilogger.components.checks.check import check
from multilogger.components.checks.disk.context_ids import ContextIds
from multilogger.components.checks.disk.first_pass import FirstPass, Found
from multilogger.components.checks.findings import Finding, id_findings, in_order, unlogged_finding
from multilogger.components.checks.report import LogReport
from multilogger.components.estimators.checks import check_losses
from multilogger.components.features.encode import finite_numbers
from multilogger.components.features.frames import Rows, is_time, is_word
from multilogger.components.features.row_ids import RowIds
from multilogger.components.log.checks import checked_actions
from multilogger.components.log.files import is_list
from multilogger.components.log.keys import feature_keys, mixed
from multilogger.components.log.unreadable import unchanged
from multilogger.components.loss_text import loss_text
from multilogger.components.own_log.estimated import estimated_line, estimated_share
from multilogger.components.own_log.mapping import Wanted, resolve
from multilogger.components.own_log.read_rows import (
    both_propensities,
    check_rewards,
    label_vectors,
    labelled,
    loggers_of,
    outcomes_of,
    own_propensity,
    table_of,
)
from multilogger.components.own_log.same_columns import check_same_columns
from multilogger.components.own_log.source import OpenSource
from multilogger.components.own_log.split import context_keys, times_of_rows
from multilogger.components.own_log.survey import Stated, stated_by

WORDS = 2**20  # numbers that words are told apart by


class LogOnDisk:
    """The files of a log, wherever they stand; folders logger=<label> are a column."""

    def __init__(self, source: OpenSource, wanted: Wanted, stated: Stated = Stated()) -> None:  # noqa: B008
        self._source, path = source, source.source.path
        self._mapping = m = resolve(wanted, source.schema, path, look=True)
        check_same_columns(source, m)
        self._stated, self.ids, self.of_contexts = stated_by(source, stated), RowIds(()), ContextIds()
        self._validation = "validation" if "validation" in source.names else None
        self._found = self._first_pass()
        size = self._found.size
        self._most, self._high = self._range(size)
        self.facts = LogFacts(
            title=f"{path}: {self.rows:,} rows, {size} {'labels' if m.labels else 'actions'}",
            loggers=tuple(str(label) for label in self._found.loggers),
            actions=tuple(str(one) for one in self._found.actions),
            space=SPACES["labels" if m.labels else "one-of"](size),
            features=self._feature_names(),
            counts=self._found.counts,
            max_loss=self._most,
            contexts_known=m.context is not None,
            all_propensities=bool(m.propensities),
            time_edges=self._found.edges,
            words="reward" if m.is_reward else "loss",
            loss=loss_text((self._high - self._most, self._high) if m.is_reward else None, m.loss),
            unlogged=self._found.unlogged,
        )

    @property
    def missing(self) -> float:
        """The share of rows without a propensity."""
        return self._found.missing / float(self._found.counts.sum())

    @property
    def rows(self) -> int:
        return int(self._found.counts.sum())

    def batches(self) -> Iterator[CheckBatch]:
        more = [self._validation] if self._validation else []
        self.ids = RowIds(tuple(name for name in self._mapping.features if name != self._mapping.time))
        self.of_contexts = ContextIds()
        for rows in self._source.batches([*self._mapping.named, *self._mapping.features, *more]):
            self.ids.add(rows)
            yield self._batch(rows)

    def _batch(self, rows: Rows) -> CheckBatch:
        m, facts = self._mapping, self.facts
        logger = self._found.logger_of(loggers_of(rows, m))
        action = self._actions(rows)
        own, every = both_propensities(rows, m, logger, facts.loggers)
        gaps = np.isnan(own)
        own[gaps] = self._found.log_share(logger[gaps], action[gaps])
        x = self._features(rows)
        return CheckBatch(
            facts=facts,
            logger=logger,
            action=action,
            loss=self._losses(rows),
            log_propensity=own,
            log_propensities=np.where(np.isnan(every), own[:, None], every) if m.propensities else None,
            context=self._contexts(rows, x),
            features=lambda places: np.asarray(x[places], dtype=np.float32),
            time=None if m.time is None else times_of_rows(rows, m),
            validation=None
            if self._validation is None
            else rows.numbers(self._validation, "validation") == 1,
        )

    def _first_pass(self) -> Found:
        m = self._mapping
        seen = FirstPass(m.labels, self._stated.actions)
        for rows in self._source.batches(m.named):
            action = self._label_vectors(rows) if m.labels else labelled(rows, m.action[0], "action")
            time = None if m.time is None else times_of_rows(rows, m)
            seen.add(loggers_of(rows, m), action, outcomes_of(rows, m), self._missing(rows), time)
        return seen.found(m.action if len(m.action) > 1 else None)

    def _missing(self, rows: Rows) -> NDArray[np.bool_]:
        """Rows without a propensity of their own, in its column or among those of all loggers: (n,)."""
        gaps = np.isnan(own_propensity(rows, self._mapping))
        if not self._mapping.propensities:
            return gaps
        return gaps & np.isnan(table_of(rows, self._mapping)).any(axis=1)

    def _range(self, size: int) -> tuple[float, float]:
        """The largest loss there may be, and the reward that has none: stated, by kind, or what was seen."""
        found = self._found
        if self._mapping.is_reward:
            low, high = self._stated.reward_range or (found.low, found.high)
            return max(high - low, 1e-12), high
        usual = max(found.high, float(size) if self._mapping.labels else 1.0)
        return usual if self._stated.max_loss is None else self._stated.max_loss, found.high

    def _label_vectors(self, rows: Rows) -> Matrix:
        values = label_vectors(rows, self._mapping)
        checked_actions(values, SPACES["labels"](values.shape[1]), rows.where, rows.numbers_of_rows)
        return values

    def _actions(self, rows: Rows) -> Actions:
        if self.facts.choices:
            return self._found.action_of(labelled(rows, self._mapping.action[0], "action"))
        return label_vectors(rows, self._mapping).astype(np.int64)

    def _losses(self, rows: Rows) -> Vector:
        values = outcomes_of(rows, self._mapping)
        if self._mapping.is_reward and self._stated.reward_range is not None:
            check_rewards(rows, values, *self._stated.reward_range)
        losses = self._high - values if self._mapping.is_reward else values
        check_losses(losses, self._most, rows.where, rows.numbers_of_rows)
        return losses

    def _feature_names(self) -> tuple[str, ...]:
        names: list[str] = []
        first = next(self._source.batches(self._mapping.features)) if self._mapping.features else None
        for name in self._mapping.features if first is not None else ():
            wide = first.lists(name).shape[1] if first is not None and is_list(first.kind(name)) else 1
            names += [name] if wide == 1 else [f"{name}{i}" for i in range(wide)]
        return tuple(names)

    def _features(self, rows: Rows) -> NDArray[np.float32]:
        parts = [feature_of(rows, name) for name in self._mapping.features]
        found = np.hstack(parts or [np.zeros((len(rows), 0))])
        with np.errstate(over="ignore"):
            if self._mapping.context is not None and parts:
                self.of_contexts.add(context_keys(rows, self._mapping), found, rows)
            return found.astype(np.float32)

    def _contexts(self, rows: Rows, x: NDArray[np.float32]) -> NDArray[np.uint64]:
        if self._mapping.context is None and x.shape[1]:
            return feature_keys(x)
        return mixed(context_keys(rows, self._mapping))


def feature_of(rows: Rows, name: str) -> Matrix:
    """A column as numbers: (n, width)."""
    kind = rows.kind(name)
    if is_list(kind):
        return rows.lists(name)
    if is_word(kind):
        coded = rows.coded(name)
        numbers = [float(zlib.crc32(word.encode()) % WORDS) for word in coded.words]
        return np.array([*numbers, np.nan])[coded.place][:, None]
    return (rows.seconds(name) if is_time(kind) else finite_numbers(rows, name))[:, None]


def check_files(
    source: OpenSource,
    wanted: Wanted,
    stated: Stated = Stated(),  # noqa: B008
    advance: Callable[[float], None] = lambda _: None,
) -> LogReport:
    """Look at a log on disk without holding it."""
    with unchanged(source.source.path, source.source.said):
        log = LogOnDisk(source, wanted, stated)
        found: list[Finding] = []
        if share := estimated_share(source):
            remedy = "log the probability at the time of the action"
            found.append(Finding("propensities-estimated", "note", estimated_line(share), share, remedy))
        if log.missing:
            found.append(unlogged_finding(log.missing))
        report = check(log, policy_findings=found, advance=advance)
        more = [*id_findings(log.ids.shares), *log.of_contexts.findings()]
        return replace(report, findings=in_order([*report.findings, *more]))
