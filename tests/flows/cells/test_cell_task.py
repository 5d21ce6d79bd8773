"""What is said of a cell that fails."""

import pytest

from multilogger.components.errors import BadInput
from multilogger.flows.cells.cell_task import CellOutcome, outcome_of


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
    def fail() -> CellOutcome:
        raise error

    outcome = outcome_of(fail)
    assert outcome is not None
    assert outcome.error == said


def test_a_cell_that_was_lost_with_its_worker_has_no_outcome() -> None:
    def lose() -> CellOutcome:
        raise ConnectionError("gone")

    assert outcome_of(lose, (ConnectionError,)) is None
