"""The study of the constraint: its rows, its paragraph, its file and its picture."""

import math
import re
from dataclasses import replace

import pytest

from multilogger.components.reproduction.plots.constraint import constraint_picture
from multilogger.components.reproduction.report.csv_files import constraint_csv, read_constraint_csv
from multilogger.components.reproduction.results import CellResult, Reproduction, sweep_position
from multilogger.components.reproduction.tables.constraint import (
    AXES,
    constraint_paragraph,
    constraint_rows,
    distinct_points,
)
from tests.components.reproduction.synthetic import constraint_study

HALF = 12.706205 / math.sqrt(2) * math.sqrt(0.02)  # of 0.1 and 0.3 less 0.2: t(0.975, 1) s / sqrt(2)


def point(axis: str, level: str, objective: str, **exps: tuple[float | None, ...]) -> list[CellResult]:
    """EXP by seed of the methods named; `naive_reg` is naive-reg."""
    return [
        CellResult(
            "yeast",
            name.replace("_", "-"),
            "tuned",
            seed,
            exp,
            exp,
            axis=axis,
            level=level,
            objective=objective,
        )
        for name, values in exps.items()
        for seed, exp in enumerate(values)
    ]


def study(*points: list[CellResult]) -> Reproduction:
    return Reproduction(constraint=tuple(cell for cells in points for cell in cells))


STEP = AXES["objective"].base
BY_HAND = study(
    # naive: -0.2 with an interval that holds 0; weighted: no twin of seed 1
    point(
        "passes", "1", "printed", naive=(3.0, 3.2), naive_reg=(2.9, 2.9), wcrm=(2.8, 3.0),
        weighted=(3.0, None), weighted_reg=(2.5, 2.6),
    ),
    # the base, which every axis has: a gain of exactly 1 and a loss of exactly 0.5
    *(
        point(
            axis, AXES[axis].base, objective, naive=(4.0, 4.5), naive_reg=(3.0, 3.5), wcrm=(2.0, 2.0),
            weighted=(3.0, 3.1), weighted_reg=(3.5, 3.6),
        )
        for axis in ("passes", "alpha")
        for objective in ("printed", "ours")
    ),
    point("objective", STEP, STEP, naive=(4.0, 4.5), naive_reg=(2.0, 2.5), wcrm=(2.0, 2.0)),
)  # fmt: skip


def test_rows_by_hand() -> None:
    rows = constraint_rows(BY_HAND)
    assert [(r.axis, r.level, r.objective, r.estimator) for r in rows[:4]] == [
        ("objective", STEP, STEP, "naive"),
        ("objective", STEP, STEP, "weighted"),
        ("passes", "1", "printed", "naive"),
        ("passes", "1", "printed", "weighted"),
    ]
    naive, weighted = rows[2:4]
    assert (naive.direct.exp.mean, naive.constrained.exp.mean) == pytest.approx((3.1, 2.9))
    assert naive.wcrm.exp.mean == pytest.approx(2.9)
    assert naive.difference.mean == pytest.approx(-0.2)
    assert naive.difference.high == pytest.approx(-0.2 + HALF, abs=1e-5)
    assert not naive.helps
    assert not naive.harms
    assert naive.p is not None
    assert naive.p > 0.05
    assert (weighted.constrained.exp.count, weighted.difference.count, weighted.p) == (2, 1, None)
    assert weighted.difference.mean == pytest.approx(-0.5)
    base = {r.estimator: r for r in rows if (r.axis, r.level, r.objective) == ("passes", "4", "ours")}
    assert base["naive"].helps
    assert base["weighted"].harms


def test_rows_do_not_depend_on_the_order_of_cells() -> None:
    backwards = Reproduction(constraint=tuple(reversed(BY_HAND.constraint)))
    assert constraint_rows(backwards) == constraint_rows(BY_HAND)


def test_the_base_counts_once() -> None:
    rows = constraint_rows(BY_HAND)
    found = [(row.axis, row.level, row.estimator) for row in distinct_points(rows, "printed")]
    assert found == [("passes", level, estimator) for level in "14" for estimator in ("naive", "weighted")]
    assert [row.axis for row in distinct_points(rows, "ours")] == ["passes", "passes"]


def test_the_base_is_kept_where_an_axis_was_not_run() -> None:
    alone = [row for row in constraint_rows(BY_HAND) if row.axis == "alpha"]
    assert [row.level for row in distinct_points(alone, "ours")] == ["2", "2"]


def test_paragraph_by_hand() -> None:
    assert constraint_paragraph(constraint_rows(BY_HAND)) == (
        "Against the direct twin, by 95 % intervals that exclude 0, under the printed objective the "
        "constraint helps in 1 of 3 comparisons and harms in 1; under ours the constraint helps in 1 of 2 "
        "comparisons and harms in 1. On the way from the printed objective to ours it helps one estimator or "
        'both at 1 of 1 steps (no shift, raw). The gain is largest at the step "no shift, raw": naive-reg is '
        "2.000 below naive (2.000 to 2.000). The better of the two constrained methods is below WCRM at 1 of "
        "2 points under the printed objective and at 0 of 1 points under ours."
    )


@pytest.mark.parametrize(
    ("axis", "level", "words"),
    [
        ("passes", "16", "The gain is largest with replay passes of each logger at 16 under ours: naive-reg"),
        ("alpha", "0.5", "The gain is largest with alpha of logger 2 at 0.5 under ours: naive-reg"),
        ("labels", "all", "The gain is largest with all labels under ours: naive-reg"),
    ],
)
def test_where_the_gain_is_largest(axis: str, level: str, words: str) -> None:
    made = study(point(axis, level, "ours", naive=(4.0, 4.1), naive_reg=(3.0, 3.1)))
    assert words in constraint_paragraph(constraint_rows(made))


def test_a_constraint_that_is_left_open_neither_helps_nor_harms() -> None:
    made = study(point("passes", "4", "ours", naive=(3.0, 3.1), naive_reg=(3.0, 3.1), wcrm=(3.5, 3.6)))
    (row, _) = constraint_rows(made)
    assert (row.helps, row.harms, row.p) == (False, False, 1.0)
    text = constraint_paragraph([row])
    assert "under ours the constraint helps in 0 of 1 comparisons and harms in 0." in text
    assert "At no point is there a gain whose interval excludes 0." in text


def test_csv_by_hand_and_back() -> None:
    rows = constraint_rows(BY_HAND)
    lines = constraint_csv(rows).splitlines()
    assert lines[0] == (
        "dataset,axis,level,objective,estimator,"
        "direct_seeds,direct_mean,direct_low,direct_high,"
        "constrained_seeds,constrained_mean,constrained_low,constrained_high,"
        "wcrm_seeds,wcrm_mean,wcrm_low,wcrm_high,"
        "difference_seeds,difference_mean,difference_low,difference_high,p"
    )
    assert lines[4] == (
        "yeast,passes,1,printed,weighted,1,3.000000,,,2,2.550000,1.914690,3.185310,"
        "2,2.900000,1.629380,4.170620,1,-0.500000,,,"
    )
    again = read_constraint_csv(constraint_csv(rows))
    assert constraint_paragraph(again) == constraint_paragraph(rows)
    # A standard error is not in the file, so a p-value that was read is not worked out again.
    assert [line.rsplit(",", 1)[0] for line in constraint_csv(again).splitlines()[1:]] == [
        line.rsplit(",", 1)[0] for line in lines[1:]
    ]


def test_picture_marks_what_it_cuts_and_is_the_same_twice() -> None:
    rows = constraint_rows(Reproduction(constraint=constraint_study()))
    first, second = (constraint_picture("constraint-yeast", "yeast", rows) for _ in range(2))
    assert (first.svg, first.png) == (second.svg, second.png)
    assert b"cut-0" not in first.svg
    wide = [replace(row, difference=replace(row.difference, low=-50.0, high=50.0)) for row in rows]
    cut = re.findall(r'id="(cut-\d+)"', constraint_picture("constraint-yeast", "yeast", wide).svg.decode())
    assert len(cut) == len(set(cut)) == 2 * len(rows)


def test_a_picture_of_cells_that_all_failed() -> None:
    made = study(point("passes", "4", "ours", naive=(None,), naive_reg=(None,), wcrm=(None,)))
    rows = constraint_rows(made)
    assert constraint_picture("constraint-yeast", "yeast", rows).svg
    assert constraint_paragraph(rows) == "One seed has no interval, so nothing can be said of gains."


def test_a_failed_cell_says_where_it_stood() -> None:
    (cell,) = point("labels", "4", "ours", naive=(None,))
    (step,) = point("objective", STEP, STEP, naive=(None,))
    assert sweep_position(cell) == "labels 4, under ours"
    assert sweep_position(step) == "objective no shift, raw"
