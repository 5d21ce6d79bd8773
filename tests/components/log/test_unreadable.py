"""Columns that Arrow cannot tell apart, views, and files that change while they are read."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from multilogger.components.errors import BadInput
from multilogger.components.log.unreadable import distinct, unchanged, without_views


def test_distinct_values_and_their_places() -> None:
    found = distinct(pa.array(["b", "a", "b"]), "item")
    assert found.values == ["b", "a"]
    assert found.place.tolist() == [0, 1, 0]
    halves = distinct(pa.array(np.array([0.5, 1.0, 0.5], np.float16)), "item")
    assert (halves.values, halves.place.tolist()) == ([0.5, 1.0], [0, 1, 0])


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (pa.array([-(2**63) + 1], pa.timestamp("us")), "date value out of range"),
        (pa.array([0], pa.timestamp("us", "Mars/Olympus")), "Mars/Olympus"),
        (pa.array([{"a": 1}]), "no kernel"),
    ],
)
def test_what_cannot_be_told_apart(column: pa.Array, why: str) -> None:
    with pytest.raises(BadInput, match=f"column 'item' holds .*cannot be told apart .*{why}.*; cast it to"):
        distinct(column, "item")


def test_views_become_plain() -> None:
    rows = pa.table({"a": [1, 2], "b": pa.array(["x", None], pa.string_view())})
    plain = without_views(rows)
    assert plain.column("b").to_pylist() == ["x", None]
    assert plain.filter(pa.array([False, True])).column("a").to_pylist() == [2]
    assert without_views(rows.select(["a"])).schema == rows.select(["a"]).schema


VIEWS = pa.array(["x", "y", None, "z"], pa.string_view())


@pytest.mark.parametrize(
    "column",
    [
        pa.ListArray.from_arrays(pa.array([0, 2, 4], pa.int32()), VIEWS),
        pa.LargeListArray.from_arrays(pa.array([0, 2, 4]), VIEWS),
        pa.FixedSizeListArray.from_arrays(VIEWS, 2),
        pa.ListArray.from_arrays(
            pa.array([0, 1, 2], pa.int32()), pa.FixedSizeListArray.from_arrays(VIEWS, 2)
        ),
        pa.StructArray.from_arrays([VIEWS[:2]], ["a"]),
        pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["a", "b"]), VIEWS[:2]),
    ],
    ids=lambda column: str(column.type)[:30],
)
def test_views_within_other_columns_become_plain(column: pa.Array) -> None:
    rows = pa.table({"a": column})
    plain = without_views(rows)
    assert plain.column("a").to_pylist() == column.to_pylist()
    assert plain.filter(pa.array([False, True])).column("a").to_pylist() == column.to_pylist()[1:]


def test_files_that_change_while_they_are_read(tmp_path: Path) -> None:
    """Whether the change shows in what was read or not, and also if the file is gone."""
    path = tmp_path / "log"
    path.write_text("a")
    with unchanged("log", path.read_text):
        path.write_text("a")
    for change in (lambda: path.write_text("b"), path.unlink):
        with (
            pytest.raises(BadInput, match="changed while they were read; run"),
            unchanged("log", path.read_text),
        ):
            change()
        path.write_text("a")


@pytest.mark.parametrize(
    ("changes", "told"), [(True, "the files of log changed"), (False, "row 3 is damaged")]
)
def test_a_damage_by_a_change_is_told_as_one(tmp_path: Path, changes: bool, told: str) -> None:
    path = tmp_path / "log"
    path.write_text("a")

    def read() -> None:
        if changes:
            path.unlink()
        raise BadInput("row 3 is damaged")

    with pytest.raises(BadInput, match=told), unchanged("log", path.read_text):
        read()
