"""A log with any columns as those read it who know the usual ones: losses, log propensities, features `x`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.features.frames import Rows
from multilogger.components.log.columns import LogColumns
from multilogger.components.log.files import ColumnBatch, LogFiles
from multilogger.components.log.memory import densify
from multilogger.components.log.unreadable import unchanged
from multilogger.components.own_log.mapping import Mapping, Wanted, resolve
from multilogger.components.own_log.read_rows import (
    both_propensities,
    check_rewards,
    label_vectors,
    loggers_of,
    outcomes_of,
    own_propensity,
    table_of,
)
from multilogger.components.own_log.same_columns import check_same_columns
from multilogger.components.own_log.source import OpenSource
from multilogger.components.own_log.survey import Stated, order_labels, stated_by


@dataclass(frozen=True, kw_only=True)
class MappedFiles(LogFiles):
    """An open log whose rows are put in order as they are read; see `mapped_files`.

    `lacking` says that rows have no propensity: the log has to be completed before it can be weighed.
    """

    source: OpenSource
    mapping: Mapping
    encoding: FeatureColumns | None
    labels: tuple[object, ...]
    best: float
    count: int
    most: float | None
    lacking: bool = False

    @property
    def rows(self) -> int:
        return self.count

    @property
    def max_loss(self) -> float | None:
        return self.most

    def said(self) -> object:
        return self.source.source.said()

    @property
    def stated_loggers(self) -> set[object]:
        return set()

    def batches(self, names: list[str]) -> Iterator[ColumnBatch]:
        m = self.mapping
        wanted = [*m.named, *(self._features if "x" in names else ())]
        for rows in self.source.batches([*wanted, *(["validation"] if self.columns.validation else [])]):
            kept = self._kept(rows)
            if kept is not None:
                yield ColumnBatch(kept.where, kept.numbers_of_rows, self._batch(kept, names))

    @property
    def _features(self) -> tuple[str, ...]:
        if self.encoding is None:
            return self.mapping.features
        return tuple(column.name for column in self.encoding.columns)

    def _kept(self, rows: Rows) -> Rows | None:
        """The rows of the side that is asked for; None if there are none."""
        if self.validation is None:
            return rows
        side = (rows.numbers("validation", "validation") == 1) == self.validation
        return rows.only(side) if side.any() else None

    def _batch(self, rows: Rows, names: list[str]) -> Any:
        """The usual columns of some rows, as Arrow has them."""
        import pyarrow as pa

        made = {name: getattr(self, f"_{name}")(rows) for name in names}
        return pa.RecordBatch.from_pydict(made, metadata=self.dataset.schema.metadata)

    def _logger(self, rows: Rows) -> Any:
        import pyarrow as pa

        who = loggers_of(rows, self.mapping)
        if self.mapping.logger is not None:
            return rows.column(self.mapping.logger, "logger").combine_chunks()
        return pa.array(who.values).take(pa.array(who.place))

    def _action(self, rows: Rows) -> Any:
        m = self.mapping
        if not m.labels:
            return rows.column(m.action[0], "action").combine_chunks()
        return _lists(label_vectors(rows, m))

    def _loss(self, rows: Rows) -> Any:
        import pyarrow as pa

        values = outcomes_of(rows, self.mapping)
        return pa.array(self.best - values if self.mapping.is_reward else values)

    def _context(self, rows: Rows) -> Any:
        return rows.column(str(self.mapping.context), "context").combine_chunks()

    def _validation(self, rows: Rows) -> Any:
        import pyarrow as pa

        return pa.array(rows.numbers("validation", "validation") == 1)

    def _log_propensity(self, rows: Rows) -> Any:
        import pyarrow as pa

        return pa.array(self._propensities(rows)[0])

    def _log_propensities(self, rows: Rows) -> Any:
        return _lists(self._propensities(rows)[1])

    def _propensities(self, rows: Rows) -> tuple[Vector, Matrix]:
        who = loggers_of(rows, self.mapping)
        place = {label: j for j, label in enumerate(self.labels)}
        logger = np.array([place[label] for label in who.values], dtype=np.int64)[who.place]
        return both_propensities(rows, self.mapping, logger, tuple(str(label) for label in self.labels))

    def _x(self, rows: Rows) -> Any:
        if self.encoding is not None:
            return _lists(densify(self.encoding.assemble(rows, False)[0]))
        m = self.mapping
        return _lists(rows.matrix(m.features if len(m.features) > 1 else m.features[0], "features"))


def mapped_files(
    source: OpenSource, wanted: Wanted, stated: Stated, encoding: FeatureColumns | None
) -> MappedFiles:
    """A log to judge a policy by: its features encoded as the policy's log was, or numbers as they are.

    One pass finds the loggers, and the range of rewards unless it is stated.
    """
    schema, path = source.schema, source.source.path
    known = tuple(column.name for column in encoding.columns) if encoding is not None else wanted.features
    mapping = resolve(replace(wanted, features=known), schema, path)
    check_same_columns(source, mapping)
    said, seen = stated_by(source, stated), set[object]()
    low, high, count, lacking = np.inf, -np.inf, 0, False
    with unchanged(path, source.source.said):
        for rows in source.batches(mapping.named):
            seen |= set(loggers_of(rows, mapping).values)
            values = outcomes_of(rows, mapping)
            if mapping.is_reward and said.reward_range is not None:
                check_rewards(rows, values, *said.reward_range)
            low, high = min(low, float(values.min())), max(high, float(values.max()))
            count += len(rows)
            lacking = lacking or lacks_propensities(rows, mapping)
    low, high = said.reward_range or (low, high)
    columns = LogColumns(
        loss="loss",
        propensity="log_propensity",
        propensities="log_propensities" if mapping.propensities else None,
        context=None if mapping.context is None else "context",
        features=("x",),
        validation="validation" if "validation" in source.names else None,
    )
    return MappedFiles(
        dataset=_Schema(_action_schema(mapping, schema)),
        columns=columns,
        base=Path(path),
        source=source,
        mapping=mapping,
        encoding=encoding,
        labels=tuple(sorted(seen, key=order_labels)),
        best=high,
        count=count,
        most=high - low if mapping.is_reward else said.max_loss,
        lacking=lacking,
    )


def lacks_propensities(rows: Rows, mapping: Mapping) -> bool:
    """Whether some row has no propensity of its own, and none among those under every logger."""
    gaps = np.isnan(own_propensity(rows, mapping))
    if mapping.propensities:
        gaps &= np.isnan(table_of(rows, mapping)).any(axis=1)
    return bool(gaps.any())


@dataclass(frozen=True)
class _Schema:
    """Where readers look for the kind of actions."""

    schema: Any


def _action_schema(mapping: Mapping, schema: Any) -> Any:
    import pyarrow as pa

    if not mapping.labels:
        return pa.schema([pa.field("action", schema.field(mapping.action[0]).type)])
    several = len(mapping.action) > 1
    kind = pa.list_(pa.int8(), len(mapping.action)) if several else schema.field(mapping.action[0]).type
    return pa.schema([pa.field("action", kind)])


def _lists(values: NDArray[Any]) -> Any:
    import pyarrow as pa

    flat = pa.array(np.ascontiguousarray(values).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
