"""What must not be evaluated as if all were well: rows of a handful of contexts, and weights beyond measure.

A handful of contexts says nothing of how others differ from them. With one context, or one per logger, every
resample of contexts is the log itself and every interval has the width 0. So rows are resampled instead, and
no estimate is trusted.
"""

from dataclasses import replace

import numpy as np

from multilogger.components.errors import BadInput
from multilogger.components.evaluation.context_sums import ScoredLog

# Choice: with fewer clusters than about twenty a bootstrap over clusters is known to be too sure of itself.
FEWEST_CONTEXTS = 20
LARGEST_WEIGHT = 1e90  # its cube, which the intervals are made of, is still a number


def fewest_contexts(log: ScoredLog) -> int | None:
    """The contexts of the log, or of the logger that met the fewest, where they are too few; else None.

    Few rows alone are no such case: a logger with ten rows of ten contexts is resampled as it is.
    """
    if log.contexts < FEWEST_CONTEXTS and log.rows >= 2 * log.contexts:
        return log.contexts
    pairs = np.unique(np.stack([log.logger, log.context]), axis=1)
    met = np.bincount(pairs[0], minlength=log.loggers)
    few = met[(met < FEWEST_CONTEXTS) & (log.counts >= 2 * met)]
    return int(few.min()) if len(few) else None


def guarded(log: ScoredLog) -> tuple[ScoredLog, int | None]:
    """The log, every row a context of its own where contexts are too few; and how few they are."""
    few = fewest_contexts(log)
    return (log, None) if few is None else (replace(log, context=np.arange(log.rows)), few)


def few_contexts_lines(contexts: int | None) -> tuple[str, ...]:
    """What a reader must know of the intervals, if anything."""
    if contexts is None:
        return ()
    return (
        f"the rows of the log, or of one logger, name only {contexts} different contexts ({FEWEST_CONTEXTS} "
        "are the least): rows were resampled instead; give each context its own id, or leave the column "
        "context out",
    )


def check_weights(log: ScoredLog) -> None:
    """Refuse weights beyond measure."""
    row = int(np.argmax(log.weights))
    if log.weights[row] > LARGEST_WEIGHT:
        raise BadInput(
            f"a row of logger {log.names[log.logger[row]]} has the weight {log.weights[row]:.3g} (its "
            f"propensity is {np.exp(log.log_propensity[row]):.3g}), no estimate can be made from it; mend "
            "its propensity, or drop the row"
        )
