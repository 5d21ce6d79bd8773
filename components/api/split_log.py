"""Some rows of a log: which of them go to the second side of a split, and a log of them alone."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.api.bandit_log import BanditLog
from multilogger.components.errors import BadInput

SPLITS = ("context", "row", "time")


def check_seed(seed: object) -> int:
    """A seed of any draw."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise BadInput(f"seed must be a whole number of at least 0, got {seed!r}")
    return int(seed)


def is_number(value: object) -> bool:
    """Whether a value is a finite number, neither a word nor yes or no."""
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def check_share(name: str, share: Any) -> float:
    """The share of a log that goes to one side."""
    if not is_number(share) or not 0 < share < 1:
        raise BadInput(f"{name} must be a number between 0 and 1, got {share!r}; it is a share of the log")
    return float(share)


def split_rows(log: BanditLog, share: float, by: str, seed: int, stream: str = "test") -> NDArray[np.bool_]:
    """True for the rows of the second side: (n,). `stream` keeps draws of one seed for two uses apart."""
    share = check_share("validation_fraction" if stream == "validation" else stream, share)
    seed = check_seed(seed)
    if by not in SPLITS:
        raise BadInput(f"a split is by {', '.join(SPLITS[:-1])} or {SPLITS[-1]}, got {by!r}")
    if by == "time":
        chosen = _last(log, share)
    else:
        rng = np.random.default_rng([seed, *stream.encode()])
        things = int(log.x.shape[0]) if by == "context" else len(log)
        kept = np.zeros(things, dtype=np.bool_)
        kept[rng.permutation(things)[: round(share * things)]] = True
        chosen = kept[log.context] if by == "context" else kept
    _check_loggers(log, chosen, by)
    return chosen


def _last(log: BanditLog, share: float) -> NDArray[np.bool_]:
    """The last rows by time; rows of one time stay together."""
    if log.time is None:
        raise BadInput("a split by time needs the column of times; name it with time= when the log is read")
    order = np.sort(log.time)
    return np.asarray(log.time >= order[len(log) - round(share * len(log))])


def _check_loggers(log: BanditLog, chosen: NDArray[np.bool_], by: str) -> None:
    for side, rows in (("first", ~chosen), ("second", chosen)):
        counts = np.bincount(log.logger[rows], minlength=len(log.loggers))
        if (counts == 0).any():
            name = log.loggers[int(np.flatnonzero(counts == 0)[0])]
            raise BadInput(
                f"split by {by}, logger {name} has no rows on the {side} side; change the share or the seed, "
                "split by row, or drop the logger"
            )


def take_rows(log: BanditLog, rows: NDArray[np.integer[Any]]) -> BanditLog:
    """Some rows with their contexts alone: what is fitted to contexts must not see the others."""
    used, context = np.unique(log.context[rows], return_inverse=True)
    return replace(
        log,
        x=log.x[used],
        context=context.astype(np.int64),
        action=log.action[rows],
        loss=log.loss[rows],
        log_propensity=log.log_propensity[rows],
        logger=log.logger[rows],
        log_propensities=None if log.log_propensities is None else log.log_propensities[rows],
        time=None if log.time is None else log.time[rows],
        validation=None if log.validation is None else log.validation[rows],
        truth=None if log.truth is None else log.truth[used],
        estimated=None if log.estimated is None else log.estimated[rows],
    )


def rows_of_loggers(log: BanditLog, wanted: Sequence[str]) -> BanditLog:
    """The rows of some loggers alone, in a log that knows no others."""
    if unknown := [name for name in wanted if name not in log.loggers]:
        raise BadInput(f"the loggers are {', '.join(log.loggers)}, got {unknown[0]!r}; name one of them")
    if not wanted:
        raise BadInput(f"name one or more of the loggers {', '.join(log.loggers)}")
    kept = [j for j, name in enumerate(log.loggers) if name in wanted]
    part = take_rows(log, np.flatnonzero(np.isin(log.logger, kept)))
    policies = tuple(log.logger_policies[j] for j in kept) if log.logger_policies else ()
    return replace(
        part,
        logger=np.searchsorted(kept, part.logger).astype(np.int64),
        loggers=tuple(log.loggers[j] for j in kept),
        log_propensities=None if part.log_propensities is None else part.log_propensities[:, kept],
        estimated=None if part.estimated is None else part.estimated[:, kept],
        logger_policies=policies,
        propensity_report=None,
    )
