"""How files of several reproductions become those that the pages are written from."""

import csv
import io
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
TABLE2 = "dataset,method,preset,seeds,exp_mean,exp_low,exp_high,greedy_mean,paper"
CLAIMS = (
    "claim,statement,dataset,preset,comparison,seeds,difference_mean,difference_low,difference_high,p,holm_p,"
    "verdict,paper_difference"
)
AT = "at τ\u00a0=\u00a0"

Joined = Callable[[str, str, str], str]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        return runpy.run_path(str(BENCHMARKS / "gather_results.py"))


@pytest.fixture(scope="module")
def joined(script: dict[str, Any]) -> Joined:
    found: Joined = script["joined"]
    return found


@pytest.fixture(scope="module")
def readme() -> dict[str, Any]:
    return runpy.run_path(str(BENCHMARKS / "readme_results.py"))


def lines(header: str, *rows: str) -> str:
    return "\n".join((header, *rows)) + "\n"


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_rows_are_replaced_by_dataset_and_preset(joined: Joined) -> None:
    header = "dataset,preset,method,exp_mean"
    old = lines(
        header, "scene,tuned,naive,1", "scene,tuned,crf,2", "yeast,tuned,naive,3", "yeast,tuned,crf,6"
    )
    new = lines(header, "scene,paper,naive,4", "yeast,tuned,naive,5")
    assert joined("figure1.csv", old, new) == lines(
        header, "scene,paper,naive,4", "scene,tuned,naive,1", "scene,tuned,crf,2", "yeast,tuned,naive,5"
    )
    assert joined("figure1.csv", "", new) == new


def test_files_without_a_preset_are_replaced_by_dataset(joined: Joined) -> None:
    old, new = lines("dataset,labels", "scene,6", "yeast,14"), lines("dataset,labels", "scene,7")
    assert joined("table1.csv", old, new) == lines("dataset,labels", "scene,7", "yeast,14")


def test_a_new_column_is_empty_in_old_rows(joined: Joined) -> None:
    old, new = lines("dataset,preset", "scene,tuned"), lines("dataset,preset,constraint", "yeast,tuned,same")
    forth = lines("dataset,preset,constraint", "scene,tuned,", "yeast,tuned,same")
    assert joined("additivity.csv", old, new) == forth
    assert joined("additivity.csv", new, old) == lines(
        "dataset,preset,constraint", "yeast,tuned,same", "scene,tuned,"
    )


def test_claims_are_replaced_one_by_one(joined: Joined) -> None:
    """Figure 2 has one test of a claim and Figure 3 another; the temperature that does worst may move."""
    header = "claim,dataset,preset,comparison,p"
    old = lines(
        header,
        f"stable,yeast,tuned,Naive-Reg {AT}1 − Naive,1",
        f"stable,yeast,paper,Naive-Reg {AT}1 − Naive,2",
    )
    new = lines(
        header,
        f"stable,yeast,tuned,Naive-Reg {AT}2 − Naive,3",
        f"stable,yeast,tuned,Weighted-Reg {AT}1 − Weighted,4",
    )
    assert [row["p"] for row in read(joined("claims.csv", old, new))] == ["2", "3", "4"]


def test_table2_of_the_results_has_a_column_per_preset(readme: dict[str, Any], tmp_path: Path) -> None:
    text = lines(
        f"{TABLE2},constraint",
        "yeast,naive-reg,paper,2,4.000000,3.900000,4.100000,3.9,3.551,",
        "yeast,naive-reg,tuned,2,3.000000,2.900000,3.100000,2.9,3.551,same",
        "yeast,logger-1,tuned,1,6.000000,,,2.9,6.898,",
        "scene,dr,tuned,2,0.500000,0.400000,0.600000,0.4,,",
    )
    (tmp_path / "table2.csv").write_text(text, encoding="utf-8")
    head = "| method | as printed | printed objective | ours | paper |\n| --- | --- | --- | --- | --- |\n"
    assert readme["table2"](tmp_path) == (
        f"**yeast**\n\n{head}"
        "| `logger-1` |  |  | 6.000 | 6.898 |\n"
        "| `naive-reg` | 4.000 ± 0.100 |  | same as direct | 3.551 |\n\n"
        f"**scene**\n\n{head}"
        "| `dr` |  |  | 0.500 ± 0.100 |  |"
    )


def test_claims_of_the_results(readme: dict[str, Any], tmp_path: Path) -> None:
    text = lines(
        CLAIMS,
        f"stable,S,yeast,paper,Naive-Reg {AT}1 − Naive,2,0.1,-0.2,0.4,0.5,1,undecided with these seeds,",
        f"stable,S,yeast,tuned,Naive-Reg {AT}5 − Naive,2,-0.1234,-0.15,-0.096,0.01,0.02,holds,0.1",
        "constraint,C,yeast,tuned,Naive-Reg − Naive,2,0,0,0,,,no difference,-0.45",
        "constraint,C,yeast,paper,Naive-Reg − Naive,1,-0.2,,,,,undecided with these seeds,-0.45",
    )
    (tmp_path / "claims.csv").write_text(text, encoding="utf-8")
    assert readme["claims"](tmp_path).splitlines() == [
        "| claim | dataset | as printed | printed objective | ours |",
        "| --- | --- | --- | --- | --- |",
        "| the constraint helps: Naive-Reg − Naive | yeast | −0.200 undecided |  | no difference |",
        "| stable at every temperature: Naive-Reg − Naive | yeast | +0.100 (−0.200 to +0.400) undecided |  "
        "| −0.123 (−0.150 to −0.096) holds |",
    ]


def test_unprinted_choices_stand_beside_the_numbers_of_the_paper(
    readme: dict[str, Any], tmp_path: Path
) -> None:
    ours = "yeast,weighted,tuned,default,2,3.1,0,,,,"
    head = (
        "dataset,method,preset,choice,seeds,exp_mean,paired_seeds,difference_mean,difference_low,"
        "difference_high,p"
    )
    table2 = lines(TABLE2, "yeast,naive,paper,2,6,5,7,5,4.0", "yeast,weighted,paper,2,6,5,7,5,3.5")
    (tmp_path / "table2.csv").write_text(table2, encoding="utf-8")
    (tmp_path / "choices.csv").write_text(lines(head, ours), encoding="utf-8")
    assert readme["unprinted"](tmp_path) == ""
    text = lines(
        head,
        "yeast,naive,paper,default,2,7.0,0,,,,",
        "yeast,naive,paper,risk_rate=0.001,2,5.0,2,-2.0,-2.5,-1.5,0.01",
        "yeast,weighted,paper,default,2,6.0,0,,,,",
        "yeast,weighted,paper,risk_rate=0.001,2,3.0,2,-3.0,-7.0,1.0,0.2",
        ours,
    )
    (tmp_path / "choices.csv").write_text(text, encoding="utf-8")
    assert readme["unprinted"](tmp_path).splitlines() == [
        "| changed | `naive` | `weighted` | from the paper |",
        "| --- | --- | --- | --- |",
        "| nothing | 7.000 | 6.000 | 2.75 |",
        "| `risk_rate=0.001` | 5.000 (**-2.000 ± 0.500**) | 3.000 (-3.000 ± 4.000) | 0.75 |",
        "| paper | 4.000 | 3.500 |  |",
    ]


def test_without_claims_the_results_say_nothing_of_them(readme: dict[str, Any], tmp_path: Path) -> None:
    assert readme["claims"](tmp_path) == ""


def test_tables_and_pictures_of_a_folder_go_where_the_pages_find_them(
    script: dict[str, Any], tmp_path: Path
) -> None:
    made, results, pictures = (tmp_path / name for name in ("made", "results", "pictures"))
    for folder in (made, results, pictures):
        folder.mkdir()
    (made / "table1.csv").write_text(lines("dataset,labels", "scene,6"), encoding="utf-8")
    (made / "figure1-scene.svg").write_text("<svg/>", encoding="utf-8")
    script["gather"](made, results, pictures)
    assert [path.name for path in results.iterdir()] == ["table1.csv"]
    assert [path.name for path in pictures.iterdir()] == ["figure1-scene.svg"]


def test_pictures_of_tables_are_drawn_from_the_joined_rows(script: dict[str, Any], tmp_path: Path) -> None:
    made, results, pictures = (tmp_path / name for name in ("made", "results", "pictures"))
    for folder in (made, results, pictures):
        folder.mkdir()
    head = f"{TABLE2},constraint"
    old = lines(head, "yeast,logger-1,tuned,1,6.000000,,,2.9,6.898,", "yeast,dr,tuned,1,2.000000,,,2.9,,")
    new = lines(
        head, "yeast,dr,tuned,2,3.000000,2.900000,3.100000,2.9,,", "yeast,x-reg,tuned,2,3,2,4,3,,same"
    )
    (results / "table2.csv").write_text(old, encoding="utf-8")
    (made / "table2.csv").write_text(new, encoding="utf-8")
    (made / "table2-yeast.svg").write_text("<svg/>", encoding="utf-8")  # of the new rows alone
    script["gather"](made, results, pictures)
    picture = (pictures / "table2-yeast.svg").read_text(encoding="utf-8")
    assert "Logger 1" in picture
    assert "x-reg" not in picture
    rows = script["method_rows"](results / "table2.csv")
    assert [(row.method, row.exp.mean, row.paper) for row in rows] == [
        ("logger-1", 6.0, 6.898),
        ("dr", 3.0, None),
    ]


def test_the_short_table2_has_means_of_all_datasets_and_no_empty_column(
    readme: dict[str, Any], tmp_path: Path
) -> None:
    text = lines(
        f"{TABLE2},constraint",
        "yeast,naive-reg,paper,2,4.000000,3.900000,4.100000,3.9,3.551,",
        "yeast,naive-reg,printed-objective,2,3.500000,3.400000,3.600000,3.3,3.551,",
        "yeast,naive-reg,tuned,2,3.000000,2.900000,3.100000,2.9,3.551,same",
        "yeast,logger-1,tuned,1,6.000000,,,2.9,6.898,",
        "scene,dr,tuned,2,0.500000,0.400000,0.600000,0.4,,",
    )
    (tmp_path / "table2.csv").write_text(text, encoding="utf-8")
    assert readme["table2_short"](tmp_path).splitlines() == [
        "| method | yeast, printed objective | yeast, ours | yeast, paper | scene, ours |",
        "| --- | --- | --- | --- | --- |",
        "| `logger-1` |  | 6.000 | 6.898 |  |",
        "| `naive-reg` | 3.500 | same as direct | 3.551 |  |",
        "| `dr` |  |  |  | 0.500 |",
    ]


@pytest.mark.parametrize("name", ["one_of.csv", "table2.csv", "pairwise.csv"])
def test_tables_of_methods_are_replaced_method_by_method(joined: Joined, name: str) -> None:
    head = "dataset,method,preset,exp_seeds,exp_mean"
    old = f"{head}\nsatimage,dm,tuned,3,0.2\nsatimage,dr,tuned,3,0.3\n"
    new = f"{head}\nsatimage,dm,tuned,10,0.1\n"
    rows = list(csv.DictReader(io.StringIO(joined(name, old, new))))
    assert [(row["method"], row["exp_seeds"]) for row in rows] == [("dm", "10"), ("dr", "3")]
