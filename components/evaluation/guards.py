"""What must not be evaluated as if all were well: rows of a handful of contexts, and weights beyond measure.

A handful of contexts says nothing of how others differ from them. With one context, or one per logger, every
resample of contexts is the log itself and every interval has the width 0. So rows are resampled instead, and
no estimate is trusted.
"""

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.context_sums import ScoredLog

# Choice: with fewer clusters than about twenty a bootstrap over clusters is known to be too sure of itself.
FEWEST_CONTEXTS = 20
LARGEST_WEIGHT = 1e90  # its cube, which the intervals are made of, is still a number


def fewest_contexts(met: Vector, counts: Vector) -> int | None:
    """The contexts of the log, or of the logger that met the fewest, where they are too few; else None.

    `met` (J + 1,) are those of each logger's `counts` (J,) rows, and of all. Few rows alone are no such case:
    a logger with ten rows of ten contexts is resampled as it is.
    """
    if met[-1] < FEWEST_CONTEXTS and counts.sum() >= 2 * met[-1]:
        return int(met[-1])
    own = met[:-1]
    few = own[(own < FEWEST_CONTEXTS) & (counts >= 2 * own)]
    return int(few.min()) if len(few) else None


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
