"""The first pass over a log: losses, propensities, and who acted where; no actions, no features."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import check_losses, checked_log_propensity
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.evaluation.context_logits import ContextLogits
from multilogger.components.evaluation.context_sums import Contexts
from multilogger.components.log.checks import check_loggers
from multilogger.components.log.files import LogFiles, index_labels

Advance = Callable[[float], None]


@dataclass(frozen=True)
class Skimmed:
    """The cheap columns of a log, (n,) each; loggers and contexts count from 0 in the order of labels."""

    names: tuple[str, ...]
    logger: Loggers
    context: Contexts
    context_labels: tuple[Any, ...] | None
    delta: Vector
    log_propensity: Vector


def skim(files: LogFiles, max_loss: float, advance: Advance) -> Skimmed:
    """Read and check the cheap columns; `advance` is told of rows read."""
    columns = files.columns
    loggers, contexts, losses, propensities = [], [], [], []
    for chunk in files.batches(columns.cheap):
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
            "the log has no rows"
            + (" for validation; use --all-rows" if files.validation else "; check the filter that made it")
        )
    logger = index_labels(loggers, columns.logger)
    context = index_labels(contexts, "context") if contexts else None
    check_stated(files, logger.labels)
    names = tuple(str(label) for label in logger.labels)
    delta = np.concatenate(losses)
    check_loggers(names, logger.index, delta)
    return Skimmed(
        names=names,
        logger=logger.index,
        context=np.arange(len(delta)) if context is None else context.index,
        context_labels=None if context is None else context.labels,
        delta=delta,
        log_propensity=np.concatenate(propensities),
    )


def check_stated(files: LogFiles, labels: Sequence[object]) -> None:
    """Refuse loggers that a folder names and no row has."""
    silent = files.stated_loggers - set(labels)
    if silent:
        which = ", ".join(sorted(str(name) for name in silent))
        side = " for validation" if files.validation else ""
        raise BadInput(f"logger {which} has a folder but no rows{side}; remove it, or use other rows")


def context_places(skimmed: Skimmed, contexts: ContextLogits) -> NDArray[np.int64]:
    """Where the logits of each numbered context stand."""
    labels = skimmed.context_labels or ()
    unknown = [label for label in labels if label not in contexts.place]
    if unknown:
        raise BadInput(
            f"{len(unknown)} contexts of the log are not among the {len(contexts.place)} contexts given, the "
            f"first being {unknown[0]!r}; give all of them"
        )
    return np.array([contexts.place[label] for label in labels], dtype=np.int64)
