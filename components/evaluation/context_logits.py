"""What a policy says of contexts that stand apart from the log: logits by context id.

Features are read block by block, as often as they are needed, and never held.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.space import ActionSpace
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput, first_line
from multilogger.components.log.checks import check_features
from multilogger.components.log.columns import feature_columns
from multilogger.components.log.files import BATCH_ROWS, ColumnBatch
from multilogger.components.log.unreadable import READ_ERRORS


class LogitPolicy(Protocol):
    """What is asked of a policy: logits (n, size) of contexts (n, d)."""

    @property
    def space(self) -> ActionSpace: ...

    @property
    def features(self) -> int: ...

    def logits(self, x: Features) -> Matrix: ...


Blocks = Iterator[NDArray[np.float32]]


@dataclass(frozen=True)
class ContextLogits:
    """The policy's logits (m, size) of contexts that stand apart from the log, and the place of each id.

    `features` reads their features, some (b, d) at a time in the same order.
    """

    space: ActionSpace
    logits: Matrix
    place: dict[Any, int]
    features: Callable[[], Blocks]


def context_logits(path: Path, policy: LogitPolicy) -> ContextLogits:
    """Logits of a Parquet file of contexts: ids from its column `context`, else the rows counted from 0."""
    if not path.is_file():
        raise BadInput(f"there is no file of contexts at {path}; give a Parquet file of features")
    blocks: list[Matrix] = []
    ids: list[Any] = []
    for block in _read(path, policy.features):
        blocks.append(policy.logits(block.x))
        ids += block.ids
    place = {name: row for row, name in enumerate(ids)}
    if len(place) < len(ids):
        raise BadInput(f"{path}: {len(ids) - len(place)} context ids stand there twice; keep one row each")
    logits = np.concatenate(blocks) if blocks else np.empty((0, policy.space.size))
    return ContextLogits(
        policy.space, logits, place, lambda: (block.x for block in _read(path, policy.features))
    )


@dataclass(frozen=True)
class _Block:
    ids: list[Any]
    x: NDArray[np.float32]


def _read(path: Path, width: int) -> Iterator[_Block]:
    """The contexts of a file with their ids, checked."""
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        names = [str(name) for name in file.schema_arrow.names]
        features = feature_columns(names)
        wanted = [*features, *(["context"] if "context" in names else [])]
        done = 0
        for batch in file.iter_batches(BATCH_ROWS, columns=wanted):
            rows = np.arange(done, done + len(batch), dtype=np.int64)
            done += len(batch)
            x = ColumnBatch(path.name, rows, batch).features(features)
            check_features(x, width, path.name, rows)
            yield _Block(batch.column("context").to_pylist() if "context" in names else rows.tolist(), x)
    except BadInput:
        raise
    except READ_ERRORS as error:
        raise BadInput(f"{path} cannot be read as Parquet ({first_line(error)})") from error
