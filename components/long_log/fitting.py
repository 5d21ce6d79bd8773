"""The model of the loss for a long log, fitted beforehand to rows from all over it.

Then one pass scores every row. Each is predicted by a fit that has not seen the row's fold of contexts, so
the doubly robust estimate stays unbiased, whatever rows the model was fitted to.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.evaluation.additive_scores import AdditiveFromRows, open_additive
from multilogger.components.evaluation.loss_models.cross_fitting import (
    FOLDS,
    Apart,
    Block,
    CrossFittedModel,
    LogShape,
    draw_folds,
)
from multilogger.components.evaluation.loss_models.registry import DrModel, new_loss_model
from multilogger.components.evaluation.score_log import ModelChoice
from multilogger.components.learners.loss_models.additivity import AdditivityTest
from multilogger.components.log.files import ColumnBatch
from multilogger.components.log.parts import LogPart
from multilogger.components.long_log.contexts import ContextTable, Places, fold_of
from multilogger.components.long_log.scoring import Reader, SeenRows

SAMPLE_ROWS = 2**18
SAMPLE_PARTS = 64


@dataclass(frozen=True)
class Fitted:
    """A model, what it numbers folds from (see `Scorer`), additive weights, and the test of those."""

    model: CrossFittedModel | None
    fitted_rows: int | None
    first_fold: int = 0
    additive: AdditiveFromRows | None = None
    additivity: AdditivityTest | None = None


def fit_model(
    reader: Reader,
    parts: Sequence[LogPart],
    choice: ModelChoice,
    counts: Vector,
    logger_logits: Sequence[Matrix],
    salt: int,
    rng: np.random.Generator,
) -> Fitted:
    """Fit the loss model to a sample of rows, and test on them whether the loss adds up over labels."""
    sample = list(rows_to_fit(reader, parts, counts if choice.kind is DrModel.SMRDR else None))
    numbers, folds, first_fold = _numbered(sample, reader.table, salt, rng)
    space = reader.policy.space
    shape = LogShape(sum(len(rows) for rows in sample), space.size, reader.max_loss, folds, len(counts))
    apart = None if reader.table is None else _apart(reader.table)
    model = new_loss_model(space, choice.kind, shape, rng.spawn(1)[0], apart, choice.advance)
    additive = None
    if reader.table is not None:
        logits = reader.table.contexts.logits
        additive = open_additive(space, logits, logger_logits, counts, rng.spawn(1)[0])
    for rows, number in zip(sample, numbers, strict=True):
        model.add(rows.model_rows(number))
    if len(np.unique(np.concatenate([rows.key for rows in sample]))) < 2:
        return Fitted(None, None, additive=additive)
    model.fit()
    if additive is not None:
        for rows, number in zip(sample, numbers, strict=True):
            left = rows.delta - model.predict(rows.model_rows(number)).q_logged
            additive.test(rows.context, rows.logger, rows.action, left)
    tested = None if additive is None else additive.result()
    return Fitted(model, model.fitted_rows, first_fold, additive, tested)


def rows_to_fit(reader: Reader, parts: Sequence[LogPart], counts: Vector | None = None) -> Iterator[SeenRows]:
    """The first rows of parts all over the log; with `counts` (J,) of loggers' rows also their h_avg."""
    chosen = np.unique(np.linspace(0, len(parts) - 1, SAMPLE_PARTS).astype(int))
    short = replace(reader, most_rows=-(-SAMPLE_ROWS // len(chosen)))
    for number in chosen:
        if (seen := next(short.rows(parts[number]), None)) is not None:
            rows, chunk = seen
            average = None if counts is None else _log_average(reader, rows, chunk, counts)
            yield replace(rows, log_average=average)


def _log_average(reader: Reader, rows: SeenRows, chunk: ColumnBatch, counts: Vector) -> Vector | None:
    """log h_avg(y|x) of rows, None where the log does not tell."""
    if len(counts) == 1:
        return rows.log_propensity
    if reader.files.columns.propensities is None:
        return None
    return reader.log_average(rows, chunk, tuple(str(label) for label in reader.labels), counts)


def _numbered(
    sample: Sequence[SeenRows], table: ContextTable | None, salt: int, rng: np.random.Generator
) -> tuple[list[Places], Places, int]:
    """The numbers of sampled contexts to the model, the fold of each, and the first number of a fold."""
    if table is not None:
        return [rows.context for rows in sample], draw_folds(len(table.contexts.logits), rng), 0
    keys = np.concatenate([rows.key for rows in sample])
    known, number = np.unique(keys, return_inverse=True)
    ends = np.cumsum([len(rows) for rows in sample])[:-1]
    folds = np.r_[fold_of(known, salt), np.arange(FOLDS)]
    return np.split(number, ends), folds, len(known)


def _apart(table: ContextTable) -> Apart:
    def read() -> Iterator[Block]:
        done = 0
        for x in table.contexts.features():
            yield np.arange(done, done + len(x)), x
            done += len(x)

    return read
