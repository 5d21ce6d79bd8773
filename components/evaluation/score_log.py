"""From a log on disk and a policy to the arrays that the estimators need, in streaming passes.

First the cheap columns: they are checked, and loggers and contexts numbered. Then actions and contexts, batch
by batch: the policy's probabilities, and the model of the loss. Last its predictions, each row by a fit that
has not seen the row's context.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix
from multilogger.components.actions.space import ActionSpace
from multilogger.components.estimators.checks import check_propensities
from multilogger.components.estimators.doubly_robust import ModelledLoss
from multilogger.components.estimators.weights import log_mixture
from multilogger.components.evaluation.additive_scores import open_additive
from multilogger.components.evaluation.context_logits import ContextLogits, LogitPolicy
from multilogger.components.evaluation.context_sums import AdditiveScores, ScoredLog
from multilogger.components.evaluation.loss_models.cross_fitting import (
    Block,
    LogShape,
    ModelRows,
    draw_folds,
)
from multilogger.components.evaluation.loss_models.registry import DrModel, new_loss_model
from multilogger.components.evaluation.skim_log import Advance, Skimmed, context_places, skim
from multilogger.components.learners.loss_models.additivity import AdditivityTest
from multilogger.components.log.actions import ActionReader
from multilogger.components.log.checks import check_features
from multilogger.components.log.files import ColumnBatch, LogFiles

MOST_LOGITS = 2**24  # of some rows at a time: 134 MB; the batches of up to 1,024 labels are never cut


@dataclass(frozen=True)
class Scored:
    """A log under a policy, and what a cross-fitted model of the loss says of its rows.

    `fitted_rows` is how many of them that model was fitted to. `additivity` tests what additive weights rest
    on, where there are any.
    """

    log: ScoredLog
    model: ModelledLoss | None
    contexts_known: bool
    fitted_rows: int = 0
    additivity: AdditivityTest | None = None

    @property
    def about(self) -> "AboutScores":
        fitted = None if self.model is None else self.fitted_rows
        return AboutScores(
            rows=self.log.rows,
            loggers=self.log.loggers,
            balanced=self.log.log_average is not None,
            contexts_known=self.contexts_known,
            fitted_rows=fitted,
            additive=self.log.additive is not None,
            additivity=self.additivity,
        )


@dataclass(frozen=True)
class AboutScores:
    """What a reader must know of how a log was scored; `fitted_rows` is None where no model was fitted."""

    rows: int
    loggers: int
    balanced: bool
    contexts_known: bool
    fitted_rows: int | None
    additive: bool = False
    additivity: AdditivityTest | None = None


@dataclass(frozen=True)
class _Seen:
    """Rows of a chunk: their place in the log, logits, actions, features if they have any, and the chunk."""

    at: slice
    logits: Matrix
    action: Actions
    x: NDArray[np.float32] | None
    chunk: ColumnBatch

    def rows(self, log: ScoredLog) -> ModelRows:
        """What a model of the loss is shown of them."""
        context, logger, delta = log.context[self.at], log.logger[self.at], log.delta[self.at]
        over = log.log_propensity if log.loggers == 1 else log.log_average
        log_weight = None if over is None else log.log_target[self.at] - over[self.at]
        return ModelRows(context, logger, self.logits, self.action, delta, self.x, log_weight=log_weight)


@dataclass(frozen=True)
class ModelChoice:
    """Which model of the loss to fit; `advance` is told of the share that was done of a long fit."""

    kind: DrModel = DrModel.RIDGE
    advance: Advance = lambda _: None


def score_log(
    files: LogFiles,
    policy: LogitPolicy,
    rng: np.random.Generator,
    contexts: ContextLogits | None = None,
    max_loss: float | None = None,
    advance: Advance = lambda _: None,
    choice: ModelChoice | None = None,
    action_numbers: Mapping[str, int] | None = None,
    logger_logits: Sequence[Matrix] = (),
) -> Scored:
    """Read a log under a policy; `advance` is told of rows read, three times each.

    `action_numbers` are the policy's numbers of one-of-K actions by name; without it, names are numbers.
    `logger_logits`, on `contexts`, are those of the loggers where their policies are at hand.
    """
    largest = policy.space.largest_loss if max_loss is None else max_loss
    skimmed = skim(files, largest, advance)
    place = None if contexts is None else context_places(skimmed, contexts)
    log = _empty_scores(skimmed, files, largest)
    known = skimmed.context_labels is not None
    shape = LogShape(log.rows, policy.space.size, largest, draw_folds(log.contexts, rng), log.loggers)
    choice = choice or ModelChoice()
    apart = None if contexts is None or place is None else partial(_numbered, contexts, place)
    # draws of its own, so that the resamples are the same whatever the model
    own = rng.spawn(1)[0]
    model = new_loss_model(policy.space, choice.kind, shape, own, apart, choice.advance)
    additive = None
    if contexts is not None and place is not None:
        tables = [table[place] for table in logger_logits]
        additive = open_additive(policy.space, contexts.logits[place], tables, log.counts, rng.spawn(1)[0])
        if additive is not None:
            empty = np.empty(log.rows), np.empty(log.rows)
            scores = AdditiveScores(empty[0], empty[1], additive.shares, additive.effective_rows)
            log = replace(log, additive=scores)
    actions = ActionReader(policy.space, files.dataset.schema, files.columns.action, action_numbers)
    for seen in _look(files, policy, actions, skimmed, contexts, place):
        _fill(log, seen, files, policy.space)
        if additive is not None and log.additive is not None:
            weighed = additive.weigh(log.context[seen.at], log.logger[seen.at], seen.action)
            log.additive.own[seen.at], log.additive.balanced[seen.at] = weighed.own, weighed.balanced
        model.add(seen.rows(log))
        advance(len(seen.action))
    if log.contexts < 2:
        return Scored(log, None, known)
    model.fit()
    predicted = ModelledLoss(np.zeros(log.rows), np.zeros(log.rows))
    for seen in _look(files, policy, actions, skimmed, contexts, place):
        part = model.predict(seen.rows(log))
        predicted.q_logged[seen.at], predicted.q_target[seen.at] = part.q_logged, part.q_target
        if additive is not None:
            left = log.delta[seen.at] - part.q_logged
            additive.test(log.context[seen.at], log.logger[seen.at], seen.action, left)
        advance(len(seen.action))
    checked = replace(predicted)  # the checks of its values, now that they are there
    return Scored(log, checked, known, model.fitted_rows, None if additive is None else additive.result())


def _numbered(contexts: ContextLogits, place: NDArray[np.int64]) -> Iterator[Block]:
    """The features of contexts that stand apart, with their numbers in the log."""
    number = np.full(len(contexts.place), -1)
    number[place] = np.arange(len(place))
    done = 0
    for x in contexts.features():
        yield number[done : done + len(x)], x
        done += len(x)


def _empty_scores(skimmed: Skimmed, files: LogFiles, max_loss: float) -> ScoredLog:
    rows = len(skimmed.delta)
    return ScoredLog(
        names=skimmed.names,
        logger=skimmed.logger,
        context=skimmed.context,
        delta=skimmed.delta,
        log_propensity=skimmed.log_propensity,
        log_target=np.empty(rows),
        max_loss=max_loss,
        log_average=None if files.columns.propensities is None else np.empty(rows),
        is_greedy=np.empty(rows, dtype=np.bool_),
        log_greedy=np.empty(rows),
    )


def _lots(files: LogFiles, size: int) -> Iterator[ColumnBatch]:
    """The batches of the log, cut where the logits of their rows would be too many."""
    rows = max(1, MOST_LOGITS // size)
    for chunk in files.batches(files.columns.costly):
        for start in range(0, len(chunk), rows):
            part = chunk.batch.slice(start, rows)
            yield ColumnBatch(chunk.where, chunk.rows[start : start + rows], part)


def _look(
    files: LogFiles,
    policy: LogitPolicy,
    actions: ActionReader,
    skimmed: Skimmed,
    contexts: ContextLogits | None,
    place: NDArray[np.int64] | None,
) -> Iterator[_Seen]:
    """Actions and the policy's logits, batch by batch."""
    done = 0
    for chunk in _lots(files, policy.space.size):
        at = slice(done, done + len(chunk))
        done += len(chunk)
        action = actions(chunk)
        x = None
        if contexts is not None and place is not None:
            logits = contexts.logits[place[skimmed.context[at]]]
        else:
            x = chunk.features(files.columns.features)
            check_features(x, policy.features, chunk.where, chunk.rows)
            logits = policy.logits(x)
        yield _Seen(at, logits, action, x, chunk)


def _fill(log: ScoredLog, seen: _Seen, files: LogFiles, space: ActionSpace) -> None:
    """Write the scores of a chunk into the arrays of the log."""
    likeliest = space.greedy(seen.logits)
    log.log_target[seen.at] = space.log_probability(seen.logits, seen.action)
    log.log_greedy[seen.at] = space.log_probability(seen.logits, likeliest)
    log.is_greedy[seen.at] = space.same(likeliest, seen.action)
    if log.log_average is not None:
        table = seen.chunk.log_propensities(files.columns)
        own, logger = log.log_propensity[seen.at], log.logger[seen.at]
        check_propensities(table, own, logger, log.names, seen.chunk.where)
        log.log_average[seen.at] = log_mixture(table, log.counts)
