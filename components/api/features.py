"""Columns of a frame to the features of a policy (numbers as they are, words one-hot), and contexts by id."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.api.frames import WHERE, Rows, is_word, to_arrow
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput
from multilogger.components.log.checks import check_features
from multilogger.components.log.columns import FEATURE
from multilogger.components.log.files import is_list
from multilogger.components.log.memory import densify


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


@dataclass(frozen=True)
class Contexts:
    """Contexts (m, d) with the columns they come from, and the context of each row (n,)."""

    x: Features
    columns: FeatureColumns
    context: NDArray[np.int64]
    known: bool


def read_contexts(
    rows: Rows, features: str | Sequence[str] | None, context: str | None, contexts: Rows | None
) -> Contexts:
    """Features in the rows themselves, or in a frame of contexts that the rows name by id."""
    source = rows if contexts is None else contexts
    columns = FeatureColumns.of(source, usual_features(source) if features is None else features)
    x = columns.read(source)
    if context is None:
        if contexts is not None:
            raise BadInput("contexts are given apart; say with context= which column of the log names them")
        return Contexts(x, columns, np.arange(len(rows)), known=False)
    rows.require(context, "context")
    if contexts is None:
        return own_contexts(x, columns, rows.labels(context).index)
    return Contexts(x, columns, _places(rows, contexts, context), known=True)


def own_contexts(x: Features, columns: FeatureColumns, context: NDArray[np.int64]) -> Contexts:
    """Contexts by number, whose features stand in every one of their rows."""
    _, first = np.unique(context, return_index=True)
    once = x[first]
    differs = np.abs(densify(x) - densify(once[context])).max(axis=1)
    if (rows := np.flatnonzero(differs)).size:
        raise BadInput(
            f"{WHERE}, row {rows[0]}: its features are not those of row {first[context[rows[0]]]}, which has "
            "the same context id; give each context one id"
        )
    return Contexts(once, columns, context, known=True)


def _places(rows: Rows, contexts: Rows, context: str) -> NDArray[np.int64]:
    """The row of each row's context in the frame of contexts, by its column of the same name or by number."""
    ids: list[Any] = (
        contexts.table.column(context).to_pylist()
        if context in contexts.names
        else contexts.numbers_of_rows.tolist()
    )
    place = {name: row for row, name in enumerate(ids)}
    if len(place) < len(ids):
        raise BadInput(f"{len(ids) - len(place)} context ids stand twice in contexts; keep one row each")
    named = rows.labels(context)
    if unknown := [label for label in named.labels if label not in place]:
        raise BadInput(
            f"{len(unknown)} contexts of the log are not in contexts, the first being {unknown[0]!r}; "
            "add them"
        )
    return np.array([place[label] for label in named.labels], dtype=np.int64)[named.index]


def usual_features(rows: Rows) -> list[str]:
    """The list column x, or the columns x0, x1, ... in the order of their numbers."""
    if "x" in rows.names:
        return ["x"]
    found = sorted((int(match[1]), name) for name in rows.names if (match := FEATURE.fullmatch(name)))
    if not found:
        raise BadInput(
            f"{rows.where} has no features, neither a list column 'x' nor columns x0, x1, ...; name them "
            "with features="
        )
    return [name for _, name in found]


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
