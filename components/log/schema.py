"""The bandit log of `replay`: its Arrow schema, its rows as arrays, and where its files stand.

A log is a folder of Parquet files, `logger=<j>/pass=<r>/rows.parquet`; logger and pass are columns
that come from the path.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.labels import Actions, Matrix, Vector

if TYPE_CHECKING:
    import pyarrow as pa


ROW_GROUP_ROWS = 16384  # fixed: the bytes of a file must not depend on how its rows were computed


@dataclass(frozen=True)
class LogOrigin:
    """Where one file of a log comes from; written into its schema."""

    dataset: str
    seed: int
    logger: int
    alpha: float
    pass_: int


@dataclass(frozen=True)
class LogRows:
    """Rows of one logger and pass, as arrays of n rows."""

    context: NDArray[np.int32]
    action: Actions
    delta: Vector
    log_propensity: Vector
    log_propensities: Matrix
    validation: NDArray[np.bool_]


def log_schema(labels: int, loggers: int, origin: LogOrigin | None = None) -> "pa.Schema":
    """The columns of a log of `labels` labels and `loggers` loggers."""
    import pyarrow as pa

    def column(name: str, kind: "pa.DataType", meaning: str) -> "pa.Field":
        return pa.field(name, kind, nullable=False, metadata={"meaning": meaning})

    # These words are bytes of every file, and so part of the keys of later stages: whoever changes one gives
    # `replay` a new version.
    columns = [
        column("context", pa.int32(), "row of the train split, from 0"),
        column("action", pa.list_(pa.uint8(), labels), "sampled label vector y, one 0 or 1 a label"),
        column("delta", pa.float32(), "loss of the action: number of wrong labels"),
        column("log_propensity", pa.float64(), "natural log of h_j(y|x) under the logger of this row"),
        column("log_propensities", pa.list_(pa.float64(), loggers), "log of h_k(y|x) under every logger k"),
        column("validation", pa.bool_(), "true: kept aside for validation"),
    ]
    if origin is None:
        return pa.schema(columns)
    facts = {
        "dataset": origin.dataset,
        "seed": str(origin.seed),
        "logger": str(origin.logger),
        "alpha": repr(origin.alpha),
        "pass": str(origin.pass_),
    }
    return pa.schema(columns, metadata=facts)


def to_table(rows: LogRows, schema: "pa.Schema") -> "pa.Table":
    """Rows as an Arrow table of the given schema."""
    import pyarrow as pa

    arrays = [
        pa.array(rows.context),
        pa.FixedSizeListArray.from_arrays(pa.array(rows.action.ravel()), rows.action.shape[1]),
        pa.array(rows.delta.astype(np.float32)),
        pa.array(rows.log_propensity),
        pa.FixedSizeListArray.from_arrays(
            pa.array(rows.log_propensities.ravel()), rows.log_propensities.shape[1]
        ),
        pa.array(rows.validation),
    ]
    return pa.Table.from_arrays([a.cast(f.type) for a, f in zip(arrays, schema, strict=True)], schema=schema)


def log_file(folder: Path, logger: int, pass_: int) -> Path:
    """Where the rows of one logger and pass stand below the folder of a log."""
    return folder / f"logger={logger}" / f"pass={pass_}" / "rows.parquet"
