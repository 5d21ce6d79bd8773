"""What is said of a file that Arrow cannot read."""

from collections.abc import Iterator
from contextlib import contextmanager

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
