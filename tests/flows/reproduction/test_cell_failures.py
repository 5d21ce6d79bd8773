"""What is said of a cell that fails."""

import pytest

from multilogger.components.errors import BadInput
from multilogger.flows.reproduction.run_cells import _outcome


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            RuntimeError("(sqlite3.OperationalError) database or disk is full\n[SQL: INSERT INTO tags]"),
            "the disk is full: free some space, or move the store with MULTILOGGER_HOME",
        ),
        (BadInput("no rows"), "no rows"),
        (RuntimeError("one\ntwo"), "RuntimeError: one"),
        (ValueError("x" * 1000), f"ValueError: {'x' * 197}..."),
    ],
)
def test_a_failure_is_one_short_line(error: Exception, said: str) -> None:
    def fail() -> None:
        raise error

    outcome = _outcome(fail)  # type: ignore[arg-type]
    assert outcome is not None
    assert outcome.error == said
