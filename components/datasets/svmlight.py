"""Svmlight text as LibSVM publishes it, multi-label or multi-class, and the checks that it must pass.

Labels are 0-based and comma-separated, and a row may have no label at all. A class is one whole number: the
classes count from 0 or from 1, or are any others, such as -1 and 1, if the train file has all of them.
Features are 1-based.
"""

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.actions.arrays import Actions
from multilogger.components.datasets.labelled_data import SPARSE_BELOW, LabelledData, TrainTest
from multilogger.components.datasets.registry import MOST_ROWS, MOST_UNPACKED, DatasetSpec
from multilogger.components.errors import BadInput, first_line
from multilogger.components.unpacking import TooLong, check_limit, crossed_here, is_packed, most_unpacked


def read_svmlight(
    path: Path, spec: DatasetSpec, rows: int | None, most_bytes: int | None = None
) -> LabelledData:
    """Read and check one split; `rows` is the number of rows it must have, if that is known."""
    check_limit(most_bytes)
    x, targets = _loaded(path, spec, rows, most_bytes)
    return _labelled(x, targets, spec, path.name, _class_numbers(targets, spec))


def read_splits(
    train: Path, test: Path, spec: DatasetSpec, advance: Callable[[], None], most_bytes: int | None = None
) -> TrainTest:
    """Both splits; the train file says which numbers the classes have, as test may lack some.

    `most_bytes` is how long the text of each may be; None for what a file of its shape and size can need.
    """
    x, targets = _loaded(train, spec, spec.n_train, most_bytes)
    classes = _class_numbers(targets, spec)
    learned = _labelled(x, targets, spec, train.name, classes)
    advance()
    x, targets = _loaded(test, spec, spec.n_test, most_bytes)
    held_out = _labelled(x, targets, spec, test.name, classes)
    advance()
    return TrainTest(learned, held_out)


OPENERS: dict[str, Any] = {".bz2": bz2.open, ".gz": gzip.open}
ALLOW = "allow N bytes, and any number of lines, with --set download.max_bytes=N (in Python max_bytes=N)"


class _LimitedText:
    """The lines of a file, plain or compressed, that may have no more than some number of bytes."""

    def __init__(self, file: BinaryIO, path: Path, most_bytes: int) -> None:
        self._file, self._path, self._most = file, path, most_bytes

    def read(self, size: int) -> bytes:
        return self._file.read(size)

    def __iter__(self) -> Iterator[bytes]:
        left = self._most
        while line := self._file.readline(left + 1):
            left -= len(line)
            if left < 0:
                raise TooLong(
                    f"{self._path.name} has more than {self._most:,} bytes of text, the limit that was "
                    f"given; it is another file, or {ALLOW}"
                )
            yield line


def check_size(path: Path, spec: DatasetSpec, rows: int | None) -> None:
    """Refuse a file of more text than its shape and its size on disk go with, or of too many lines.

    Half of the lines of a file may be empty, or comments, where its rows are known.
    """
    most_bytes, why = spec.most_bytes, "the most that its shape can need; it is another file"
    if is_packed(path) and (packed := most_unpacked(path.stat().st_size, MOST_UNPACKED)) < most_bytes:
        most_bytes, why = packed, "as no file of its size on disk has; give a smaller one"
    most_lines = MOST_ROWS if rows is None else 2 * rows
    found = crossed_here(path, most_bytes, most_lines)
    if found is None:
        return
    if found.endswith("lines"):
        why = "more than are held in memory; give a smaller one"
        why = why if rows is None else f"where {spec.name} has {rows:,} rows; it is another file"
    raise TooLong(f"{path.name} has more than {found}, {why}, or {ALLOW}")


def _opened(path: Path) -> BinaryIO:
    """A file to read, uncompressed; what it is says its name."""
    opener: Any = OPENERS.get(path.suffix, open)
    return cast(BinaryIO, opener(path, "rb"))


def _loaded(
    path: Path, spec: DatasetSpec, rows: int | None, most_bytes: int | None = None
) -> tuple[sparse.csr_matrix, Any]:
    """The features of a file (n, d), and what stands before them in each row."""
    from sklearn.datasets import load_svmlight_file

    try:
        if most_bytes is None:
            check_size(path, spec, rows)
        with _opened(path) as file:
            x, targets = load_svmlight_file(
                _LimitedText(file, path, most_bytes or spec.most_bytes),
                n_features=spec.features,
                multilabel=bool(spec.space.action_shape),
                zero_based=False,
                dtype=np.float32,
            )
    except TooLong:
        raise
    except (ValueError, OverflowError, EOFError, OSError, zlib.error) as error:
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
    return x, targets


def _labelled(
    x: sparse.csr_matrix, targets: Any, spec: DatasetSpec, name: str, classes: tuple[int, ...]
) -> LabelledData:
    labels = bool(spec.space.action_shape)
    y = _label_matrix(targets, spec.labels, name) if labels else _classes(targets, classes, name)
    density = x.nnz / (x.shape[0] * x.shape[1])
    csr = sparse.csr_array(x)
    csr.sort_indices()
    return LabelledData(csr if density < SPARSE_BELOW else csr.toarray(), y, spec.space, classes)


def _label_matrix(targets: list[tuple[float, ...]], labels: int, name: str) -> Actions:
    """One row of 0 and 1 for each tuple of label numbers."""
    y = np.zeros((len(targets), labels), dtype=np.uint8)
    one_each = all(len(present) == 1 for present in targets)
    hint = f"; if each row has one class, give --actions one-of --classes {labels}" if one_each else ""
    for row, present in enumerate(targets):
        for label in present:
            if not (0 <= label < labels and label == int(label)):
                raise BadInput(
                    f"{name}, row {row + 1}: label {label:g} is outside 0..{labels - 1}; "
                    f"labels count from 0, and --labels gives their number{hint}"
                )
            y[row, int(label)] = 1
    return y


def _class_numbers(targets: Any, spec: DatasetSpec) -> tuple[int, ...]:
    """The number that a file has for each class, in ascending order; none of labels."""
    if spec.space.action_shape:
        return ()
    # Choice: a file without class 0 that has class K counts from 1, as most of LibSVM's do.
    if targets.min() >= 1 and targets.max() == spec.labels:
        return tuple(range(1, spec.labels + 1))
    found = np.unique(targets)
    usual = found[0] >= 0 and found[-1] < spec.labels
    if usual or len(found) != spec.labels or not (found == np.floor(found)).all():
        return tuple(range(spec.labels))
    return tuple(int(number) for number in found)


def _classes(targets: NDArray[np.float64], numbers: tuple[int, ...], name: str) -> Actions:
    """The place of each row's class among all."""
    known = np.array(numbers, dtype=np.float64)
    y = np.minimum(np.searchsorted(known, targets), len(known) - 1)
    bad = np.flatnonzero(known[y] != targets)
    if len(bad):
        in_a_row = numbers == tuple(range(numbers[0], numbers[0] + len(numbers)))
        wanted = f"outside {numbers[0]}..{numbers[-1]}" if in_a_row else f"none of {_some(numbers)}"
        raise BadInput(
            f"{name}, row {bad[0] + 1}: class {targets[bad[0]]:g} is {wanted}; classes are whole numbers "
            "from 0, or from 1 if the train file has no 0 and has the last, or any that are all in the train "
            "file, and --classes gives their number"
        )
    return y.astype(np.int64)


def _some(numbers: tuple[int, ...], most: int = 8) -> str:
    return ", ".join(map(str, numbers[:most])) + (", ..." if len(numbers) > most else "")


KINDS = {"labels": "multi-label", "one-of": "multi-class"}
"""What a file is called, by the name of the action space."""


def _one_line(error: Exception) -> str:
    return first_line(ValueError(" ".join(str(error).split()) or type(error).__name__))
