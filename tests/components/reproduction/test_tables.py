"""Rows of the tables and figures, and the CSV files made of them."""

import csv
from dataclasses import replace

import pytest

from multilogger.components.reproduction.report.csv_files import (
    additivity_csv,
    choices_csv,
    loggers_csv,
    pairwise_csv,
    sweep_csv,
    table1_csv,
    table2_csv,
)
from multilogger.components.reproduction.results import CellResult, Reproduction
from multilogger.components.reproduction.statistics import fixed
from multilogger.components.reproduction.tables.paper_tables import (
    best_learned,
    pairwise_rows,
    table1_rows,
    table2_rows,
)
from multilogger.components.reproduction.tables.studies import (
    additivity_rows,
    choice_rows,
    choice_sentence,
    logger_study_rows,
)
from multilogger.components.reproduction.tables.sweeps import sweep_rows

from .synthetic import cells, everything, pairwise


def cell(method: str, seed: int, exp: float | None, dataset: str = "yeast") -> CellResult:
    return CellResult(dataset, method, "tuned", seed, exp, None if exp is None else exp / 2)


def parsed(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_table2_by_hand() -> None:
    """3, 4, 5: mean 4, half-width t(0.975, 2) / sqrt(3) = 4.302653 / 1.732051 = 2.484138."""
    found = table2_csv(table2_rows(Reproduction(table2=tuple(cell("naive", s, 3.0 + s) for s in range(3)))))
    assert found == (
        "dataset,method,preset,seeds,exp_mean,exp_low,exp_high,greedy_mean,paper,constraint\n"
        "yeast,naive,tuned,3,4.000000,1.515862,6.484138,2.000000,4.001,\n"
    )


def test_failed_cells_are_not_counted_and_one_seed_has_no_interval() -> None:
    made = (cell("naive", 0, None), cell("naive", 1, 3.5), cell("dr", 0, None), cell("wcrm", 0, float("nan")))
    rows = parsed(table2_csv(table2_rows(Reproduction(table2=made))))
    assert [(r["method"], r["seeds"], r["exp_mean"], r["exp_low"]) for r in rows] == [
        ("wcrm", "0", "", ""),
        ("naive", "1", "3.500000", ""),
        ("dr", "0", "", ""),
    ]


def test_order_is_canonical_whatever_the_order_of_cells() -> None:
    methods = ["zeta", "crf", "dr", "weighted-exact", "naive", "logger-10", "logger-2", "wcrm", "alpha"]
    made = [cell(m, s, 3 + 0.1 * s, d) for d in ("scene", "yeast") for m in methods for s in range(3)]
    forth = table2_rows(Reproduction(table2=tuple(made)))
    assert [row.method for row in forth if row.dataset == "scene"] == [
        "logger-2", "logger-10", "wcrm", "naive", "weighted-exact", "dr", "crf", "alpha", "zeta",
    ]  # fmt: skip
    assert list(dict.fromkeys(row.dataset for row in forth)) == ["scene", "yeast"]
    back = table2_rows(Reproduction(table1=everything().table1, table2=tuple(reversed(made))))
    assert {r.method: r.exp for r in back} == {r.method: r.exp for r in forth}
    assert back[0].dataset == "yeast", "table 1 gives the order of datasets"


def test_best_learned_is_no_reference() -> None:
    made = (cell("full-information", 0, 1.0), cell("crf", 0, 1.5), cell("naive", 0, 3.0), cell("dr", 0, 2.0))
    best = best_learned(table2_rows(Reproduction(table2=made)), "yeast")
    assert best is not None
    assert best.method == "dr"


def test_figure_holds_the_mean_of_the_inverse() -> None:
    """EXP 2 and 4: mean of 1/EXP is 0.375, which is not 1/3."""
    made = tuple(replace(cell("naive-reg", s, e), replay_count=8) for s, e in ((0, 2.0), (1, 4.0)))
    text = sweep_csv("figure1", sweep_rows(Reproduction(figure1=(*made, cell("crf", 0, 4.0))), "figure1"))
    point, line = parsed(text)
    assert (point["replay_count"], point["seeds"], point["paper"]) == ("8", "2", "0.2550")
    assert (point["inverse_exp_mean"], point["exp_mean"]) == ("0.375000", "3.000000")
    assert float(point["inverse_exp_high"]) == pytest.approx(0.375 + 12.706205 * 0.125, abs=1e-5)
    assert (line["replay_count"], line["method"], line["paper"]) == ("", "crf", "0.2418")
    assert line["inverse_exp_low"] == ""


def test_figures_of_another_dataset_have_no_paper() -> None:
    made = tuple(cells("naive-reg", 1.0, dataset="digits", tau=1.0))
    assert [row.paper for row in sweep_rows(Reproduction(figure2=made), "figure2")] == [None]


def test_choices_are_paired_by_seed() -> None:
    """Default 3.0, 3.5, 4.0 on seeds 0 to 2; the choice has seeds 1 to 3, so only 1 and 2 are compared."""
    default = [replace(cell("naive", s, 3.0 + s / 2), choice="default") for s in range(3)]
    other = [replace(cell("naive", s, 3.1 + s / 2), choice="clip=10") for s in (1, 2, 3)]
    rows = choice_rows(Reproduction(choices=(*other, *default)))
    assert [(r.choice, r.exp.count, r.difference.count) for r in rows] == [
        ("default", 3, 0),
        ("clip=10", 3, 2),
    ]
    assert rows[1].difference.mean == pytest.approx(0.1)
    assert parsed(choices_csv(rows))[1]["difference_mean"] == "0.100000"


def test_choices_in_words() -> None:
    assert choice_sentence("clip=10") == "Cut the importance weights at 10."
    assert choice_sentence("standardise=False") == "Feed the features as they are."
    assert choice_sentence("unheard=of") is None
    assert choice_sentence("clip") is None


def test_table1_beside_the_paper() -> None:
    rows = table1_rows(everything())
    notes = [(True, ""), (False, "other features of tmc's rows"), (False, "not in the paper")]
    assert [(row.agrees, row.note) for row in rows] == notes
    assert [row.ours.actions_text for row in rows] == ["14 labels", "22 labels", "one of 6"]
    assert parsed(table1_csv(rows))[1]["paper_features"] == "30438"


def test_no_negative_zero() -> None:
    assert fixed(-0.00001, 3) == "0.000"
    assert fixed(-0.001, 3) == "-0.001"


def test_logger_study_counts_loggers_and_not_failures() -> None:
    cells = [
        CellResult("yeast", "weighted", "tuned", seed, exp, exp, loggers=count, error="" if exp else "no")
        for count, exps in ((8, (3.0, 3.2)), (2, (3.4, None)))
        for seed, exp in enumerate(exps)
    ]
    rows = logger_study_rows(Reproduction(loggers=tuple(cells)))
    assert [(row.loggers, row.exp.count, row.exp.mean) for row in rows] == [(2, 1, 3.4), (8, 2, 3.1)]
    assert loggers_csv(rows).splitlines()[1] == "yeast,weighted,tuned,2,1,3.400000,,"


def test_pairwise_has_its_own_table() -> None:
    made = Reproduction(table2=tuple(cells("naive", 3.0)), pairwise=pairwise(1.1, 0.8))
    assert [row.method for row in table2_rows(made)] == ["naive"]
    rows = parsed(pairwise_csv(pairwise_rows(made)))
    assert [(row["dataset"], row["method"]) for row in rows] == [
        ("pairwise", "logger-1"),
        ("pairwise", "additive"),
        ("pairwise", "dr"),
    ]
    assert "paper" not in rows[0]


def test_additivity_by_hand() -> None:
    """p of 0.01, 0.2, 0.04, 0.6: two of four are below 0.05, and the median is 0.12."""
    tested = [replace(cell("additive", s, 3.0), additivity_p=p) for s, p in enumerate((0.01, 0.2, 0.04, 0.6))]
    same = [replace(c, method="additive-soft") for c in tested]  # the same model, so the same test again
    untested = [cell("naive", 0, 3.0), replace(tested[0], dataset="scene", exp=None, additivity_p=None)]
    (row,) = additivity_rows(Reproduction(table2=(*tested, *same, *untested)))
    assert (row.dataset, row.rejected, row.rejected_share) == ("yeast", 2, 0.5)
    assert additivity_csv([row]).splitlines()[1] == "yeast,tuned,4,2,0.500000,0.12"
