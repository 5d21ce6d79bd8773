"""Contexts with the right action of each: one split of a dataset, dense or sparse, and its file.

A split is one safetensors file: `labels` (n, q) as uint8, or `choice` (n,) with the number of actions in
`choices` (1,) and, where they are not 0, 1, ..., the numbers of their classes in `classes` (K,); and either
`dense` (n, d) or the three arrays of a CSR matrix. Sparse data stays sparse on disk.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.actions.arrays import Actions
from multilogger.components.actions.labels import Labels
from multilogger.components.actions.one_of import OneOf
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput

Features = NDArray[np.float32] | sparse.csr_array

SPARSE_BELOW = 0.5  # density under which CSR is the smaller of the two layouts


@dataclass(frozen=True)
class LabelledData:
    """`x` (n, d) contexts and `y` the right action of each: labels (n, q) in {0, 1}, or numbers (n,).

    `classes` are what a file calls the actions 0, 1, ... of a choice, where it does not call them so.
    """

    x: Features
    y: Actions
    space: ActionSpace
    classes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.x.shape[0] != self.y.shape[0]:
            raise BadInput(f"{self.x.shape[0]} rows of features but {self.y.shape[0]} rows of labels")
        if self.y.shape[1:] != self.space.action_shape:
            raise BadInput(
                f"true actions of this space have shape {self.space.action_shape} each, got "
                f"{self.y.shape[1:]}; give them as {self.space.name}"
            )
        if self.classes == tuple(range(self.space.size)):
            object.__setattr__(self, "classes", ())

    @classmethod
    def of_labels(cls, x: Features, y: Actions) -> "LabelledData":
        """With true labels (n, q)."""
        return cls(x, y, Labels(int(y.shape[1])))

    @property
    def rows(self) -> int:
        return int(self.y.shape[0])

    @property
    def features(self) -> int:
        return int(self.x.shape[1])

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.x)

    def take(self, rows: NDArray[np.intp]) -> "LabelledData":
        """The given rows, in the given order."""
        return replace(self, x=self.x[rows], y=self.y[rows])


@dataclass(frozen=True)
class TrainTest:
    """The two splits of a dataset."""

    train: LabelledData
    test: LabelledData


def save_split(path: Path, data: LabelledData) -> None:
    """Write one split to a safetensors file."""
    from safetensors.numpy import save_file

    tensors: dict[str, NDArray[np.generic]] = {"labels": np.ascontiguousarray(data.y)}
    if isinstance(data.space, OneOf):
        tensors = {"choice": data.y.astype(np.int64), "choices": np.array([data.space.size])}
        if data.classes:
            tensors["classes"] = np.array(data.classes, dtype=np.int64)
    if isinstance(data.x, np.ndarray):
        tensors["dense"] = np.ascontiguousarray(data.x, dtype=np.float32)
    else:
        tensors["csr_values"] = data.x.data.astype(np.float32)
        tensors["csr_columns"] = data.x.indices.astype(np.int32)
        tensors["csr_row_starts"] = data.x.indptr.astype(np.int64)
        tensors["csr_shape"] = np.array(data.x.shape, dtype=np.int64)
    save_file(tensors, path)


def load_split(path: Path) -> LabelledData:
    """Read what `save_split` wrote."""
    from safetensors.numpy import load_file

    tensors = load_file(path)
    y = tensors["labels"] if "labels" in tensors else tensors["choice"]
    space = Labels(y.shape[1]) if "labels" in tensors else OneOf(int(tensors["choices"][0]))
    classes = tuple(tensors["classes"].tolist()) if "classes" in tensors else ()
    if "dense" in tensors:
        return LabelledData(tensors["dense"], y, space, classes)
    rows, columns = (int(side) for side in tensors["csr_shape"])
    x = sparse.csr_array(
        (tensors["csr_values"], tensors["csr_columns"], tensors["csr_row_starts"]), shape=(rows, columns)
    )
    return LabelledData(x, y, space, classes)


def append_constant(x: Features) -> Features:
    """Add the constant 1 column that stands for the bias, as the last one."""
    ones = np.ones((x.shape[0], 1), dtype=np.float32)
    if isinstance(x, np.ndarray):
        return np.hstack([x, ones])
    return sparse.csr_array(sparse.hstack([x, sparse.csr_array(ones)], format="csr"))
