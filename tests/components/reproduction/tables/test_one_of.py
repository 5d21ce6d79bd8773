"""The table of datasets whose action is one of K, and what is said of it."""

import math

import pytest

from multilogger.components.reproduction.report.one_of_csv import one_of_csv, read_one_of_csv
from multilogger.components.reproduction.results import CellResult, Reproduction
from multilogger.components.reproduction.statistics import ratio_over_seeds
from multilogger.components.reproduction.tables.one_of import (
    OneOfRow,
    calibration_rows,
    one_of_paragraph,
    one_of_rows,
    one_of_table,
)
from tests.components.reproduction.synthetic import one_of


def cells(method: str, *errors: float) -> tuple[CellResult, ...]:
    return tuple(CellResult("d", method, "tuned", seed, e + 0.01, e) for seed, e in enumerate(errors))


def rows_of(*made: tuple[CellResult, ...]) -> dict[str, OneOfRow]:
    table = one_of_table(Reproduction(one_of=tuple(cell for part in made for cell in part)))
    return {row.method: row for row in one_of_rows(table)}


def test_a_ratio_of_means_by_hand() -> None:
    """Pairs (1, 1) and (3, 1): r = 2, rests -1 and 1 of standard error 1, t(0.975, 1) = 12.706."""
    found = ratio_over_seeds([(1.0, 1.0), (3.0, 1.0)])
    assert (found.mean, found.standard_error) == (2.0, 1.0)
    assert found.high == pytest.approx(2.0 + 12.706, abs=1e-3)
    assert ratio_over_seeds([(0.2, 0.0), (0.3, 0.5)]).mean == 1.0, "a seed whose b is 0 does not spoil it"
    assert ratio_over_seeds([(0.1, 0.0)]).mean is None
    assert ratio_over_seeds([(0.3, 0.2)]).half_width is None


def test_methods_stand_beside_full_information_and_their_twins() -> None:
    rows = rows_of(
        cells("naive", 0.2, 0.3), cells("naive-reg", 0.1, 0.3), cells("full-information", 0.1, 0.1)
    )
    assert rows["naive"].full_ratio.mean == pytest.approx(2.5)
    assert rows["naive"].error.mean == pytest.approx(0.25)
    assert rows["naive-reg"].twin_change.mean == pytest.approx(-0.05)
    assert (rows["naive"].twin_change.count, rows["full-information"].full_ratio.mean) == (0, 1.0)
    assert rows_of(cells("naive", 0.2))["naive"].full_ratio.count == 0


@pytest.mark.parametrize(
    ("naive_reg", "said"),
    [(0.2, "it helps"), (0.3, "it harms"), (0.25, "undecided")],
)
def test_the_paragraph_says_who_is_best_how_near_and_what_the_constraint_does(
    naive_reg: float, said: str
) -> None:
    rows = one_of_rows(one_of_table(Reproduction(one_of=one_of(naive_reg))))
    best, twins = one_of_paragraph(rows).split(". Against ")
    assert best.startswith("Of the methods that learn from the log alone, Loss model has the least EXP, 0.12")
    assert ", 1.20 times that of Full information (95 % 1." in best
    assert twins.startswith("its direct twin, the constraint changes EXP: Naive-Reg by ")
    assert twins.endswith(f"), {said}.")


def test_what_was_not_run_is_not_said() -> None:
    said = one_of_paragraph(list(rows_of(cells("naive", 0.2)).values()))
    assert said.endswith("Naive has the least EXP, 0.210, and an error of 0.200.")
    assert one_of_paragraph(list(rows_of(cells("crf", 0.2)).values())) == ""
    same = rows_of(cells("naive", 0.2, 0.3), cells("naive-reg", 0.2, 0.3))
    assert one_of_paragraph(list(same.values())).endswith("Naive-Reg not at all.")


def test_the_file_has_all_that_the_words_are_made_of() -> None:
    rows = one_of_rows(one_of_table(Reproduction(one_of=one_of())))
    text = one_of_csv(rows)
    again = read_one_of_csv(text)
    assert one_of_csv(again) == text
    assert one_of_paragraph(again) == one_of_paragraph(rows)


def test_tests_of_loss_models_are_counted() -> None:
    (row,) = calibration_rows(one_of_table(Reproduction(one_of=one_of())))
    assert (row.dataset, row.method, row.off, len(row.p_values)) == ("satimage", "dm", 1, 5)
    assert math.isclose(row.median_p, 0.3)
