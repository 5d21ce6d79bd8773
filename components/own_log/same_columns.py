"""The files of a log have the same columns: Arrow takes one that a file lacks for missing in its rows."""

from typing import Any

from multilogger.components.errors import BadInput, short
from multilogger.components.features.frames import is_time, is_word
from multilogger.components.log.files import is_list
from multilogger.components.log.unreadable import READ_ERRORS
from multilogger.components.own_log.mapping import Mapping
from multilogger.components.own_log.source import CSV, OpenSource, check_named_once

WORDS, TRUTHS, NUMBERS = "text", "booleans", "numbers"


def check_same_columns(source: OpenSource, mapping: Mapping) -> None:
    """Refuse a file that lacks a column of the log or has it of another kind; propensities may be missing."""
    import pyarrow.dataset as ds

    if source.dataset is None:  # of a published log, whose files are checked as they are opened
        return
    usual, first = source.dataset.schema, None
    may_lack = {mapping.propensity, *mapping.propensities}
    for fragment in source.dataset.get_fragments():
        where = source.source.name(str(fragment.path))
        first = first or where
        try:
            schema = fragment.physical_schema
        except READ_ERRORS as error:
            raise source.unlike(where, error) from error
        check_named_once(schema.names, where)
        known = {*schema.names, *ds.get_partition_keys(fragment.partition_expression)}
        for name in dict.fromkeys([*mapping.named, *mapping.features]):
            if name not in known:
                if name in may_lack:
                    continue
                raise BadInput(
                    f"{where} has no column {short(name)}, which {first} has; write the column into every "
                    f"file, or leave it out{' of --features' if name in mapping.features else ''}"
                )
            if name in schema.names:
                here, there = kind_of_column(schema.field(name).type), kind_of_column(usual.field(name).type)
                if not _fits(here, there, source.source.format):
                    raise BadInput(
                        f"column {short(name)} holds {here} in {where} and {there} in {first}; write it as "
                        "one kind in every file"
                    )


def kind_of_column(kind: Any) -> str | None:
    """What a column holds, by its Arrow type; None where every value is missing."""
    import pyarrow as pa

    if pa.types.is_null(kind):
        return None
    if is_word(kind):
        return WORDS
    if is_time(kind):
        return "times"
    if pa.types.is_boolean(kind):
        return TRUTHS
    if is_list(kind):
        return "lists"
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return NUMBERS if numbers else str(kind)


def _fits(here: str | None, there: str | None, form: str) -> bool:
    """Whether values can be read as those of the first file without becoming others.

    A column of CSV is what its values look like, and text, 0 and 1 look like more than one kind.
    """
    if here is None or there is None or here == there:
        return True
    if form == CSV:
        return there == WORDS or (here, there) in ((NUMBERS, TRUTHS), (WORDS, "binary"), ("binary", WORDS))
    return (here, there) == (TRUTHS, NUMBERS)
