"""The results in the README and on the page of results are those of the files that they were written from."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

from multilogger.components.reproduction.report.csv_files import constraint_csv
from multilogger.components.reproduction.report.one_of_csv import calibration_csv, one_of_csv
from multilogger.components.reproduction.results import Reproduction
from multilogger.components.reproduction.tables.constraint import constraint_rows
from multilogger.components.reproduction.tables.one_of import (
    calibration_rows,
    one_of_paragraph,
    one_of_rows,
    one_of_table,
)
from tests.components.reproduction.synthetic import constraint_study, one_of

ROOT = Path(__file__).resolve().parent.parent


def test_results_on_the_pages_are_those_of_the_shipped_files() -> None:
    script = ROOT / "benchmarks" / "readme_results.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def readme_script() -> Any:
    spec = importlib.util.spec_from_file_location("readme_results", ROOT / "benchmarks" / "readme_results.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_block_of_the_constraint_is_a_paragraph_two_tables_and_a_picture(tmp_path: Path) -> None:
    script = readme_script()
    assert script.constraint(tmp_path) == ""
    rows = constraint_rows(Reproduction(constraint=constraint_study()))
    (tmp_path / "constraint.csv").write_text(constraint_csv(rows), encoding="utf-8")
    words, steps, points, picture = script.constraint(tmp_path).split("\n\n")
    assert words.startswith(
        "On yeast: Against the direct twin, by 95 % intervals that exclude 0, under the pri"
    )
    assert steps.splitlines()[0] == "| step | `naive-reg` | `weighted-reg` |"
    assert steps.splitlines()[2].startswith("| no shift, raw | **-1.00")
    assert points.splitlines()[2].startswith("| replay passes of each logger: 1 | **-1.00")
    assert len(points.splitlines()) == 2 + 2
    assert picture == "![When does the constraint help, yeast](pictures/constraint-yeast.svg)"


def test_the_block_of_one_of_k_actions_is_a_table_words_and_pictures(tmp_path: Path) -> None:
    script = readme_script()
    assert (script.one_of(tmp_path), script.calibration(tmp_path)) == ("", "")
    table = one_of_table(Reproduction(one_of=one_of()))
    (tmp_path / "one_of.csv").write_text(one_of_csv(one_of_rows(table)), encoding="utf-8")
    (tmp_path / "calibration.csv").write_text(calibration_csv(calibration_rows(table)), encoding="utf-8")
    lines, words, picture = script.one_of(tmp_path).split("\n\n")
    assert lines.splitlines()[0] == "| method | satimage, EXP | satimage, error | seeds |"
    assert lines.splitlines()[-1].startswith("| `full-information` | 0.10")
    assert words == f"On satimage: {one_of_paragraph(one_of_rows(table))}"
    assert picture == "![EXP and error, satimage](pictures/one-of-satimage.svg)"
    assert script.calibration(tmp_path).splitlines()[-1] == "| satimage | `dm` | 1 of 5 | 0.3 |"


def test_the_block_of_another_librarys_learner_has_a_row_per_choice_of_propensities(tmp_path: Path) -> None:
    script = readme_script()
    assert script.one_of_obp(tmp_path) == ""
    rows = [f"satimage,{how},{seed},0.{2 + seed},0.1" for how in ("own", "h_avg") for seed in (0, 1)]
    text = "\n".join(["dataset,propensities,seed,exp,error", *rows])
    (tmp_path / "one_of_obp.csv").write_text(text, encoding="utf-8")
    words, table = script.one_of_obp(tmp_path).split("\n\n")
    assert words.startswith("Open Bandit Pipeline's `NNPolicyLearner` on the same logs.")
    assert table.splitlines()[0] == "| learner | satimage, EXP | satimage, error | seeds |"
    cells = "0.250 ± 0.635 | 0.100 ± 0.000 | 2"
    assert table.splitlines()[2:] == [f"| `NNPolicyLearner`, {how} | {cells} |" for how in ("own", "h_avg")]
