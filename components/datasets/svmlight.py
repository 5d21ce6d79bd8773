"""Svmlight text as LibSVM publishes it, multi-label or multi-class, and the checks that it must pass.

Labels are 0-based and comma-separated, and a row may have no label at all; a class is one whole number, the
classes count from 0 or from 1. Features are 1-based.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.actions.arrays import Actions
from multilogger.components.datasets.labelled_data import SPARSE_BELOW, LabelledData
from multilogger.components.datasets.registry import DatasetSpec
from multilogger.components.errors import BadInput


def read_svmlight(path: Path, spec: DatasetSpec, rows: int | None) -> LabelledData:
    """Read and check one split; `rows` is the number of rows it must have, if that is known."""
    from sklearn.datasets import load_svmlight_file

    try:
        x, targets = load_svmlight_file(
            str(path),
            n_features=spec.features,
            multilabel=bool(spec.space.action_shape),
            zero_based=False,
            dtype=np.float32,
        )
    except (ValueError, OverflowError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise BadInput(
            f"{path.name} is not a readable {KINDS[spec.actions]} svmlight file with {spec.features} "
            f"features ({_one_line(error)}); fetch it again, or correct it or --features"
        ) from error
    if rows is not None and x.shape[0] != rows:
        raise BadInput(
            f"{path.name} has {x.shape[0]} rows where {spec.name} has {rows}; the file is incomplete "
            "or belongs to another dataset: fetch it again"
        )
    if x.shape[0] == 0:
        raise BadInput(f"{path.name} has no rows; give a file with at least one")
    if not np.isfinite(x.data).all():
        raise BadInput(
            f"{path.name} holds a feature that is not finite; remove or replace NaN and infinities"
        )
    y = READERS[spec.actions](targets, spec.labels, path.name)
    density = x.nnz / (x.shape[0] * x.shape[1])
    csr = sparse.csr_array(x)
    csr.sort_indices()
    return LabelledData(csr if density < SPARSE_BELOW else csr.toarray(), y, spec.space)


def _label_matrix(targets: list[tuple[float, ...]], labels: int, name: str) -> Actions:
    """One row of 0 and 1 for each tuple of label numbers."""
    y = np.zeros((len(targets), labels), dtype=np.uint8)
    for row, present in enumerate(targets):
        for label in present:
            if not (0 <= label < labels and label == int(label)):
                raise BadInput(
                    f"{name}, row {row + 1}: label {label:g} is outside 0..{labels - 1}; "
                    "labels count from 0, and --labels gives their number"
                )
            y[row, int(label)] = 1
    return y


def _classes(targets: NDArray[np.float64], classes: int, name: str) -> Actions:
    """The number of each row's class, from 0."""
    # Choice: a file without class 0 that has class K counts from 1, as most of LibSVM's do.
    first = int(len(targets) > 0 and targets.min() >= 1 and targets.max() == classes)
    y = targets - first
    bad = np.flatnonzero(~((y >= 0) & (y < classes) & (y == np.floor(y))))
    if len(bad):
        raise BadInput(
            f"{name}, row {bad[0] + 1}: class {targets[bad[0]]:g} is outside 0..{classes - 1} and "
            f"1..{classes}; classes are whole numbers from 0 or from 1, and --classes gives their number"
        )
    return y.astype(np.int64)


KINDS = {"labels": "multi-label", "one-of": "multi-class"}
READERS: dict[str, Callable[..., Actions]] = {"labels": _label_matrix, "one-of": _classes}
"""By the name of the action space."""


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
