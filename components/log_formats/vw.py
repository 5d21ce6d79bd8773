"""Logs of Vowpal Wabbit: `action:cost:probability | features`, or events of `--cb_adf`."""

import bz2
import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from multilogger.components.datasets.labelled_data import SPARSE_BELOW, Features
from multilogger.components.errors import BadInput, first_line
from multilogger.components.log_formats.vw_text import Line, read_line
from multilogger.components.own_log.packed_files import check_unpacked

OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}


@dataclass(frozen=True)
class VwRows:
    """x (n, d) with the names of its features; the others are of n rows. `actions` are all there are."""

    x: Features
    names: tuple[str, ...]
    action: list[int] | list[str]
    actions: list[int] | list[str] | None
    cost: list[float]
    probability: list[float]
    logger: list[str]


@dataclass
class _Rows:
    """Rows as they are read; features by number, in the order of their first appearance."""

    place: dict[str, int] = field(default_factory=dict)
    values: list[float] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=lambda: [0])
    action: list[str] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    probability: list[float] = field(default_factory=list)
    logger: list[str] = field(default_factory=list)
    offered: dict[str, None] | None = None  # the actions of --cb_adf, in the order of the first event

    def add(self, features: Sequence[tuple[str, float]], taken: Line, action: str, logger: str) -> None:
        for name, value in features:
            self.columns.append(self.place.setdefault(name, len(self.place)))
            self.values.append(value)
        self.ends.append(len(self.columns))
        if taken.label is None:
            raise BadInput(f"{taken.where}: the line has no label; drop it, as nobody acted there")
        self.action.append(action)
        self.cost.append(taken.label.cost)
        self.probability.append(taken.label.probability)
        self.logger.append(logger)


def read_vw(
    files: Mapping[Any, str | Path],
    actions: int | Sequence[int | str] | None,
    cost_range: tuple[float, float] | None,
    max_bytes: int | None = None,
) -> VwRows:
    """Files by the names of their loggers; `max_bytes` is what a compressed one may unpack to."""
    from pyarrow import fs

    check_unpacked([Path(path).absolute() for path in files.values()], fs.LocalFileSystem(), max_bytes)
    rows = _Rows()
    for logger, path in files.items():
        before = len(rows.action)
        for event in _events(Path(path)):
            _add_event(rows, event, str(logger))
            _check_cost(rows.cost[-1], cost_range, event[0].where)
        if len(rows.action) == before:
            raise BadInput(f"{path} has no rows; give a log with at least one line")
    if not rows.place:
        raise BadInput("the log has no features behind its bars; a policy needs some to decide by")
    if cost_range is None and min(rows.cost) == max(rows.cost):
        raise BadInput(
            f"costs must vary, got {rows.cost[0]:g} in every line; give the least and the largest "
            "possible one as cost_range"
        )
    names = tuple(rows.place)
    shape = (len(rows.action), len(names))
    x = sparse.csr_array((rows.values, rows.columns, rows.ends), shape=shape, dtype=np.float32)
    x.sum_duplicates()
    dense = x.nnz >= SPARSE_BELOW * shape[0] * shape[1]
    taken, known = _ids(rows, actions)
    return VwRows(x.toarray() if dense else x, names, taken, known, rows.cost, rows.probability, rows.logger)


def _check_cost(cost: float, cost_range: tuple[float, float] | None, where: str) -> None:
    if cost_range is not None and not cost_range[0] <= cost <= cost_range[1]:
        raise BadInput(f"{where}: the cost is {cost:g}, outside cost_range {cost_range}; widen it")


def _ids(
    rows: _Rows, actions: int | Sequence[int | str] | None
) -> tuple[list[int] | list[str], list[int] | list[str] | None]:
    """The action of every row, and the list of all; numbers where all of them are."""
    if isinstance(actions, int):
        listed: list[Any] | None = list(range(1, actions + 1))
    else:
        listed = None if actions is None else list(actions)
    if rows.offered is not None:
        return rows.action, list(rows.offered) if listed is None else listed
    if all(action.isdecimal() for action in rows.action):
        return [int(action) for action in rows.action], listed
    return rows.action, listed


def _add_event(rows: _Rows, event: list[Line], logger: str) -> None:
    """One line of --cb, or an event of --cb_adf: the context, then one line per action."""
    if not event[0].shared:
        if rows.offered is not None:
            raise BadInput(f"{event[0].where}: an event of --cb_adf begins with a line 'shared |'; add it")
        for line in event:
            rows.add(line.features, line, "" if line.label is None else line.label.action, logger)
        return
    context, offers = event[0], event[1:]
    if rows.offered is None and rows.action:
        raise BadInput(
            f"{context.where}: lines before were 'action:cost:probability | features'; keep both kinds in "
            "files of their own"
        )
    taken = [line for line in offers if line.label is not None]
    if len(taken) != 1:
        raise BadInput(
            f"{context.where}: of an event's {len(offers)} actions one has the label "
            f"'action:cost:probability', got {len(taken)}; label the one that was taken"
        )
    ids = dict.fromkeys(line.text for line in offers)
    rows.offered = rows.offered or ids
    if len(ids) < len(offers):
        raise BadInput(f"{context.where}: two actions of the event have the same features; tell them apart")
    if ids.keys() != rows.offered.keys():
        odd = next(iter(ids.keys() ^ rows.offered.keys()))
        raise BadInput(
            f"{context.where}: every event must offer the same actions, {odd!r} is not in all; learn from "
            "the events that offer the same ones"
        )
    rows.add(context.features, taken[0], taken[0].text, logger)


def _events(path: Path) -> Iterator[list[Line]]:
    """Lines one by one; the lines of an event, which an empty line ends, together."""
    event: list[Line] = []
    for number, text in _lines(path):
        if not text.strip():
            if event:
                yield event
            event = []
            continue
        line = read_line(text.rstrip("\r\n"), f"{path}, line {number}")
        if line.shared and event:
            yield event
            event = []
        if event or line.shared:
            event.append(line)
        else:
            yield [line]
    if event:
        yield event


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    if not path.is_file():
        raise BadInput(f"there is no file {path}; give text of Vowpal Wabbit")
    opener = OPENERS.get(path.suffix, Path.open)
    number = 0
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                yield number, line
    except (UnicodeDecodeError, OSError, EOFError) as error:
        raise BadInput(
            f"{path}, after line {number}: cannot be read as text ({first_line(error)}); write it again "
            "as UTF-8, compressed files with .gz or .bz2"
        ) from error
