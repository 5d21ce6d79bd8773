"""The bandit log of `replay`: its Arrow schema, its rows as arrays, and where its files stand.

A log is a folder of Parquet files, `logger=<j>/pass=<r>/rows.parquet`; logger and pass are columns
that come from the path.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.labels import Labels
from multilogger.components.actions.one_of import OneOf
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.json_text import stated_json

if TYPE_CHECKING:
    import pyarrow as pa


FACTS = b"multilogger"  # the key in a schema of what `BanditLog.to_parquet` says beside the columns
ACTIONS = (
    "actions"  # the key of the schema that has the names of one-of actions, in the order of their numbers
)
ESTIMATED = "estimated"  # a column of lists: which of the propensities under every logger were not logged
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


ACTION_MEANING = {
    "labels": "sampled label vector y, one 0 or 1 a label",
    "one-of": "number of the action y among those of the schema",
}
LOSS_MEANING = {"hamming": "loss of the action: number of wrong labels"}  # by the loss of the dataset


def log_schema(
    space: ActionSpace,
    loggers: int,
    origin: LogOrigin | None = None,
    names: Sequence[object] = (),
    loss: str = "",
) -> "pa.Schema":
    """The columns of a log of actions of a space and of `loggers` loggers.

    `names` are those of one-of actions, their numbers unless given; `loss` is that of the dataset, if known.
    """
    import pyarrow as pa

    def column(name: str, kind: "pa.DataType", meaning: str) -> "pa.Field":
        return pa.field(name, kind, nullable=False, metadata={"meaning": meaning})

    # These words are bytes of every file, and so part of the keys of later stages: whoever changes one gives
    # `replay` a new version.
    columns = [
        column("context", pa.int32(), "row of the train split, from 0"),
        column("action", space.arrow_type, ACTION_MEANING[space.name]),
        column("delta", pa.float32(), LOSS_MEANING.get(loss, "loss of the action")),
        column("log_propensity", pa.float64(), "natural log of h_j(y|x) under the logger of this row"),
        column("log_propensities", pa.list_(pa.float64(), loggers), "log of h_k(y|x) under every logger k"),
        column("validation", pa.bool_(), "true: kept aside for validation"),
    ]
    called = [str(action) for action in names or range(space.size)]
    own = {} if space.action_shape else {ACTIONS: json.dumps(called)}
    if origin is None:
        return pa.schema(columns, metadata=own or None)
    facts = own | {
        "dataset": origin.dataset,
        "seed": str(origin.seed),
        "logger": str(origin.logger),
        "alpha": repr(origin.alpha),
        "pass": str(origin.pass_),
    }
    return pa.schema(columns, metadata=facts)


def space_of(schema: "pa.Schema", column: str = "action") -> ActionSpace:
    """What the actions of a log of `replay` are, from its schema."""
    import pyarrow as pa

    kind = schema.field(column).type
    if pa.types.is_fixed_size_list(kind):
        return Labels(int(kind.list_size))
    names = (schema.metadata or {}).get(ACTIONS.encode())
    if not pa.types.is_integer(kind) or names is None:
        raise BadInput(
            f"column {column!r} must hold label vectors of one length, or numbers of actions whose names the "
            f"schema says under {ACTIONS!r}, got {kind}; make the log again"
        )
    return OneOf(len(stated_json(names, ACTIONS, list)))


def to_table(rows: LogRows, schema: "pa.Schema") -> "pa.Table":
    """Rows as an Arrow table of the given schema."""
    import pyarrow as pa

    arrays = [
        pa.array(rows.context),
        space_of(schema).to_arrow(rows.action),
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


def read_facts(schema: Any) -> dict[str, Any] | None:
    """The facts in an Arrow schema; None of a file that somebody else wrote."""
    known = (schema.metadata or {}).get(FACTS)
    if known is None:
        return None
    facts: dict[str, Any] = stated_json(known, FACTS.decode(), dict)
    if not (isinstance(facts.get("actions"), list) and isinstance(facts.get("max_loss"), int | float)):
        raise BadInput(f"the schema of the log has no actions or max_loss under {FACTS!r}; write it again")
    return facts
