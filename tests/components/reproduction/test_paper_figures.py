"""The paper's own numbers, and where they disagree with each other."""

import pytest

from multilogger.components.reproduction.paper_figures import (
    discrepancies,
    paper_exp,
    paper_sweep,
    paper_table1,
)


def test_table2_and_the_dataset_with_the_same_rows() -> None:
    assert paper_exp("yeast", "weighted-reg") == 3.263
    assert paper_exp("tmc500", "naive-reg") == paper_exp("tmc", "naive-reg") == 2.415
    assert paper_exp("digits", "naive") is None
    assert paper_exp("yeast", "additive") is None


def test_table1() -> None:
    assert paper_table1()["tmc"].features == 30438


def test_sweeps_have_curves_and_lines() -> None:
    assert paper_sweep("figure1").at("naive-reg", 8) == 0.2550
    assert paper_sweep("figure2").at("wcrm", None) == 0.2559
    assert paper_sweep("figure3").at("weighted-reg", 7) is None


def test_figure_1_has_another_second_logger_than_table_2() -> None:
    found = {d.method: d for d in discrepancies("figure1")}
    assert found["logger-2"].in_figure == pytest.approx(3.831, abs=1e-3)
    assert found["logger-2"].in_table == 4.306
    assert "crf" not in found
