"""Which stages of many cells are one node of the graph."""

from multilogger.flows.cells.shared_stages import shared_stages
from multilogger.flows.pipelines.cells import Cell


def cell(method: str, seed: int = 0, **settings: object) -> Cell:
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return Cell(dataset="digits", method=method, seed=seed, settings=named)


def test_each_shared_stage_is_one_node_after_those_that_feed_it() -> None:
    cells = [cell("naive"), cell("weighted"), cell("naive", 1), cell("weighted", 1)]
    found = [(planned.stage.name, first.seed) for planned, first in shared_stages(cells).items()]
    assert found == [("train-loggers", 0), ("replay", 0), ("train-loggers", 1), ("replay", 1)]


def test_loggers_are_shared_by_different_logs_and_data_is_no_node() -> None:
    cells = [cell("naive"), cell("naive", replay__passes=2)]
    assert [planned.stage.name for planned in shared_stages(cells)] == ["train-loggers"]


def test_a_cell_of_its_own_shares_nothing() -> None:
    assert shared_stages([cell("naive"), cell("naive", 1)]) == {}
