"""A long log under a policy to its sums, in memory that does not grow with its rows.

One pass counts the loggers' rows, another scores all rows. Where rows name their contexts, scored rows are
written to a temporary folder in lots, each with all rows of its contexts; else parts of the log are such lots
themselves. Lots are summed up one by one, and their sums added in a fixed order: the result does not depend
on how many processes work.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import numpy as np

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.context_logits import ContextLogits, LogitPolicy
from multilogger.components.evaluation.evaluation import Request, SummedLog
from multilogger.components.evaluation.log_sums import LogSums
from multilogger.components.evaluation.max_weights import MaxWeights, bounds_of
from multilogger.components.evaluation.point_estimates import Estimators
from multilogger.components.evaluation.score_log import AboutScores, ModelChoice
from multilogger.components.evaluation.skim_log import Advance, check_stated
from multilogger.components.log.actions import ActionReader
from multilogger.components.log.checks import check_loggers
from multilogger.components.log.files import LogFiles, index_labels
from multilogger.components.log.parts import PART_ROWS, PROCESSES, LogPart, Mapper, Spread, log_parts
from multilogger.components.long_log.contexts import ContextTable
from multilogger.components.long_log.fitting import fit_model
from multilogger.components.long_log.lot_sums import LotSummer
from multilogger.components.long_log.records import LogFrame
from multilogger.components.long_log.scoring import Reader, Scorer

LONG_ROWS = 2**20
"""Choice: shorter logs are scored in memory, which takes some 350 bytes per row."""


@dataclass(frozen=True)
class LongLog:
    """A long log, the policy, and what else is known: see `score_log`, whose words these are.

    `max_weights` gives the largest possible weights by the loggers' rows (J,), None where nobody knows them.
    """

    files: LogFiles
    policy: LogitPolicy
    contexts: ContextLogits | None = None
    max_loss: float | None = None
    choice: ModelChoice | None = None
    action_numbers: Mapping[str, int] | None = None
    logger_logits: Sequence[Matrix] = ()
    names: Callable[[int], tuple[str, ...]] | None = None
    max_weights: Callable[[Vector], MaxWeights | None] = lambda _: None


@dataclass(frozen=True)
class LongLogSums:
    """The sums of a log, what must be said of how it was scored, and the largest possible weights."""

    log: SummedLog
    about: AboutScores
    max_weights: MaxWeights | None


def sum_up_long(
    log: LongLog,
    request: Request,
    rng: np.random.Generator,
    advance: Advance = lambda _: None,
    workers: int = 1,
    spread: Spread = PROCESSES,
) -> LongLogSums:
    """Score and sum up a log; `advance` is told of rows, three times each."""
    parts, columns = log_parts(log.files, PART_ROWS), log.files.columns
    with ExitStack() as stack:
        work = stack.enter_context(spread.open(min(workers, len(parts))))
        labels, counts = _count(log.files, parts, work, advance)
        names = tuple(str(label) for label in labels) if log.names is None else log.names(len(labels))
        max_loss = log.policy.space.largest_loss if log.max_loss is None else log.max_loss
        actions = ActionReader(log.policy.space, log.files.dataset.schema, columns.action, log.action_numbers)
        table = None if log.contexts is None else ContextTable(log.contexts, columns.need("context"))
        reader = Reader(log.files, log.policy, actions, labels, max_loss, table)
        salt, seed = (int(number) for number in rng.integers(2**62, size=2))
        fitted = fit_model(
            reader, parts, log.choice or ModelChoice(), counts, log.logger_logits, salt, rng.spawn(1)[0]
        )
        additive = fitted.additive
        frame = LogFrame(
            names=names,
            counts=counts,
            max_loss=max_loss,
            balanced=columns.propensities is not None,
            modelled=fitted.model is not None,
            shares=None if additive is None else additive.shares,
            effective_rows=0.0 if additive is None else additive.effective_rows,
        )
        scorer = Scorer(reader, frame, salt, fitted.model, fitted.first_fold, additive)
        max_weights, clip = log.max_weights(counts), request.clip_of(int(counts.sum()))
        bounds = bounds_of(clip, len(names), max_weights)
        lots = LotSummer(frame, bounds, seed, PART_ROWS, stack, work, advance, spread.shares_disk)
        sums, smoothed, contexts, few = lots.summed(scorer, parts, columns.context is not None)
    _check_losses(frame, sums)
    estimators = Estimators(counts, frame.balanced, frame.modelled, frame.shares)
    summed = SummedLog(names, estimators, sums, clip, max_loss, contexts, few, frame.effective_rows, smoothed)
    about = AboutScores(
        rows=int(counts.sum()),
        loggers=len(names),
        balanced=frame.balanced,
        contexts_known=columns.context is not None,
        fitted_rows=fitted.fitted_rows,
        additive=additive is not None,
        additivity=fitted.additivity,
    )
    return LongLogSums(summed, about, max_weights)


def _count(
    files: LogFiles, parts: Sequence[LogPart], work: Mapper, advance: Advance
) -> tuple[tuple[object, ...], Vector]:
    """The labels of loggers in ascending order, and the rows of each (J,)."""
    found: dict[object, int] = {}
    for part, counted in zip(parts, work(partial(_count_part, files), parts), strict=True):
        for label, rows in counted.items():
            found[label] = found.get(label, 0) + rows
        advance(part.rows)
    if not found:
        raise BadInput(
            "the log has no rows"
            + (" for validation; use --all-rows" if files.validation else "; check the filter that made it")
        )
    labels = tuple(sorted(found))  # type: ignore[type-var]
    check_stated(files, labels)
    return labels, np.array([found[label] for label in labels], dtype=np.float64)


def _count_part(files: LogFiles, part: LogPart) -> dict[object, int]:
    columns = files.columns
    names = [columns.logger, *([columns.validation] if columns.validation is not None else [])]
    batches = [chunk.batch.column(columns.logger) for chunk in part.batches(files, names)]
    if not batches:
        return {}
    found = index_labels(batches, columns.logger)
    return dict(zip(found.labels, np.bincount(found.index).tolist(), strict=True))


def _check_losses(frame: LogFrame, sums: LogSums) -> None:
    """Every logger needs two rows, and the log losses that vary."""
    logger = np.repeat(np.arange(len(frame.names)), np.minimum(frame.counts, 2).astype(int))
    ends = np.stack([-sums.extremes[0], sums.extremes[1]], axis=1).ravel()
    kept = np.stack([frame.counts > 0, frame.counts > 1], axis=1).ravel()
    check_loggers(frame.names, logger, ends[kept])
