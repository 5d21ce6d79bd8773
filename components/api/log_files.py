"""A bandit log as an Arrow table and a Parquet file, and as learners and estimators take it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix
from multilogger.components.api.bandit_log import BanditLog
from multilogger.components.api.companions import known_table
from multilogger.components.api.split_log import split_rows
from multilogger.components.errors import BadInput, first_line
from multilogger.components.estimators.checks import first_bad
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.log.columns import LogColumns
from multilogger.components.log.files import TableFiles
from multilogger.components.log.memory import TrainingLog, densify
from multilogger.components.log.schema import ACTIONS, ESTIMATED, FACTS, read_facts
from multilogger.components.log.stated_ids import check_stated_ids, stated_ids
from multilogger.components.log.unreadable import READ_ERRORS

if TYPE_CHECKING:
    from multilogger.components.api.build_log import ColumnNames


def rows_table(log: BanditLog, every: Matrix | None) -> Any:
    """The rows of a log without their features, loggers by number, with propensities `every` (n, J)."""
    import pyarrow as pa

    columns = {
        "context": pa.array(log.context),
        "logger": pa.array(log.logger),
        "action": log.space.to_arrow(log.action),
        "loss": pa.array(log.loss),
        "log_propensity": pa.array(log.log_propensity),
    }
    if every is not None:
        columns["log_propensities"] = _lists(every)
    return pa.table(columns, metadata=None if log.space.action_shape else {ACTIONS: _names(log)})


def table_files(log: BanditLog) -> TableFiles:
    """The same rows for who reads Parquet files; contexts are known by number."""
    every = known_table(log)
    columns = LogColumns(
        loss="loss",
        propensity="log_propensity",
        propensities=None if every is None else "log_propensities",
        context="context",
        features=(),
        validation=None,
    )
    return TableFiles(rows_table(log, every), columns, Path("the log"))


def training_log(log: BanditLog, share: float, by: str, seed: int) -> TrainingLog:
    """The log as learners take it; its own validation rows, or else a share of it, choose the epoch.

    Losses are scaled to the largest one that learners of this action space expect.
    Choice: where only a row's own propensity is known, it stands for those of all loggers. h_avg is then h_j,
    so that the risk on validation rows is the naive self-normalised one instead of the balanced one.
    """
    every = known_table(log)
    if every is None:
        every = np.repeat(log.log_propensity[:, None], len(log.loggers), axis=1)
    validation = log.validation
    if validation is None:
        validation = split_rows(log, share, by, seed, stream="validation")
    return TrainingLog(
        x=log.x,
        context=log.context,
        action=log.action,
        delta=log.loss * (log.space.largest_loss / log.max_loss),
        log_propensities=every,
        logger=log.logger,
        validation=validation,
        space=log.space,
        logger_logits=tuple(policy.logits(log.x) for policy in log.logger_policies),
        truth=log.truth,
    )


def write_parquet(log: BanditLog, path: Path) -> None:
    """One file with a column per part of the log, and what is no column in its schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # As words, in whose order every reader expects them, names may stand otherwise than the labels they were
    # made from: 10 comes before 2.
    order = sorted(range(len(log.loggers)), key=log.loggers.__getitem__)
    every = None if log.log_propensities is None else log.log_propensities[:, order]
    table = rows_table(log, every)
    names = pa.array(log.loggers).take(pa.array(log.logger))
    table = table.set_column(table.column_names.index("logger"), "logger", names)
    table = table.append_column("x", _lists(densify(log.x)[log.context]))
    if not log.contexts_known:
        table = table.drop_columns(["context"])
    if log.time is not None:
        table = table.append_column("time", pa.array(log.time))
    if log.estimated is not None:
        table = table.append_column(ESTIMATED, _lists(log.estimated[:, order]))
    if log.validation is not None:
        table = table.append_column("validation", pa.array(log.validation))
    facts = {
        "actions": log.actions,
        "features": log.columns.to_json(),
        "max_loss": log.max_loss,
        "reward_range": log.reward_range,
        "loggers": log.loggers,
    }
    known = {FACTS: json.dumps(facts).encode(), **(table.schema.metadata or {})}
    pq.write_table(table.replace_schema_metadata(known), path)


def read_parquet(source: str | Path) -> Any:
    """An Arrow table of a file, of every *.parquet below a folder, or of an address in an object store."""
    import pyarrow.dataset as ds

    path = Path(source)
    where: Any = str(source)
    if "://" not in str(source):
        if not path.exists():
            raise BadInput(f"there is no file or folder {path}; give Parquet files")
        where = sorted(str(p) for p in path.rglob("*.parquet")) if path.is_dir() else [str(path)]
        if not where:
            raise BadInput(f"no Parquet files (*.parquet) below {path}; give the folder that holds the log")
    base = {"partition_base_dir": str(path)} if path.is_dir() else {}
    try:
        found = ds.dataset(where, format="parquet", partitioning="hive", **base)
        check_stated_ids(found)
        return _with_ids(found.to_table())
    except BadInput:
        raise
    except READ_ERRORS as error:
        raise BadInput(f"{source} cannot be read as Parquet ({first_line(error)})") from error


def _with_ids(table: Any) -> Any:
    """A table whose actions are ids instead of numbers, where its schema says them."""
    import pyarrow as pa

    ids = stated_ids(table.schema)
    if ids is None or "action" not in table.column_names:
        return table
    place, numbers = table.column_names.index("action"), table.column("action")
    if (row := first_bad(~np.isin(numbers.to_numpy(), np.arange(len(ids))))) is not None:
        raise BadInput(
            f"the log, row {row}: action {numbers[row].as_py()} is not the number of one of the {len(ids)} "
            "actions of the schema; write the file again"
        )
    return table.set_column(place, "action", pa.array(ids).take(numbers))


def columns_by_facts(columns: "ColumnNames", table: Any) -> "ColumnNames":
    """The columns of a file with its actions and its largest loss, unless they say others."""
    facts, ids = read_facts(table.schema), stated_ids(table.schema)
    if ids is not None and columns.get("action", "action") == "action" and columns.get("actions") is None:
        columns = {**columns, "actions": ids}
    own_loss = columns.get("reward") is None and columns.get("loss") in (None, "loss")
    if facts is None or not own_loss or columns.get("max_loss") is not None:
        return columns
    return {**columns, "max_loss": facts["max_loss"]}


def with_facts(log: BanditLog, table: Any) -> BanditLog:
    """The log with the facts of its file, if there are any."""
    facts = read_facts(table.schema)
    if facts is None:
        return log
    low_high = facts["reward_range"]
    order = [log.loggers.index(name) for name in facts["loggers"]]  # see `write_parquet`
    return replace(
        log,
        actions=tuple(facts["actions"]),
        columns=FeatureColumns.from_json(facts["features"]),
        max_loss=facts["max_loss"],
        reward_range=None if low_high is None else (low_high[0], low_high[1]),
        loggers=tuple(facts["loggers"]),
        logger=np.argsort(np.array(order))[log.logger],
        log_propensities=None if log.log_propensities is None else log.log_propensities[:, order],
        time=None if "time" not in table.column_names else np.asarray(table.column("time").to_numpy()),
        estimated=_estimated(table, order),
    )


def _estimated(table: Any, order: list[int]) -> NDArray[np.bool_] | None:
    """Which propensities of a file are estimates: (n, J), or None where it has no column of that name."""
    if ESTIMATED not in table.column_names:
        return None
    flat = table.column(ESTIMATED).combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat.astype(np.bool_).reshape(table.num_rows, -1)[:, order])


def _names(log: BanditLog) -> str:
    return json.dumps([str(one) for one in log.actions])


def _lists(values: NDArray[np.generic]) -> Any:
    import pyarrow as pa

    flat = pa.array(np.ascontiguousarray(values).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
