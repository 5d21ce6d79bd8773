"""The columns that a policy reads, in order: from a frame or an array to its features."""

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput, first_line
from multilogger.components.features.column import Column
from multilogger.components.features.encode import Block, Unseen, compressed, dense, encode
from multilogger.components.features.frames import Rows, to_arrow
from multilogger.components.log.checks import check_features
from multilogger.components.log.memory import densify

PACKAGE = __name__.partition(".")[0]


class UnseenValues(UserWarning):
    """A frame has values that the log of the policy did not have."""


@dataclass(frozen=True)
class FeatureColumns:
    """The columns that features come from, in order; none where features were given as arrays."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features, one each."""
        return tuple(name for column in self.columns for name in column.names)

    @property
    def width(self) -> int:
        return sum(column.width for column in self.columns)

    @classmethod
    def numbered(cls, width: int, names: Sequence[str] | None = None) -> "FeatureColumns":
        """The features of an array: x0, x1, ... unless they have names."""
        called = [f"x{i}" for i in range(width)] if names is None else [str(name) for name in names]
        if len(set(called)) != width or len(called) != width:
            raise BadInput(f"names must be {width}, one of its own per column of x, got {len(set(called))}")
        return cls(tuple(Column(name) for name in called))

    def blocks(self, rows: Rows) -> list[Block]:
        """The features of a frame's rows, column by column."""
        return [encode(column, rows) for column in self.columns]

    def read(self, rows: Rows) -> NDArray[np.float32]:
        """The features of a frame's rows: (n, d). A word that was not seen before is 0 in all of them.

        Warns of values that the log did not have.
        """
        x, unseen = self.assemble(rows, as_sparse=False)
        if unseen:
            warnings.warn(f"{rows.where}: {_told(unseen)}", UnseenValues, stacklevel=callers_level())
        return densify(x)

    def assemble(self, rows: Rows, as_sparse: bool) -> tuple[Features, list[Unseen]]:
        """The same dense or without zeros, and what the log did not have, for who tells of it later."""
        blocks = self.blocks(rows)
        unseen = [one for block in blocks for one in block.unseen]
        if not as_sparse:
            x = dense(blocks, len(rows))
            check_features(x, self.width, rows.where, rows.numbers_of_rows)
            return x, unseen
        thin = compressed(blocks, len(rows))
        if (bad := np.flatnonzero(~np.isfinite(thin.data))).size:
            row = int(np.searchsorted(thin.indptr, bad[0], side="right")) - 1
            raise BadInput(f"{rows.at(row)}: a feature is missing, NaN or infinite; fill it in")
        return thin, unseen

    def __call__(self, x: Any) -> Features:
        """The features of a frame, or of an array (n, d) that holds them already."""
        if sparse.issparse(x):
            matrix: Any = x
            return self._checked(sparse.csr_array(matrix).astype(np.float32))
        if isinstance(x, np.ndarray):
            return self._checked(_numbers(x))
        return self.read(Rows(to_arrow(x), "the frame"))

    def to_json(self) -> list[dict[str, Any]]:
        return [column.to_json() for column in self.columns]

    @classmethod
    def from_json(cls, columns: Sequence[Mapping[str, Any]]) -> "FeatureColumns":
        return cls(tuple(Column.from_json(column) for column in columns))

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


def callers_level() -> int:
    """The `stacklevel` of who called this package, for a warning that its caller gives."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(f"{PACKAGE}."):
        frame, level = frame.f_back, level + 1
    return level


def _numbers(x: NDArray[Any]) -> NDArray[np.float32]:
    """An array of features (n, d)."""
    try:
        found = np.atleast_2d(x).astype(np.float32)
    except (ValueError, TypeError) as error:
        raise BadInput(
            f"an array must hold the features themselves, numbers alone ({first_line(error, 80)}); give raw "
            "columns as a data frame with their names"
        ) from error
    if found.ndim != 2:
        raise BadInput(f"an array of features is (rows, features), got shape {x.shape}; reshape it")
    return found


def _told(unseen: Sequence[Unseen]) -> str:
    taken = ["none or for the mean"] if not all(one.outside for one in unseen) else []
    taken += ["the nearest time of the log"] if any(one.outside for one in unseen) else []
    return "; ".join(str(one) for one in unseen) + f"; the policy takes them for {', or for '.join(taken)}"
