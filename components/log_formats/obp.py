"""The `bandit_feedback` of Open Bandit Pipeline as a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multilogger.components.errors import BadInput, first_line

NEEDED = ("context", "action", "reward", "pscore")


@dataclass(frozen=True)
class ObpRows:
    """An Arrow table of the rows, and which of its columns say what."""

    table: Any
    features: tuple[str, ...]
    n_actions: int
    logger: str | None
    propensities: str | None


def read_obp(feedback: Mapping[str, Any], propensities: ArrayLike | None) -> ObpRows:
    """One dict, or one per logger by name."""
    import pyarrow as pa

    if not isinstance(feedback, Mapping) or not feedback:
        raise BadInput(
            "from_obp takes the bandit_feedback of Open Bandit Pipeline, or a mapping from each logger to "
            f"its own, got {type(feedback).__name__}"
        )
    named = all(isinstance(part, Mapping) for part in feedback.values())
    several = {str(name): part for name, part in feedback.items()} if named else {"": feedback}
    for name, part in several.items():
        _check(part, _called(name))
    width = _one_width(several)
    first = next(iter(several.values()))
    columns: dict[str, Any] = {}
    features = [f"x{i}" for i in range(width)]
    if (position := _positions(several)) is not None:
        columns["position"] = pa.array([str(one) for one in position.tolist()])
        features.append("position")
    for key in ("action", "reward", "pscore"):
        columns[key] = np.concatenate([_column(part, key) for part in several.values()])
    logger = None
    if named:
        logger = "logger"
        columns[logger] = pa.array([name for name, part in several.items() for _ in range(_rows(part))])
    elif first.get("stratum_idx") is not None:
        logger = "logger"
        columns[logger] = np.asarray(first["stratum_idx"])
    contexts = np.vstack([_context(part) for part in several.values()])
    _check_lengths({"context": len(contexts)} | {name: len(values) for name, values in columns.items()})
    columns |= {name: contexts[:, i] for i, name in enumerate(features[:width])}
    every = None
    if propensities is not None:
        every = "propensities"
        columns[every] = pa.array(np.asarray(propensities, dtype=np.float64).tolist())
    n_actions = max(_n_actions(part) for part in several.values())
    return ObpRows(pa.table(columns), tuple(features), n_actions, logger, every)


def _called(name: str) -> str:
    return f"the bandit_feedback of {name}" if name else "bandit_feedback"


def _check(part: Mapping[str, Any], where: str) -> None:
    """Refuse a dict without what a log needs."""
    unlogged = "pscore" in part and part["pscore"] is None  # Open Bandit Pipeline's word for it
    missing = [key for key in NEEDED if part.get(key) is None and not (key == "pscore" and unlogged)]
    if missing:
        raise BadInput(
            f"{where} has no {' and no '.join(missing)}; it needs {', '.join(NEEDED)} of every row"
            + (
                ": add the probabilities with which the logger acted, or None where they were not logged"
                if missing == ["pscore"]
                else ""
            )
        )
    if np.ndim(part["context"]) != 2:
        raise BadInput(
            f"context of {where} must be (n, d), one row of features each, got shape "
            f"{np.shape(part['context'])}"
        )
    if not unlogged and np.ndim(part["pscore"]) != 1:
        raise BadInput(
            f"pscore of {where} must be (n,), the probability of each row's own action, got shape "
            f"{np.shape(part['pscore'])}; take that of the row's position"
        )


def _one_width(several: Mapping[str, Mapping[str, Any]]) -> int:
    widths = {name: int(np.shape(part["context"])[1]) for name, part in several.items()}
    if len(set(widths.values())) > 1:
        found = ", ".join(f"{name} {width}" for name, width in widths.items())
        raise BadInput(
            f"the loggers' contexts must have the same features, got {found}; encode the rows of all loggers "
            "together: encoded apart, a column means something else in each"
        )
    return next(iter(widths.values()))


def _context(part: Mapping[str, Any]) -> NDArray[np.float64]:
    try:
        return np.asarray(part["context"], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"context must be an array of numbers ({first_line(error)}); encode words first"
        ) from error


def _rows(part: Mapping[str, Any]) -> int:
    return len(part["action"])


def _column(part: Mapping[str, Any], key: str) -> NDArray[Any]:
    if part[key] is None:  # propensities that were not logged
        return np.full(_rows(part), np.nan)
    return np.asarray(part[key])


def _n_actions(part: Mapping[str, Any]) -> int:
    stated = part.get("n_actions")
    return int(np.max(part["action"])) + 1 if stated is None else int(stated)


def _positions(several: Mapping[str, Mapping[str, Any]]) -> NDArray[Any] | None:
    """The position of every row, where there is more than one."""
    given = [part.get("position") for part in several.values()]
    if all(one is None for one in given):
        return None
    if any(one is None for one in given):
        name = next(name for name, part in several.items() if part.get("position") is None)
        raise BadInput(f"{_called(name)} has no position, another logger's has; add it, or leave out both")
    position = np.concatenate([np.asarray(one) for one in given])
    return position if len(np.unique(position)) > 1 else None


def _check_lengths(lengths: Mapping[str, int]) -> None:
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {rows}" for name, rows in lengths.items())
        raise BadInput(f"bandit_feedback needs one value per row everywhere, got {found} rows; mend it")
