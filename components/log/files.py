"""The reader of logs: Parquet files, streamed as batches of columns, for learning and evaluation alike.

A log is one file or a folder, with any labels for loggers and contexts. That of `replay` and a person's own
differ only in which columns are there. An Arrow table in memory is read as files are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.errors import BadInput, first_line, short
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.log.columns import LogColumns, find_columns
from multilogger.components.log.schema import read_facts
from multilogger.components.log.unreadable import READ_ERRORS, distinct, first_word, readable, without_views

BATCH_ROWS = 16384


@dataclass(frozen=True)
class ColumnBatch:
    """Some rows of one file: `where` it is, the `rows` (m,) within it, and an Arrow batch of them."""

    where: str
    rows: NDArray[np.int64]
    batch: Any

    def __len__(self) -> int:
        return len(self.rows)

    def numbers(self, name: str) -> Vector:
        """A column as float64, missing values as NaN: (m,)."""
        column = self._cast(self.batch.column(name), name)
        return np.array(column.to_numpy(zero_copy_only=False), dtype=np.float64)

    def _cast(self, column: Any, name: str) -> Any:
        import pyarrow as pa

        try:
            return column.cast(pa.float64())
        except READ_ERRORS as error:
            if (place := first_word(column)) is not None and len(column) == len(self):
                raise BadInput(
                    f"{self.where}, row {self.rows[place]}: column {name!r} must hold numbers, it is "
                    f"{short(column[place].as_py())}; mend the row, or cast the column"
                ) from error
            raise BadInput(
                f"{self.where}: column {name!r} must hold numbers ({first_line(error, 120)}); cast it"
            ) from error

    def matrix(self, name: str) -> NDArray[Any]:
        """A column of lists of one length, whole numbers as they are and others as float64: (m, length)."""
        import pyarrow as pa

        column = self.batch.column(name)
        fixed = pa.types.is_fixed_size_list(column.type)
        if not is_list(column.type):
            raise BadInput(f"{self.where}: column {name!r} must hold lists of numbers, got {column.type}")
        if column.null_count:
            raise BadInput(f"{self.where}: column {name!r} is missing in {column.null_count} rows; drop them")
        width = column.type.list_size if fixed else self._length(column, name)
        values = column.flatten()
        if values.null_count or not pa.types.is_integer(values.type):
            values = self._cast(values, name)
        return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(self), width)

    def _length(self, lists: Any, name: str) -> int:
        import pyarrow.compute as pc

        lengths = np.unique(np.asarray(pc.list_value_length(lists)))
        if len(lengths) > 1:
            raise BadInput(
                f"{self.where}: the lists of column {name!r} must have one length, "
                f"got {lengths[0]} to {lengths[-1]}; pad or cut them"
            )
        return int(lengths[0]) if len(lengths) else 0

    def log_propensities(self, columns: LogColumns) -> Matrix:
        """Log propensities under every logger, from either form: (m, J)."""
        table = np.asarray(self.matrix(columns.need("propensities")), dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return table if columns.are_log else np.log(table)

    def features(self, names: Sequence[str]) -> NDArray[np.float32]:
        """Contexts from a list column `x`, or from a column a feature: (m, d)."""
        wide = (
            self.matrix("x") if tuple(names) == ("x",) else np.stack([self.numbers(n) for n in names], axis=1)
        )
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as such
            return wide.astype(np.float32)


@dataclass(frozen=True)
class LogFiles:
    """An open log; `validation`, if it is not None, leaves out the rows of the other side of the split."""

    dataset: Any
    columns: LogColumns
    base: Path
    validation: bool | None = None

    @property
    def rows(self) -> int:
        """Rows on disk, before any is left out."""
        try:
            return int(self.dataset.count_rows())
        except READ_ERRORS as error:
            reason = first_line(error)
            raise BadInput(f"a file below {self.base} cannot be read as Parquet ({reason})") from error

    @property
    def max_loss(self) -> float | None:
        """The largest possible loss, where the files say it themselves."""
        facts = read_facts(self.dataset.schema)
        return None if facts is None else float(facts["max_loss"])

    def said(self) -> object:
        """What the file system says of the files."""
        names = self.dataset.files
        return [(one.size, one.mtime_ns) for one in self.dataset.filesystem.get_file_info(names)]

    @property
    def stated_loggers(self) -> set[object]:
        """Labels that folders logger=<label> name, whether or not they have rows."""
        import pyarrow.dataset as ds

        keys = [ds.get_partition_keys(f.partition_expression) for f in self.dataset.get_fragments()]
        return {key["logger"] for key in keys if "logger" in key}

    def batches(self, names: list[str]) -> Iterator[ColumnBatch]:
        """The rows batch by batch, always in the same order; only the named columns are read."""
        for fragment in self.dataset.get_fragments():
            yield from self.piece_batches(fragment, 0, names)

    def piece_batches(
        self, fragment: Any, first: int, names: list[str], batch_rows: int = BATCH_ROWS
    ) -> Iterator[ColumnBatch]:
        """The rows of a file, or of some of its row groups that begin with its row `first`."""
        done, where = first, self.name_of(fragment)
        with readable(where):
            how = {"batch_size": batch_rows, "batch_readahead": 2, "fragment_readahead": 1}
            for batch in fragment.to_batches(schema=self.dataset.schema, columns=names, **how):
                yield from self.kept(where, done, without_views(batch))
                done += len(batch)

    def kept(self, where: str, first: int, batch: Any) -> Iterator[ColumnBatch]:
        """The rows of the side that is asked for, if there are any; `first` is the number of the first."""
        part = ColumnBatch(where, np.arange(first, first + len(batch), dtype=np.int64), batch)
        if self.validation is not None:
            part = _side(part, self.columns.need("validation"), self.validation)
        if len(part):
            yield part

    def name_of(self, fragment: Any) -> str:
        where = Path(fragment.path)
        return str(where.relative_to(self.base) if where.is_relative_to(self.base) else where)


@dataclass(frozen=True)
class TableFiles(LogFiles):
    """A log that stands in memory: `dataset` is an Arrow table, `base` is what messages call it."""

    @property
    def rows(self) -> int:
        return int(self.dataset.num_rows)

    @property
    def stated_loggers(self) -> set[object]:
        return set()

    def batches(self, names: list[str]) -> Iterator[ColumnBatch]:
        """The rows in batches of the size that files are read in, so that sums have the same bits."""
        chosen = self.dataset.select(names).combine_chunks()
        for start in range(0, self.rows, BATCH_ROWS):
            for batch in chosen.slice(start, BATCH_ROWS).to_batches():
                yield ColumnBatch(str(self.base), np.arange(start, start + len(batch), dtype=np.int64), batch)


def open_log_files(path: Path, contexts_given: bool) -> LogFiles:
    """Open a Parquet file, or every *.parquet below a folder; folders `logger=<label>` are a column."""
    import pyarrow.dataset as ds

    if not path.exists():
        raise BadInput(f"there is no log at {path}; give a folder of Parquet files or one such file")
    files = sorted(str(p) for p in path.rglob("*.parquet")) if path.is_dir() else [str(path)]
    if not files:
        raise BadInput(f"no Parquet files (*.parquet) below {path}; give the folder that holds the log")
    base = path if path.is_dir() else path.parent
    try:
        dataset = ds.dataset(files, format="parquet", partitioning="hive", partition_base_dir=str(base))
        names = [str(name) for name in dataset.schema.names]
    except READ_ERRORS as error:
        raise BadInput(f"{path} cannot be read as Parquet ({first_line(error)})") from error
    return LogFiles(dataset, find_columns(names, contexts_given), base)


def is_list(kind: Any) -> bool:
    """Whether an Arrow type is one of lists, of any length."""
    import pyarrow as pa

    return bool(pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind))


@dataclass(frozen=True)
class Indexed:
    """Labels of any kind in ascending order, and the place of each row's label among them: (n,)."""

    labels: tuple[Any, ...]
    index: Loggers


def index_labels(parts: Sequence[Any], what: str) -> Indexed:
    """Number the labels of Arrow arrays."""
    import pyarrow as pa

    whole = pa.chunked_array(parts).combine_chunks()
    if whole.null_count:
        raise BadInput(f"column {what!r} is missing in {whole.null_count} rows; fill it in or drop them")
    if pa.types.is_floating(whole.type) and (gaps := int(np.isnan(np.asarray(whole)).sum())):
        raise BadInput(f"column {what!r} is NaN in {gaps} rows; fill it in, or leave the column out")
    if pa.types.is_nested(whole.type):
        raise BadInput(f"column {what!r} must hold one label per row, got {whole.type}; cast it")
    found = distinct(whole, what)
    values = found.values
    order = sorted(range(len(values)), key=values.__getitem__)
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    return Indexed(tuple(values[i] for i in order), place[found.place])


def _side(part: ColumnBatch, name: str, validation: bool) -> ColumnBatch:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = part.batch.column(name)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        column = column.cast(pa.bool_())
    if not pa.types.is_boolean(column.type):
        raise BadInput(f"{part.where}: column {name!r} must hold true and false, got {column.type}; cast it")
    keep = np.asarray(pc.fill_null(column, False)) == validation
    return ColumnBatch(part.where, part.rows[keep], part.batch.filter(pa.array(keep)))
