"""The frame of a request to a served policy: its columns, and what their values may look like."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from multilogger.components.errors import BadInput, short
from multilogger.components.features.column import Column, Kind


def read_request(columns: Sequence[Column], given: pd.DataFrame) -> pd.DataFrame:
    """The frame with booleans and times as such; what the log lacked in places may be left out."""
    here = set(given.columns)
    left_out = [column for column in columns if column.name not in here]
    if needed := [repr(column.name) for column in left_out if not column.missing]:
        more = f" and {len(needed) - 5} more" if len(needed) > 5 else ""
        raise BadInput(
            f"the request has no column {', '.join(needed[:5])}{more}; give every column of the log"
        )
    read: dict[str, Any] = dict.fromkeys(column.name for column in left_out)
    for column in columns:
        if column.name in here and column.kind is Kind.BOOLEAN:
            read[column.name] = _booleans(column.name, given[column.name])
        if column.name in here and column.kind is Kind.TIME:
            read[column.name] = _times(column.name, given[column.name])
    return given.assign(**read) if read else given


def _booleans(name: str, values: "pd.Series[Any]") -> "pd.Series[Any]":
    """True, false, 1, 0 or missing."""
    found: list[bool | None] = []
    for row, value in enumerate(values):
        if pd.isna(value):
            found.append(None)
        elif isinstance(value, str) or value not in (True, False):
            raise BadInput(
                f"the request, row {row}: {name!r} must be true, false or null, got {short(value)}"
            )
        else:
            found.append(bool(value))
    return pd.Series(found, index=values.index, dtype="boolean")


def _times(name: str, values: "pd.Series[Any]") -> "pd.Series[Any]":
    """Times as the log has them, without a zone; those with one are taken in UTC."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        zoned: Any = values.dt
        return values if zoned.tz is None else zoned.tz_convert("UTC").dt.tz_localize(None)
    found = [_time(name, row, value) for row, value in enumerate(values)]
    return pd.Series(found, index=values.index, dtype="datetime64[us]")


def _time(name: str, row: int, value: Any) -> Any:
    if value is None or value is pd.NaT or value is pd.NA or value != value:
        return pd.NaT
    try:
        if isinstance(value, int | float) or (isinstance(value, str) and not value[:1].isdigit()):
            raise ValueError(value)
        moment = pd.Timestamp(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadInput(
            f"the request, row {row}: {name!r} must be a time such as 2026-01-05T10:00:00 or null, got "
            f"{short(value)}"
        ) from error
    return moment if moment.tzinfo is None else moment.tz_convert("UTC").tz_localize(None)
