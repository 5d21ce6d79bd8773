"""A person's own log held in memory as a whole, and completed where it lacks propensities."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from multilogger.components.api.bandit_log import BanditLog
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.own_log.mapping import Wanted, resolve
from multilogger.components.own_log.source import PARQUET, OpenSource
from multilogger.tasks.own_log.import_settings import ImportLogSettings


def held_log(log: ImportLogSettings, source: OpenSource, encoding: FeatureColumns | None = None) -> BanditLog:
    """The whole log in memory, its columns encoded anew, or as `encoding` says."""
    import pyarrow as pa

    wanted = log.wanted
    if (
        encoding is None
        and source.source.is_local
        and source.source.format == PARQUET
        and Path(log.logs).exists()
    ):
        return BanditLog.from_parquet(log.logs, **_named(wanted, log))
    known = () if encoding is None else tuple(column.name for column in encoding.columns)
    mapping = resolve(
        Wanted(**{**vars(wanted), "features": known or wanted.features}), source.schema, log.logs
    )
    extra = ["validation"] if "validation" in source.names else []
    table = pa.concat_tables(
        [rows.table for rows in source.batches([*mapping.named, *mapping.features, *extra])]
    )
    given = _named(replace(wanted, features=mapping.features), log)
    return BanditLog.from_frame(table, **given | ({} if encoding is None else {"features": encoding}))


def write_completed(
    log: ImportLogSettings, source: OpenSource, encoding: FeatureColumns | None, seed: int, to: Path
) -> None:
    """The log as one file with the propensities that it lacks estimated, as learn does it."""
    held = held_log(log, source, encoding)
    held.estimate_propensities(seed, time=held.time is not None).to_parquet(to)


def _named(columns: Wanted, log: ImportLogSettings) -> Any:
    """The columns as `BanditLog` takes them."""
    given: dict[str, Any] = {}
    for one in fields(columns):
        value = getattr(columns, one.name)
        if value and one.name != "split":
            single = isinstance(value, tuple) and len(value) == 1
            given[one.name] = value[0] if single else list(value) if isinstance(value, tuple) else value
    if log.reward_range is not None:
        given["reward_range"] = log.reward_range
    if log.max_loss is not None:
        given["max_loss"] = log.max_loss
    return given
