"""What a log must look like before an estimator sees it."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from multilogger.components.errors import BadInput
from multilogger.components.estimators.logged_batch import LoggedBatch

GOOD = LoggedBatch(
    logger=np.array([0, 1, 1]),
    delta=np.array([0.0, 1.0, 3.0]),
    log_propensity=np.log([0.5, 0.25, 0.2]),
    log_target=np.log([0.1, 0.2, 0.3]),
    max_loss=3.0,
    log_propensities=np.log([[0.5, 0.1], [0.4, 0.25], [0.1, 0.2]]),
)


def test_counts_and_loggers() -> None:
    assert (GOOD.rows, GOOD.loggers, GOOD.counts.tolist()) == (3, 2, [1.0, 2.0])
    assert replace(GOOD, log_propensities=None).loggers == 2


def test_another_logger_may_never_have_taken_the_action() -> None:
    table = np.log([[0.5, 0.1], [0.4, 0.25], [0.1, 0.2]])
    table[0, 1] = -math.inf
    assert replace(GOOD, log_propensities=table).loggers == 2


def with_own(values: list[float]) -> dict[str, object]:
    return {"log_propensity": np.array(values), "log_propensities": None}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"delta": np.zeros(2)},
            "a log needs columns of one length, got logger (3,), delta (2,), log_propensity (3,), "
            "log_target (3,); take all of them from the same rows",
        ),
        (
            {name: np.zeros(0) for name in ("delta", "log_propensity", "log_target")}
            | {"logger": np.zeros(0, dtype=np.int64)},
            "a log needs at least one row, got none; check the split or the filter that made it",
        ),
        (
            {"delta": np.array([0.0, math.nan, 1.0])},
            "the log, row 1: the loss is missing, NaN or infinite; fill it in or drop the row",
        ),
        (
            {"delta": np.array([0.0, 1.0, math.inf])},
            "the log, row 2: the loss is missing, NaN or infinite; fill it in or drop the row",
        ),
        (
            {"delta": np.array([0.0, 1.0, 3.5])},
            "the log, row 2: the loss is 3.5, above the largest loss 3; was the policy learned on this "
            "problem? If so, say the largest possible one, max_loss or --max-loss",
        ),
        (
            {"delta": np.array([-1.0, 1.0, 3.0])},
            "the log, row 0: the loss is -1, below 0; shift losses, or turn rewards r into losses, "
            "largest r minus r",
        ),
        (
            {"max_loss": 0.0},
            "max_loss must be a number above 0, got 0.0; for Hamming loss it is the label count",
        ),
        (
            with_own([-1.0, math.nan, -1.0]),
            "the log, row 1: log_propensity is missing or NaN; log it when the action is taken, "
            "or drop the row",
        ),
        (
            with_own([-1.0, -1.0, 0.5]),
            "the log, row 2: log_propensity is 0.5, a propensity above 1; "
            "give the natural logarithm of a probability",
        ),
        (
            with_own([-math.inf, -1.0, -1.0]),
            "the log, row 0: log_propensity is -inf, a propensity of 0 for an action that was taken; "
            "log the probability at the time of the action",
        ),
        (
            {"log_target": np.array([-1.0, 0.1, -1.0])},
            "log_target of row 1 is 0.1, not the logarithm of a probability; is the policy's output finite?",
        ),
        (
            {"log_target": np.array([math.nan, -0.1, -1.0])},
            "log_target of row 0 is nan, not the logarithm of a probability; is the policy's output finite?",
        ),
        (
            {"log_propensities": np.zeros((2, 2))},
            "log_propensities needs one row per logged action and one column per logger, "
            "got shape (2, 2) for 3 rows",
        ),
        (
            {"log_propensities": np.full((3, 2), math.nan)},
            "the log: the propensities under every logger hold NaN or a propensity above 1; give "
            "probabilities, or their natural logarithms as log_propensities",
        ),
        (
            {"log_propensities": np.log([[0.5], [0.4], [0.1]])},
            "logger ids must lie in 0..0, the columns of log_propensities, got 0 to 1; "
            "number the loggers from 0",
        ),
        (
            {"log_propensities": np.log([[0.1, 0.5], [0.25, 0.4], [0.2, 0.1]])},
            "the log: a row of logger 0 has log propensity -0.693147, but -2.30259 in its place among all "
            "loggers; order the list as 0, 1",
        ),
        (
            {"logger": np.array([-1, 0, 1]), "log_propensities": None},
            "logger ids count from 0, got -1; number them so",
        ),
        (
            {"logger": np.array([0, 2, 2]), "log_propensities": None},
            "logger 1 of 3 has no rows; drop it, and number the others from 0",
        ),
        (
            {"log_propensities": np.log([[0.5, 0.1, 0.1], [0.4, 0.25, 0.1], [0.1, 0.2, 0.1]])},
            "logger 2 of 3 has no rows; drop it, and number the others from 0",
        ),
    ],
)
def test_bad_input(change: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        replace(GOOD, **change)  # type: ignore[arg-type]
