"""Frames of any library, and the arrays that their columns hold."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.errors import BadInput, first_line, meant
from multilogger.components.log.files import ColumnBatch, Indexed, index_labels, is_list
from multilogger.components.log.unreadable import without_views

WHERE = "the log"  # what messages call a frame


def to_arrow(frame: Any) -> Any:
    """An Arrow table of a frame: pandas, Polars, Arrow, or whatever else narwhals knows."""
    import narwhals as nw
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return _with_own_names(frame)
    try:
        native = nw.from_native(frame)
        eager = native.collect() if isinstance(native, nw.LazyFrame) else native
        return _with_own_names(eager.to_arrow())
    except nw.exceptions.DuplicateError as error:
        raise BadInput(
            f"columns of the frame have the same name ({' '.join(str(error).split())}); give each its own"
        ) from error
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise BadInput(
            f"a column of the frame holds values of several kinds ({first_line(error)}); mend it"
        ) from error
    except TypeError as error:
        raise BadInput(
            f"a data frame is needed (pandas, Polars, Arrow, ...), got {type(frame).__name__}; "
            "give arrays to BanditLog.from_arrays"
        ) from error


def _with_own_names(table: Any) -> Any:
    """The table, if no two columns have one name: it would not say which is meant."""
    name, count = Counter(table.column_names).most_common(1)[0] if table.column_names else ("", 0)
    if count > 1:
        raise BadInput(f"the frame has {count} columns that are called {name!r}; give each its own name")
    return table


class Rows:
    """The columns of an Arrow table as arrays; messages say which column is wrong and what to do."""

    def __init__(self, table: Any, where: str = WHERE, first: int = 0) -> None:
        self.names = [str(name) for name in table.column_names]
        self.table, self.where = without_views(table), where
        self.numbers_of_rows = np.arange(first, first + table.num_rows, dtype=np.int64)
        if table.num_rows == 0:
            raise BadInput(f"{where} has no rows; check the filter that made it")

    def __len__(self) -> int:
        return len(self.numbers_of_rows)

    def only(self, chosen: NDArray[np.bool_]) -> "Rows":
        """Some of the rows, under their own numbers."""
        import pyarrow as pa

        if chosen.all():
            return self
        part = Rows(self.table.filter(pa.array(chosen)), self.where)
        part.numbers_of_rows = self.numbers_of_rows[chosen]
        return part

    def at(self, row: int) -> str:
        """What messages call one of the rows."""
        return f"{self.where}, row {self.numbers_of_rows[row]}"

    def require(self, name: str, what: str) -> None:
        """Refuse a name that is no column."""
        if name not in self.names:
            shown = ", ".join(self.names[:12]) + (", ..." if len(self.names) > 12 else "")
            hint = f"; {near}".rstrip() if (near := meant(name, self.names)) else ""
            raise BadInput(f"cannot read {what}: {self.where} has no column {name!r}, only {shown}{hint}")

    def kind(self, name: str) -> Any:
        """The Arrow type of a column."""
        return self.table.schema.field(name).type

    def column(self, name: str, what: str) -> Any:
        """A column as Arrow has it."""
        import pyarrow as pa

        self.require(name, what)
        column = self.table.column(name)
        # Categories are what they stand for; those without rows are nothing.
        return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column

    def numbers(self, name: str, what: str = "features") -> Vector:
        """A column of numbers, missing ones as NaN: (n,)."""
        self.require(name, what)
        return self._batch(name).numbers(name)

    def lists(self, name: str) -> Matrix:
        """A column of lists of one length: (n, length)."""
        return np.asarray(self._batch(name).matrix(name), dtype=np.float64)

    def matrix(self, names: str | Sequence[str], what: str) -> Matrix:
        """One column of lists, or several columns of numbers: (n, length)."""
        columns = [names] if isinstance(names, str) else list(names)
        for name in columns:
            self.require(name, what)
        if len(columns) == 1 and is_list(self.kind(columns[0])):
            return self.lists(columns[0])
        return np.stack([self.numbers(name, what) for name in columns], axis=1)

    def labels(self, name: str) -> Indexed:
        """A column of labels of any kind, numbered in ascending order."""
        return index_labels(self.column(name, name).chunks, name)

    def coded(self, name: str) -> "Coded":
        """A column of words, each of them once."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            words = self.table.column(name).cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise BadInput(
                f"{self.where}: column {name!r} must hold words ({first_line(error, 120)}); cast it to text"
            ) from error
        encoded = words.combine_chunks().dictionary_encode()
        known = encoded.dictionary.to_pylist()
        return Coded(known, np.asarray(pc.fill_null(encoded.indices, len(known)), dtype=np.int64))

    def seconds(self, name: str) -> Vector:
        """A column of times in seconds since 1970, missing ones as NaN: (n,)."""
        import pyarrow as pa

        column = self.table.column(name)
        zone = column.type.tz if pa.types.is_timestamp(column.type) else None
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            raise BadInput(
                f"{self.where}: column {name!r} must hold times, got numbers; cast it to a timestamp"
            )
        try:
            moments = column.cast(pa.timestamp("us", zone), safe=False)  # of nanoseconds the last three go
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise BadInput(
                f"{self.where}: column {name!r} must hold times, such as 2026-01-05T10:00:00 "
                f"({first_line(error, 120)}); mend it, or cast it to a timestamp"
            ) from error
        # Of moments centuries away, which float64 has not to the microsecond, the nearest that it has.
        column = moments.cast(pa.int64()).cast(pa.float64(), safe=False)
        return np.array(column.to_numpy(), dtype=np.float64) / 1e6

    def times(self, name: str) -> NDArray[np.generic]:
        """A column of numbers or times, none missing: (n,)."""
        column = self.column(name, "time")
        if column.null_count:
            raise BadInput(f"column {name!r} is missing in {column.null_count} rows; fill it in or drop them")
        return np.asarray(column.to_numpy())

    def _batch(self, name: str) -> ColumnBatch:
        batch = self.table.select([name]).combine_chunks().to_batches()[0]
        return ColumnBatch(self.where, self.numbers_of_rows, batch)


@dataclass(frozen=True)
class Coded:
    """The words of a column, and the place of each row's word among them (n,), past the end for none."""

    words: list[str]
    place: NDArray[np.int64]


def is_time(kind: Any) -> bool:
    """Whether an Arrow type is one of days or moments."""
    import pyarrow as pa

    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def is_word(kind: Any) -> bool:
    """Whether an Arrow type is one of words or categories."""
    import pyarrow as pa

    words = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return bool(words or pa.types.is_dictionary(kind))
