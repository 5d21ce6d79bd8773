"""Presets side by side: their order, the columns of Table 2, and a row that repeats its twin."""

from dataclasses import replace

import pytest

from multilogger.components.learners.presets import PRESETS
from multilogger.components.reproduction.names import OURS, PRESET_TITLES, preset_rank, preset_title
from multilogger.components.reproduction.report.csv_files import table2_csv
from multilogger.components.reproduction.results import CellResult, Reproduction
from multilogger.components.reproduction.tables.paper_tables import (
    SAME_AS_DIRECT,
    Table2Row,
    exp_text,
    method_lines,
    shown_presets,
    table2_rows,
)
from tests.components.reproduction.synthetic import cells


def rows_of(*made: list[CellResult]) -> list[Table2Row]:
    return table2_rows(Reproduction(table2=tuple(cell for part in made for cell in part)))


def as_method(made: list[CellResult], method: str) -> list[CellResult]:
    return [replace(cell, method=method) for cell in made]


def test_presets_go_from_the_papers_to_ours_and_unknown_ones_last() -> None:
    names = ["zeta", "tuned", "alpha", "printed-objective", "paper"]
    assert sorted(names, key=preset_rank) == ["paper", "printed-objective", "tuned", "alpha", "zeta"]
    assert [preset_title(name) for name in ("paper", "printed-objective", "tuned", "alpha")] == [
        "as printed",
        "printed objective",
        "ours",
        "alpha",
    ]


def test_every_preset_has_a_title() -> None:
    assert list(PRESET_TITLES) == list(PRESETS)
    assert OURS in PRESET_TITLES


def test_a_line_per_method_with_its_rows_by_preset() -> None:
    rows = rows_of(
        cells("naive", 3.0, preset="tuned"),
        cells("naive", 4.0, preset="paper"),
        cells("crf", 4.1, preset="tuned"),
    )
    assert shown_presets(rows) == ("paper", "tuned")
    naive, crf = method_lines(rows)
    assert (naive.method, list(naive.rows), naive.only, naive.paper) == (
        "naive",
        ["paper", "tuned"],
        None,
        4.001,
    )
    assert (crf.method, crf.only, crf.paper) == ("crf", rows[-1], 4.133)


def test_exp_in_words_by_hand() -> None:
    """3, 4, 5: mean 4, half-width t(0.975, 2) / sqrt(3) = 2.484."""
    made = [CellResult("yeast", "naive", "tuned", seed, 3.0 + seed, 1.0) for seed in range(3)]
    failed = CellResult("yeast", "naive", "tuned", 3, None, None, error="killed")
    assert exp_text(rows_of(made)[0]) == "4.000 ± 2.484"
    assert exp_text(rows_of([*made, failed])[0]) == "4.000 ± 2.484 (3 of 4 seeds)"
    assert exp_text(rows_of(made[:1])[0]) == "3.000"
    assert exp_text(rows_of([failed])[0]) == "–"
    assert exp_text(None) == ""


def test_a_row_that_repeats_its_twin_says_so_and_has_no_number() -> None:
    direct = cells("naive", 3.0)
    rows = rows_of(direct, as_method(direct, "naive-reg"))
    assert [(row.method, row.repeats_twin) for row in rows] == [("naive", False), ("naive-reg", True)]
    assert exp_text(rows[1]) == SAME_AS_DIRECT
    assert [line.rsplit(",", 1)[1] for line in table2_csv(rows).splitlines()] == ["constraint", "", "same"]


@pytest.mark.parametrize("method", ["naive-exact", "weighted-reg"])
def test_another_method_of_the_same_numbers_is_a_result(method: str) -> None:
    direct = cells("naive", 3.0)
    assert not any(row.repeats_twin for row in rows_of(direct, as_method(direct, method)))


def test_the_last_digit_of_one_seed_makes_a_second_result() -> None:
    direct = cells("naive", 3.0)
    twin = as_method(direct, "naive-reg")
    other = [replace(twin[0], exp=(twin[0].exp or 0.0) + 1e-15), *twin[1:]]
    assert other[0].exp != twin[0].exp
    assert not rows_of(direct, other)[1].repeats_twin


def test_a_twin_under_another_preset_does_not_count() -> None:
    direct = cells("naive", 3.0, preset="paper")
    twin = [replace(cell, preset="tuned") for cell in as_method(direct, "naive-reg")]
    assert not any(row.repeats_twin for row in rows_of(direct, twin))


def test_only_seeds_that_both_have_are_compared() -> None:
    direct = cells("naive", 3.0)
    twin = as_method(direct, "naive-reg")
    failed = [replace(cell, exp=None, error="killed") for cell in twin]
    assert rows_of(direct, [failed[0], *twin[1:]])[1].repeats_twin
    assert not rows_of(direct, failed)[1].repeats_twin, "of no seed nothing is known"
