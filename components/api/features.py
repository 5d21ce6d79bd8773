"""Columns of a frame to the features of a policy: numbers as they are, words one-hot."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.api.frames import Rows, is_list, is_word, to_arrow
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput
from multilogger.components.log.checks import check_features


@dataclass(frozen=True)
class Column:
    """One column of a frame. `categories` are the words of a column that holds words, one feature each;
    `width` is the length of the lists of a column that holds lists, and 1 of a column of numbers.
    """

    name: str
    width: int = 1
    categories: tuple[str, ...] | None = None


@dataclass(frozen=True)
class FeatureColumns:
    """The columns that features come from, in order; none where features were given as arrays."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features, one each."""
        return tuple(name for column in self.columns for name in _feature_names(column))

    @property
    def width(self) -> int:
        return sum(column.width for column in self.columns)

    @classmethod
    def of(cls, rows: Rows, wanted: str | Sequence[str]) -> "FeatureColumns":
        """What the named columns of a frame hold."""
        names = [wanted] if isinstance(wanted, str) else wanted
        if not names:
            raise BadInput("features needs one or more names of columns, got none")
        for name in names:
            rows.require(name, "features")
        return cls(tuple(_column(rows, name) for name in names))

    @classmethod
    def numbered(cls, width: int) -> "FeatureColumns":
        """The features x0, x1, ... of an array."""
        return cls(tuple(Column(f"x{i}") for i in range(width)))

    def read(self, rows: Rows) -> NDArray[np.float32]:
        """The features of a frame's rows: (n, d). A word that was not seen before is 0 in all of them."""
        parts = [self._part(rows, column) for column in self.columns]
        x = np.hstack(parts).astype(np.float32)
        check_features(x, self.width, rows.where, rows.numbers_of_rows)
        return x

    def __call__(self, x: Any) -> Features:
        """The features of a frame, or of an array (n, d) that holds them already."""
        if sparse.issparse(x):
            matrix: Any = x
            return self._checked(sparse.csr_array(matrix).astype(np.float32))
        if isinstance(x, np.ndarray):
            return self._checked(np.atleast_2d(x).astype(np.float32))
        return self.read(Rows(to_arrow(x), "the frame"))

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(column) for column in self.columns]

    @classmethod
    def from_json(cls, columns: Sequence[Mapping[str, Any]]) -> "FeatureColumns":
        return cls(
            tuple(
                Column(c["name"], c["width"], None if c["categories"] is None else tuple(c["categories"]))
                for c in columns
            )
        )

    def _checked(self, x: Features) -> Features:
        if x.shape[1] != self.width:
            raise BadInput(
                f"the policy takes {self.width} features, got an array of {x.shape[1]} columns; "
                f"give {', '.join(self.names[:5])}{', ...' if self.width > 5 else ''} in this order"
            )
        finite = np.isfinite(x.data if sparse.issparse(x) else x)
        if not finite.all():
            row = int(
                sparse.coo_array(x).row[~finite][0] if sparse.issparse(x) else np.argwhere(~finite)[0][0]
            )
            raise BadInput(f"the array, row {row}: a feature is missing, NaN or infinite; fill it in")
        return x

    def _part(self, rows: Rows, column: Column) -> NDArray[np.generic]:
        rows.require(column.name, "features")
        if column.categories is not None:
            words = np.array(rows.words(column.name), dtype=object)
            if (missing := np.flatnonzero(words == None)).size:  # noqa: E711, an array is compared
                raise BadInput(
                    f"{rows.where}, row {missing[0]}: {column.name!r} is missing; fill it in or drop the row"
                )
            return np.asarray(words[:, None] == np.array(column.categories, dtype=object))
        if is_list(rows.kind(column.name)):
            return rows.lists(column.name)
        return rows.numbers(column.name)[:, None]


def _column(rows: Rows, name: str) -> Column:
    kind = rows.kind(name)
    if is_word(kind):
        words = sorted({word for word in rows.words(name) if word is not None})
        return Column(name, len(words), tuple(words))
    return Column(name, rows.lists(name).shape[1]) if is_list(kind) else Column(name)


def _feature_names(column: Column) -> list[str]:
    if column.categories is not None:
        return [f"{column.name}={word}" for word in column.categories]
    return [column.name] if column.width == 1 else [f"{column.name}{i}" for i in range(column.width)]
