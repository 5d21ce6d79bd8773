"""Finding finished results without running anything."""

from pathlib import Path

import pytest

from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.prepare import prepare
from multilogger.tasks.engine.caching import Lookup
from multilogger.tasks.engine.store import Store


def test_finds_what_prefect_would_take_from_its_cache_and_nothing_else(
    store_root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = Cell(dataset="digits", method="naive").steps()["replay"]
    store = Store(store_root)
    assert Lookup(store).find(log) is None
    made = prepare().outcomes["replay"].artifact
    found = Lookup(store).find(log)
    assert found == made
    assert Lookup(store).find(Cell(dataset="digits", method="naive").steps()["evaluate"]) is None
    assert Lookup(store).find(Cell(dataset="digits", method="naive", seed=1).steps()["replay"]) is None

    (made.folder / "summary.json").write_text("{}")
    assert Lookup(store).find(log) is None
    said = [record.message.split(",")[0] for record in caplog.records if record.name == "multilogger"]
    assert said == [f"replay: cached result {made.key[:8]} cannot be used"]
    (store.results / made.key).write_text("not JSON")
    assert Lookup(store).find(log) is None
