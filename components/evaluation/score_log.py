"""From a log on disk and a policy to the arrays that the estimators need, in streaming passes.

First the cheap columns: they are checked, and loggers and contexts numbered. Then actions and contexts, batch
by batch: the policy's probabilities, and the model of the loss. Last its predictions, each row by a fit that
has not seen the row's context.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.doubly_robust import ModelledLoss
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.context_logits import ContextLogits, Policy
from multilogger.components.evaluation.log_checks import (
    check_features,
    check_loggers,
    check_losses,
    check_propensities,
    checked_actions,
    checked_log_propensity,
)
from multilogger.components.evaluation.log_reader import (
    Chunk,
    Indexed,
    LogFiles,
    index_labels,
)
from multilogger.components.evaluation.loss_model import CrossFitted, LabelRidge, draw_folds
from multilogger.components.evaluation.scored_log import Contexts, ScoredLog
from multilogger.components.importance import log_mixture
from multilogger.components.logged_batch import Loggers
from multilogger.components.policies import Actions, Matrix, Vector, greedy, log_probability

Advance = Callable[[float], None]


@dataclass(frozen=True)
class Scored:
    """A log under a policy, and what a cross-fitted model of the loss says of its rows."""

    log: ScoredLog
    model: ModelledLoss | None
    contexts_known: bool


@dataclass(frozen=True)
class _Skimmed:
    names: tuple[str, ...]
    logger: Loggers
    context: Contexts
    context_labels: tuple[Any, ...] | None
    delta: Vector
    log_propensity: Vector


@dataclass(frozen=True)
class _Seen:
    """Rows of a chunk: their place in the log, logits, actions, and the chunk itself."""

    at: slice
    logits: Matrix
    action: Actions
    chunk: Chunk


def score_log(
    files: LogFiles,
    policy: Policy,
    rng: np.random.Generator,
    contexts: ContextLogits | None = None,
    max_loss: float | None = None,
    advance: Advance = lambda _: None,
) -> Scored:
    """Read a log under a policy; `advance` is told of rows read, three times each."""
    largest = float(policy.labels) if max_loss is None else max_loss
    skimmed = _skim(files, largest, advance)
    place = None if contexts is None else _places(skimmed, contexts)
    log = _empty_scores(skimmed, files, largest)
    folds = draw_folds(log.contexts, rng)
    model: CrossFitted = LabelRidge(policy.labels, int(folds.max()) + 1)
    for seen in _look(files, policy, skimmed, contexts, place):
        _fill(log, seen, files)
        model.add(folds[log.context[seen.at]], seen.logits, seen.action, log.delta[seen.at])
        advance(len(seen.action))
    if log.contexts < 2:
        return Scored(log, None, skimmed.context_labels is not None)
    model.fit()
    predicted = ModelledLoss(np.zeros(log.rows), np.zeros(log.rows))
    for seen in _look(files, policy, skimmed, contexts, place):
        part = model.predict(folds[log.context[seen.at]], seen.logits, seen.action)
        predicted.q_logged[seen.at], predicted.q_target[seen.at] = part.q_logged, part.q_target
        advance(len(seen.action))
    checked = replace(predicted)  # the checks of its values, now that they are there
    return Scored(log, checked, skimmed.context_labels is not None)


def _skim(files: LogFiles, max_loss: float, advance: Advance) -> _Skimmed:
    columns = files.columns
    loggers, contexts, losses, propensities = [], [], [], []
    for chunk in files.chunks(columns.cheap):
        delta = chunk.numbers(columns.loss)
        check_losses(delta, max_loss, chunk.where, chunk.rows)
        log_propensity = chunk.numbers(columns.propensity)
        propensities.append(checked_log_propensity(log_propensity, columns.is_log, chunk.where, chunk.rows))
        losses.append(delta)
        loggers.append(chunk.batch.column(columns.logger))
        if columns.context is not None:
            contexts.append(chunk.batch.column(columns.context))
        advance(len(chunk))
    if not losses:
        raise BadInput(
            "the log has no rows" + (" for validation; use --all-rows" if files.validation_only else "")
        )
    logger = index_labels(loggers, columns.logger)
    context = index_labels(contexts, "context") if contexts else None
    _check_stated(files, logger)
    names = tuple(str(label) for label in logger.labels)
    delta = np.concatenate(losses)
    check_loggers(names, logger.index, delta)
    return _Skimmed(
        names=names,
        logger=logger.index,
        context=np.arange(len(delta)) if context is None else context.index,
        context_labels=None if context is None else context.labels,
        delta=delta,
        log_propensity=np.concatenate(propensities),
    )


def _check_stated(files: LogFiles, logger: Indexed) -> None:
    silent = files.stated_loggers - set(logger.labels)
    if silent:
        which = ", ".join(sorted(str(name) for name in silent))
        side = " for validation" if files.validation_only else ""
        raise BadInput(f"logger {which} has a folder but no rows{side}; remove it, or use other rows")


def _places(skimmed: _Skimmed, contexts: ContextLogits) -> NDArray[np.int64]:
    """Where the logits of each numbered context stand."""
    labels = skimmed.context_labels or ()
    unknown = [label for label in labels if label not in contexts.place]
    if unknown:
        raise BadInput(
            f"{len(unknown)} contexts of the log are not among the {len(contexts.place)} contexts given, the "
            f"first being {unknown[0]!r}; give all of them"
        )
    return np.array([contexts.place[label] for label in labels], dtype=np.int64)


def _empty_scores(skimmed: _Skimmed, files: LogFiles, max_loss: float) -> ScoredLog:
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


def _look(
    files: LogFiles,
    policy: Policy,
    skimmed: _Skimmed,
    contexts: ContextLogits | None,
    place: NDArray[np.int64] | None,
) -> Iterator[_Seen]:
    """Actions and the policy's logits, batch by batch."""
    done = 0
    for chunk in files.chunks(files.columns.dear):
        at = slice(done, done + len(chunk))
        done += len(chunk)
        raw = chunk.matrix(files.columns.action)
        action = checked_actions(raw, policy.labels, chunk.where, chunk.rows)
        if contexts is not None and place is not None:
            logits = contexts.logits[place[skimmed.context[at]]]
        else:
            x = chunk.features(files.columns.features)
            check_features(x, policy.features, chunk.where, chunk.rows)
            logits = policy.logits(x)
        yield _Seen(at, logits, action, chunk)


def _fill(log: ScoredLog, seen: _Seen, files: LogFiles) -> None:
    """Write the scores of a chunk into the arrays of the log."""
    likeliest = greedy(seen.logits)
    log.log_target[seen.at] = log_probability(seen.logits, seen.action)
    log.log_greedy[seen.at] = log_probability(seen.logits, likeliest)
    log.is_greedy[seen.at] = (likeliest == seen.action).all(axis=1)
    name = files.columns.propensities
    if name is not None and log.log_average is not None:
        table = seen.chunk.matrix(name)
        if not files.columns.are_log:
            with np.errstate(divide="ignore", invalid="ignore"):
                table = np.log(table)
        own, logger = log.log_propensity[seen.at], log.logger[seen.at]
        check_propensities(table, own, logger, log.names, seen.chunk.where)
        log.log_average[seen.at] = log_mixture(table, log.counts)
