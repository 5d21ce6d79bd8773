"""The report under several presets: columns, verdicts and a picture each; under one it is as before."""

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from multilogger.components.reproduction.report.folder import write_outputs
from multilogger.components.reproduction.report.sections import by_preset, picture_name
from multilogger.components.reproduction.results import Reproduction
from multilogger.components.reproduction.tables.sweeps import sweep_rows
from tests.components.reproduction.report.test_folder import tags
from tests.components.reproduction.synthetic import cells, everything, replay_sweep

SHARED = ("logger-1", "logger-2", "crf", "additive", "dr")


def several() -> Reproduction:
    """Everything under two presets; what does not depend on them once. Naive-Reg is Naive as printed."""
    made = everything()
    parts = {}
    for part in fields(Reproduction):
        own = getattr(made, part.name)
        if part.name == "table1":
            continue
        printed = [replace(c, preset="printed-objective") for c in own if c.method not in SHARED]
        parts[part.name] = (*own, *printed)
    table = [c for c in parts["table2"] if (c.method, c.preset) != ("naive-reg", "printed-objective")]
    twins = [
        replace(c, method="naive-reg")
        for c in table
        if (c.method, c.preset) == ("naive", "printed-objective")
    ]
    return replace(made, **{**parts, "table2": (*table, *twins)})


def outputs(reproduction: Reproduction, folder: Path) -> dict[str, str]:
    paths = write_outputs(reproduction, folder, "http://127.0.0.1:5000", ["multilogger reproduce all"], {})
    return {path.name: path.read_text(encoding="utf-8") for path in paths if path.suffix != ".png"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return outputs(several(), tmp_path_factory.mktemp("several"))


def section(page: str, name: str) -> str:
    return page[page.index(f'<section id="{name}">') :].split("</section>")[0]


def texts(markup: str, tag: str) -> list[str]:
    """The words in every element of a kind, without what is folded away."""
    open_only = re.sub(r'<ul class="seeds">.*?</ul>', "", markup, flags=re.DOTALL)
    found = re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", open_only, flags=re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", "", part).split()) for part in found]


def test_the_page_is_well_formed(files: dict[str, str]) -> None:
    found = tags(files["report.html"].encode())
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_table2_has_a_column_per_preset(files: dict[str, str]) -> None:
    part = section(files["report.html"], "table2").split("</article>")[0]
    assert texts(texts_head(part), "th") == ["method", "printed objective", "ours", "paper"]
    rows = {texts(row, "th")[0]: texts(row, "td") for row in re.findall(r"<tr>.*?</tr>", part, re.DOTALL)[1:]}
    assert rows["Logger 1"][0] == ""
    assert rows["Logger 1"][1].startswith("6.9")
    assert rows["Naive-Reg"][0] == "same as direct"
    assert rows["Naive-Reg"][1].startswith("3.40")
    assert rows["Naive-Reg"][2] == "3.551"


def texts_head(markup: str) -> str:
    return markup[markup.index("<thead>") : markup.index("</thead>")]


def test_verdicts_stand_at_the_top(files: dict[str, str]) -> None:
    part = section(files["report.html"], "verdict")
    assert texts(texts_head(part), "th") == ["claim", "printed objective", "ours"]
    row = part[part.index("<tbody>") :].split("</tr>")[0]
    assert texts(row, "td") == ["holds in part", "holds"], "Naive-Reg is its twin, Weighted-Reg helps"
    assert "printed objective: holds in part" in part
    assert "Printed objective: of " in part


def test_figures_have_a_picture_per_preset(files: dict[str, str]) -> None:
    for figure in ("figure1", "figure2", "figure3"):
        assert {f"{figure}-yeast.svg", f"{figure}-yeast-printed-objective.svg"} <= set(files)
    labels = re.findall(r'<figure role="img" aria-label="(Figure [^"]*)"', files["report.html"])
    assert labels[:3] == [
        "Figure 1: more data from the random logger, yeast, printed objective",
        "Figure 1: more data from the random logger, yeast",
        "Figure 2: temperature, naive, yeast, printed objective",
    ]


def test_a_picture_has_the_rows_of_its_preset_and_those_that_do_not_depend_on_it() -> None:
    found = by_preset(sweep_rows(several(), "figure1"))
    assert list(found) == [("yeast", "printed-objective"), ("yeast", "tuned")]
    for (_, preset), rows in found.items():
        assert {row.preset for row in rows if row.x is not None} == {preset}
        assert [row.method for row in rows if row.x is None] == ["logger-1", "logger-2", "crf"]


@pytest.mark.parametrize(
    ("preset", "name"),
    [("tuned", "figure1-my-data"), ("", "figure1-my-data"), ("paper", "figure1-my-data-paper")],
)
def test_picture_names(preset: str, name: str) -> None:
    assert picture_name("figure1", "my data", preset) == name


def test_another_preset_alone_has_its_name_in_the_file(tmp_path: Path) -> None:
    printed = tuple(replace(cell, preset="paper") for cell in replay_sweep(0.0, 0.0))
    assert "figure1-yeast-paper.svg" in outputs(Reproduction(figure1=printed), tmp_path)


def test_a_single_preset_is_not_spoken_of(tmp_path: Path) -> None:
    page = outputs(replace(everything(), constraint=()), tmp_path)["report.html"]
    assert "printed objective" not in page
    assert "ours: " not in page
    assert "Constraint open" not in page
    part = section(page, "table2").split("</article>")[0]
    assert texts(texts_head(part), "th") == ["method", "EXP, ours", "paper", "greedy", "seeds"]


def test_a_single_preset_says_too_that_a_row_repeats_its_twin(tmp_path: Path) -> None:
    direct = cells("naive", 3.7)
    twin = [replace(cell, method="naive-reg") for cell in direct]
    page = outputs(Reproduction(table2=(*direct, *twin)), tmp_path)["report.html"]
    assert texts(section(page, "table2"), "td")[-4:] == ["same as direct", "3.551", "", "5"]
    assert "<em>Same as direct</em> stands where" in page


def test_failed_cells_are_told_with_their_preset(tmp_path: Path) -> None:
    made = several()
    first = replace(made.figure1[-1], exp=None, error="killed")
    files = outputs(replace(made, figure1=(*made.figure1[:-1], first)), tmp_path)
    assert "printed objective" in texts(section(files["report.html"], "failed"), "td")[1]
