"""What is said of a file or a column that Arrow cannot read."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from multilogger.components.errors import BadInput, first_line

READ_ERRORS = (OSError, ValueError, TypeError, NotImplementedError, KeyError)  # Arrow's derive from these


@contextmanager
def readable(where: str) -> Iterator[None]:
    """Say which file cannot be read."""
    try:
        yield
    except BadInput:
        raise
    except READ_ERRORS as error:
        raise BadInput(
            f"{where} cannot be read as Parquet of the log's schema ({first_line(error)})"
        ) from error


def first_word(column: Any) -> int | None:
    """The place of the first text of a column that is no number; None in columns of other kinds."""
    import pyarrow as pa

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    for place, word in enumerate(column.to_pylist()):
        try:
            float(word or 0)
        except ValueError:
            return place
    return None
