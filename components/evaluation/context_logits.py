"""What a policy says of contexts that stand apart from the log: logits by context id, never the features."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from multilogger.components.errors import BadInput
from multilogger.components.evaluation.log_checks import check_features
from multilogger.components.evaluation.log_columns import feature_columns
from multilogger.components.evaluation.log_reader import BATCH_ROWS, READ_ERRORS, Chunk
from multilogger.components.labelled_data import Features
from multilogger.components.policies import Matrix


class Policy(Protocol):
    """What is asked of a policy: logits (n, q) of contexts (n, d)."""

    @property
    def labels(self) -> int: ...

    @property
    def features(self) -> int: ...

    def logits(self, x: Features) -> Matrix: ...


@dataclass(frozen=True)
class ContextLogits:
    """The policy's logits (m, q) of contexts that stand apart from the log, and the place of each id."""

    logits: Matrix
    place: dict[Any, int]


def context_logits(path: Path, policy: Policy) -> ContextLogits:
    """Logits of a Parquet file of contexts: ids from its column `context`, else the rows counted from 0."""
    import pyarrow.parquet as pq

    if not path.is_file():
        raise BadInput(f"there is no file of contexts at {path}; give a Parquet file of features")
    blocks: list[Matrix] = []
    ids: list[Any] = []
    try:
        file = pq.ParquetFile(path)
        names = [str(name) for name in file.schema_arrow.names]
        features = feature_columns(names)
        wanted = [*features, *(["context"] if "context" in names else [])]
        for batch in file.iter_batches(BATCH_ROWS, columns=wanted):
            rows = np.arange(len(ids), len(ids) + len(batch), dtype=np.int64)
            x = Chunk(path.name, rows, batch).features(features)
            check_features(x, policy.features, path.name, rows)
            blocks.append(policy.logits(x))
            ids += batch.column("context").to_pylist() if "context" in names else rows.tolist()
    except BadInput:
        raise
    except READ_ERRORS as error:
        raise BadInput(f"{path} cannot be read as Parquet ({str(error).splitlines()[0]})") from error
    place = {name: row for row, name in enumerate(ids)}
    if len(place) < len(ids):
        raise BadInput(f"{path}: {len(ids) - len(place)} context ids stand there twice; keep one row each")
    return ContextLogits(np.concatenate(blocks) if blocks else np.empty((0, policy.labels)), place)
