"""Logged interactions of Coba as a table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from multilogger.components.errors import BadInput

NEEDED = ("context", "action", "reward", "probability")


@dataclass(frozen=True)
class CobaRows:
    """An Arrow table of the rows, the columns that are features, and all actions if they are said."""

    table: Any
    features: tuple[str, ...]
    actions: list[int | str] | None


def read_coba(interactions: Iterable[Mapping[str, Any]], logger: str | None) -> CobaRows:
    """Dicts with context, action, reward and probability, one per row."""
    import pyarrow as pa

    contexts: list[dict[str, Any]] = []
    columns: dict[str, list[Any]] = {"action": [], "reward": [], "probability": []}
    if logger is not None:
        columns["logger"] = []
    offered: dict[int | str, None] | None = None
    for row, one in enumerate(interactions):
        _check(one, row, logger)
        contexts.append(_features(one["context"], row))
        columns["action"].append(_id(one["action"]))
        for key in ("reward", "probability"):
            columns[key].append(_number(one[key], key, row))
        if logger is not None:
            columns["logger"].append(one[logger])
        if one.get("actions"):
            ids = dict.fromkeys(_id(action) for action in one["actions"])
            offered = _same(offered, ids, row)
    if not contexts:
        raise BadInput("there are no interactions; give at least one")
    features = dict.fromkeys(name for context in contexts for name in context)
    if not features:
        raise BadInput(
            "the interactions have no features in their contexts; a policy needs some to decide by"
        )
    if clash := [name for name in columns if name in features]:
        raise BadInput(f"a feature of the context is called {clash[0]!r}, as is a part of the log; rename it")
    columns |= {name: _column(contexts, name) for name in features}
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    return CobaRows(table, tuple(features), None if offered is None else list(offered))


def _check(one: Any, row: int, logger: str | None) -> None:
    if not isinstance(one, Mapping):
        raise BadInput(f"interaction {row} must be a dict, got {type(one).__name__}")
    wanted = NEEDED if logger is None else (*NEEDED, logger)
    missing = [key for key in wanted if key not in one or (key != "context" and one[key] is None)]
    if missing:
        remedy = "log the probability with which the action was taken" if missing == ["probability"] else ""
        raise BadInput(
            f"interaction {row} has no {' and no '.join(missing)}; "
            + (remedy or f"it needs {', '.join(wanted)}")
        )


def _features(context: Any, row: int) -> dict[str, Any]:
    """The features of a context by name."""
    if context is None:
        return {}
    if isinstance(context, Mapping):
        named = {str(name): value for name, value in context.items()}
    elif isinstance(context, list | tuple):
        named = {f"x{i}": value for i, value in enumerate(context)}
    else:
        named = {"x0": context}
    for name, value in named.items():
        if not isinstance(value, Real | str):
            raise BadInput(
                f"interaction {row}: feature {name} must be a number or a word, got {type(value).__name__}; "
                "give lists and dicts item by item"
            )
    return named


def _column(contexts: list[dict[str, Any]], name: str) -> list[Any]:
    """One feature of all rows: numbers, 0 where there is none, or words, empty where there is none."""
    words = [row for row, context in enumerate(contexts) if isinstance(context.get(name), str)]
    if not words:
        return [float(context.get(name, 0.0)) for context in contexts]
    number = next((r for r, c in enumerate(contexts) if name in c and not isinstance(c[name], str)), None)
    if number is not None:
        raise BadInput(
            f"interaction {number}: feature {name} is a number, in interaction {words[0]} it is a word; make "
            "it one of them"
        )
    return [str(context.get(name, "")) for context in contexts]


def _id(action: Any) -> int | str:
    """An action by number or word; others by how they are written. Coba's words are kinds of `str`."""
    if isinstance(action, str):
        return str(action)
    return action if isinstance(action, int) else str(action)


def _number(value: Any, key: str, row: int) -> float:
    if not isinstance(value, Real):
        raise BadInput(f"interaction {row}: {key} must be a number, got {value!r}; mend it")
    return float(value)


def _same(
    offered: dict[int | str, None] | None, ids: dict[int | str, None], row: int
) -> dict[int | str, None]:
    if offered is not None and ids.keys() != offered.keys():
        odd = next(iter(ids.keys() ^ offered.keys()))
        raise BadInput(
            f"interaction {row}: every interaction must offer the same actions, {odd!r} is not in all; learn "
            "from those that offer the same ones"
        )
    return offered if offered is not None else ids
