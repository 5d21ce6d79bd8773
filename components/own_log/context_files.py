"""The features of contexts on disk: written some rows at a time, read as arrays that are mapped into memory.

Dense features are one file of float32; sparse ones the three arrays of a CSR matrix. `contexts.json` has the
shape.
"""

import json
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.datasets.labelled_data import SPARSE_BELOW, Features
from multilogger.components.features.column import Kind
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.features.encode import Unseen
from multilogger.components.features.frames import Rows
from multilogger.components.json_text import parsed_json

SHAPE = "contexts.json"
DENSE = "contexts.f32"
VALUES, COLUMNS, STARTS = "values.f32", "columns.i32", "starts.i64"


def is_smaller_sparse(columns: FeatureColumns) -> bool:
    """Whether most features are 0 in every row: words and hashed words have one that is not."""
    hot = (Kind.WORDS, Kind.HASHED)
    filled = sum(1 if column.kind in hot else column.width for column in columns.columns)
    return filled < SPARSE_BELOW * columns.width


class ContextWriter:
    """Takes the features of contexts batch by batch, as a context manager."""

    def __init__(self, folder: Path, columns: FeatureColumns) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._columns = folder, columns
        self._sparse = is_smaller_sparse(columns)
        self._rows, self._stored = 0, 0
        names = (VALUES, COLUMNS, STARTS) if self._sparse else (DENSE,)
        self._files: list[BinaryIO] = [(folder / name).open("wb") for name in names]
        if self._sparse:
            self._files[2].write(np.zeros(1, dtype=np.int64).tobytes())

    def encode(self, rows: Rows) -> tuple[Features, list[Unseen]]:
        """The features of rows in the layout that is kept, and what the encoding does not know of them."""
        return self._columns.assemble(rows, self._sparse)

    def add(self, x: Features) -> None:
        """Keep the next contexts."""
        self._rows += int(x.shape[0])
        if isinstance(x, np.ndarray):
            self._files[0].write(np.ascontiguousarray(x, dtype=np.float32).tobytes())
            return
        self._files[0].write(x.data.astype(np.float32).tobytes())
        self._files[1].write(x.indices.astype(np.int32).tobytes())
        self._files[2].write((x.indptr[1:].astype(np.int64) + self._stored).tobytes())
        self._stored += len(x.data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files:
            file.close()
        shape = {"rows": self._rows, "features": self._columns.width, "stored": self._stored}
        facts = json.dumps(shape | {"sparse": self._sparse}, indent=2, sort_keys=True)
        (self._folder / SHAPE).write_text(facts + "\n", encoding="utf-8")


def read_contexts(folder: Path) -> Features:
    """Contexts (m, d) that `ContextWriter` wrote; pages are read as they are looked at."""
    facts = parsed_json((folder / SHAPE).read_text(encoding="utf-8"))
    shape = (facts["rows"], facts["features"])
    if not facts["sparse"]:
        return _mapped(folder / DENSE, np.dtype(np.float32), shape)
    stored = (facts["stored"],)
    return sparse.csr_array(
        (
            _mapped(folder / VALUES, np.dtype(np.float32), stored),
            _mapped(folder / COLUMNS, np.dtype(np.int32), stored),
            _mapped(folder / STARTS, np.dtype(np.int64), (shape[0] + 1,)),
        ),
        shape=shape,
    )


def _mapped(path: Path, kind: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if 0 in shape:  # an empty file cannot be mapped
        return np.empty(shape, dtype=kind)
    return np.memmap(path, dtype=kind, mode="r", shape=shape)
