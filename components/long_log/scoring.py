"""The rows of a part of a log under a policy: read once, each with the figures that an evaluation sums up."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.row_scores import RowScores, row_scores
from multilogger.components.estimators.checks import check_losses, check_propensities, checked_log_propensity
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.evaluation.additive_scores import AdditiveFromRows
from multilogger.components.evaluation.context_logits import LogitPolicy
from multilogger.components.evaluation.loss_models.cross_fitting import CrossFittedModel, ModelRows
from multilogger.components.log.actions import ActionReader
from multilogger.components.log.checks import check_features
from multilogger.components.log.files import ColumnBatch, LogFiles, index_labels
from multilogger.components.log.keys import Keys
from multilogger.components.log.parts import PART_BATCH, LogPart
from multilogger.components.long_log.contexts import ContextTable, Places, context_keys, fold_of
from multilogger.components.long_log.records import LogFrame, Records

MOST_LOGITS = 2**22  # of some rows at a time: 34 MB


@dataclass(frozen=True)
class SeenRows:
    """Some rows: the keys and places of their contexts, and what was read and made of them.

    `log_average` is log h_avg(y|x), of rows that a model is fitted to which asks for it.

    All of it in memory of its own: a slice of what was read would keep a whole row group alive.
    """

    key: Keys
    context: Places
    logger: Loggers
    action: Actions
    delta: Vector
    log_propensity: Vector
    logits: Matrix
    x: NDArray[np.float32] | None
    scores: RowScores
    log_average: Vector | None = None

    def __len__(self) -> int:
        return len(self.delta)

    def model_rows(self, context: Places) -> ModelRows:
        """What a model of the loss is shown of them; `context` are their numbers to it."""
        average = self.log_average
        return ModelRows(
            context,
            self.logger,
            self.logits,
            self.action,
            self.delta,
            self.x,
            self.scores.chances,
            None if average is None else self.scores.log_target - average,
        )


@dataclass(frozen=True)
class Reader:
    """Reads rows of a log under a policy, and checks them.

    `labels` are those of the loggers in their order. `table` has the policy's logits where contexts stand
    apart from the log.
    """

    files: LogFiles
    policy: LogitPolicy
    actions: ActionReader
    labels: tuple[object, ...]
    max_loss: float
    table: ContextTable | None = None
    most_rows: int = PART_BATCH

    @property
    def batch_rows(self) -> int:
        return max(1, min(self.most_rows, MOST_LOGITS // self.policy.space.size))

    def rows(self, part: LogPart) -> Iterator[tuple[SeenRows, ColumnBatch]]:
        """The rows of a part, batch by batch, and what they were read from."""
        columns = self.files.columns
        names = list(dict.fromkeys([*columns.cheap, *columns.costly]))
        for chunk in part.batches(self.files, names, self.batch_rows):
            delta = chunk.numbers(columns.loss)
            check_losses(delta, self.max_loss, chunk.where, chunk.rows)
            own = chunk.numbers(columns.propensity)
            own = checked_log_propensity(own, columns.is_log, chunk.where, chunk.rows)
            found = index_labels([chunk.batch.column(columns.logger)], columns.logger)
            logger = np.array([self.labels.index(label) for label in found.labels])[found.index]
            key, action = context_keys(chunk, columns.context), self.actions(chunk)
            x, place = None, np.zeros(0, dtype=np.int64)
            if self.table is None:
                x = chunk.features(columns.features)
                check_features(x, self.policy.features, chunk.where, chunk.rows)
                logits = self.policy.logits(x)
            else:
                place = self.table.places(chunk)
                logits = self.table.contexts.logits[place]
            scores = row_scores(self.policy.space, logits, action)
            yield SeenRows(key, place, logger, action, delta, own, logits, x, scores), chunk

    def log_average(
        self, rows: SeenRows, chunk: ColumnBatch, names: tuple[str, ...], counts: Vector
    ) -> Vector:
        """log h_avg(y|x) of rows, of loggers with these names and numbers of rows: (n,)."""
        table = chunk.log_propensities(self.files.columns)
        check_propensities(table, rows.log_propensity, rows.logger, names, chunk.where)
        return _log_mixture(table, counts)


@dataclass(frozen=True)
class Scorer:
    """Scores the rows of a part; `salt` draws the folds of contexts.

    `model` numbers contexts as `reader.table` does. Where contexts stand in the rows it knows one per fold,
    from `first_fold` on.
    """

    reader: Reader
    frame: LogFrame
    salt: int
    model: CrossFittedModel | None
    first_fold: int
    additive: AdditiveFromRows | None = None

    def __call__(self, part: LogPart) -> Records:
        """The records of a part's rows, in their order."""
        found, done = np.empty(part.rows, self.frame.record), 0
        for rows, chunk in self.reader.rows(part):
            self._fill(found[done : done + len(rows)], rows, chunk)
            done += len(rows)
        return found[:done]

    def model_context(self, rows: SeenRows) -> Places:
        """The numbers of contexts to the model."""
        return rows.context if self.reader.table else self.first_fold + fold_of(rows.key, self.salt)

    def _fill(self, found: Records, rows: SeenRows, chunk: ColumnBatch) -> None:
        found["key"], found["logger"], found["delta"] = rows.key, rows.logger, rows.delta
        found["log_propensity"], found["log_target"] = rows.log_propensity, rows.scores.log_target
        found["is_greedy"], found["log_greedy"] = rows.scores.is_greedy, rows.scores.log_greedy
        if self.frame.balanced:
            found["log_average"] = self.reader.log_average(rows, chunk, self.frame.names, self.frame.counts)
        if self.model is not None:
            modelled = self.model.predict(rows.model_rows(self.model_context(rows)))
            found["q_logged"], found["q_target"] = modelled.q_logged, modelled.q_target
        if self.additive is not None:
            weighed = self.additive.weigh(rows.context, rows.logger, rows.action)
            found["own"], found["balanced"] = weighed.own, weighed.balanced


def _log_mixture(table: Matrix, counts: Vector) -> Vector:
    """`log_mixture` of `estimators/weights.py` to the last few bits, without its checks: (n,)."""
    largest = reduce(np.maximum, table.T)  # column by column: rows are short
    largest = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        mixed = np.log(np.exp(table - largest[:, None]) @ (counts / counts.sum()))
    return np.where(np.isneginf(mixed), -math.inf, mixed + largest)
