"""The folder as a whole: what is in it, that it is the same twice, and that the page is safe and alone."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from multilogger.components.reproduction.report.folder import write_outputs
from multilogger.components.reproduction.results import Reproduction
from tests.components.reproduction.synthetic import cells, everything, table2

URL = "http://127.0.0.1:5000"
NASTY = 'RuntimeError: <script>alert("x")</script> & </td> at\nline 2'
PICTURES = {
    "table2-yeast",
    "table2-tmc500",
    "one-of-satimage",
    "figure1-yeast",
    "figure2-yeast",
    "figure3-yeast",
    "pairwise",
    "constraint-yeast",
}


def written(reproduction: Reproduction, folder: Path) -> dict[str, bytes]:
    paths = write_outputs(reproduction, folder, URL, ["multilogger reproduce all"], {"preset": "tuned <x>"})
    assert sorted(p.name for p in folder.iterdir()) == sorted(p.name for p in paths)
    return {path.name: path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def files(folder: Path) -> dict[str, bytes]:
    return written(everything(), folder)


class Tags(HTMLParser):
    """Collects tags with their attributes, and checks that they close in order."""

    VOID = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(page: bytes) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(page.decode())
    assert parser.open == []
    return parser.found


def test_every_part_is_there(files: dict[str, bytes]) -> None:
    sweeps = ("figure1", "figure2", "figure3")
    studies = ("choices", "loggers", "pairwise", "additivity", "constraint")
    names = ("table1", "table2", "one_of", "calibration", "claims", *sweeps, *studies)
    tables = {f"{name}.csv" for name in names}
    pictures = {f"{name}.{ending}" for name in PICTURES for ending in ("png", "svg")}
    assert set(files) == tables | pictures | {"report.html"}


def test_the_same_input_gives_the_same_bytes(files: dict[str, bytes], tmp_path: Path) -> None:
    again = written(everything(), tmp_path)
    assert [name for name in files if files[name] != again[name]] == []


def test_page_needs_no_other_address_than_mlflow(files: dict[str, bytes]) -> None:
    page = files["report.html"].decode()
    addresses = set(re.findall(r"[a-z]+://[^\s\"'<>)]*", page))
    assert addresses
    assert all(address.startswith(URL + "/#/experiments/") for address in addresses)
    assert not re.search(r"<(script|link|img|iframe|object)\b|@import|url\((?!#)", page)


def test_ids_are_unique_and_references_lead_somewhere(files: dict[str, bytes]) -> None:
    found = tags(files["report.html"])
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))
    local = {(a.get("href") or "")[1:] for _, a in found if (a.get("href") or "").startswith("#")}
    assert local <= set(ids)
    clips = set(re.findall(r"url\(#([^)]*)\)", files["report.html"].decode()))
    assert clips
    assert clips <= set(ids)


def test_each_number_links_its_run(files: dict[str, bytes]) -> None:
    links = {a["href"] for tag, a in tags(files["report.html"]) if tag == "a"}
    made = everything()
    for cell in made.cells:
        assert f"{URL}/{cell.page}" in links


def test_page_has_no_date_and_escapes_facts(files: dict[str, bytes]) -> None:
    page = files["report.html"].decode()
    assert "tuned &lt;x&gt;" in page
    assert "odd&lt;b&gt;=7" in page
    for name in ("report.html", "figure1-yeast.svg"):
        assert not re.search(rb"20[0-9]{2}-[0-9]{2}-[0-9]{2}", files[name])


def test_failed_cells_are_told_and_escaped_then_forgotten(tmp_path: Path) -> None:
    made = table2(3.4, 3.3)
    first = replace(made.table2[0], exp=None, greedy=None, error=NASTY)
    files = written(replace(made, table2=(first, *made.table2[1:])), tmp_path)
    page = files["report.html"].decode()
    assert "1 of 40 cells failed." in page
    assert "<script" not in page
    assert "&lt;script&gt;alert(" in page
    assert b'"RuntimeError: <script>alert(""x"")</script> & </td> at\nline 2"' in files["failed.csv"]
    tags(files["report.html"])
    assert "failed.csv" not in written(made, tmp_path)


def test_parts_that_were_not_run_are_left_out(tmp_path: Path) -> None:
    sweep = Reproduction(figure2=tuple(cells("naive-reg", 3.0, dataset="digits", tau=1.0)))
    files = written(sweep, tmp_path)
    assert set(files) == {"figure2.csv", "figure2-digits.png", "figure2-digits.svg", "report.html"}
    headings = re.findall(r"<h2>(.*?)</h2>", files["report.html"].decode())
    assert headings == ["Figures: replay count and temperature", "How it was made"]


def test_one_seed_is_shown_without_an_interval(tmp_path: Path) -> None:
    page = written(table2(3.4, 3.3, seeds=1), tmp_path)["report.html"].decode()
    assert "no interval" in page
    assert not re.search(r"\bnan\b|None", page)


def test_two_datasets_of_a_figure_have_a_picture_each(tmp_path: Path) -> None:
    made = [c for d in ("yeast", "my data/1") for c in cells("naive-reg", 3.0, dataset=d, replay_count=2)]
    files = written(Reproduction(figure1=tuple(made)), tmp_path)
    assert {"figure1-yeast.svg", "figure1-my-data-1.svg", "figure1.csv"} <= set(files)


def test_no_cell_at_all_still_gives_a_page(tmp_path: Path) -> None:
    assert set(written(Reproduction(), tmp_path)) == {"report.html"}


def test_a_loss_of_zero_is_a_result(tmp_path: Path) -> None:
    perfect = tuple(replace(c, exp=0.0, greedy=0.0) for c in cells("naive-reg", 1.0, tau=1.0))
    files = written(
        Reproduction(table2=tuple(replace(c, tau=None) for c in perfect), figure2=perfect), tmp_path
    )
    assert b"yeast,naive-reg,tuned,5,0.000000,0.000000,0.000000,0.000000,3.551" in files["table2.csv"]
    assert b"yeast,1,naive-reg,tuned,0,,,,0.000000,0.2518" in files["figure2.csv"]
    assert "failed.csv" not in files


def test_the_loss_that_does_not_add_up_has_a_section_of_its_own(files: dict[str, bytes]) -> None:
    page = files["report.html"].decode()
    section = page[page.index('<section id="additivity">') :].split("</section>")[0]
    assert "<h2>When the loss does not add up</h2>" in section
    assert "Doubly robust has a lower loss than Additive" in section
    assert '5 <span class="small">of 5</span>' in section
    assert "&lt; 0.001" in section
    assert b"pairwise" not in files["table2.csv"]


def test_the_study_of_the_constraint_has_a_section_of_its_own(files: dict[str, bytes]) -> None:
    page = files["report.html"].decode()
    section = page[page.index('<section id="constraint">') :].split("</section>")[0]
    assert "<h2>When does the constraint help?</h2>" in section
    assert "under the printed objective the constraint helps in 4 of 4 comparisons and harms in 0" in section
    assert section.count("<svg") == 1
    assert re.findall(r"<summary>([^<]+)</summary>", section) == [
        "From the printed objective to ours",
        "Replay passes of each logger",
    ]


def test_a_report_without_such_a_loss_does_not_speak_of_it(tmp_path: Path) -> None:
    tested = tuple(cells("additive", 2.8, additivity_p=0.4))
    page = written(Reproduction(table2=tested), tmp_path)["report.html"].decode()
    assert "<h2>Does the loss add up?</h2>" in page
    assert "pairwise" not in page


def test_an_interval_that_is_cut_is_marked(tmp_path: Path) -> None:
    narrow = cells("naive-reg", 3.0, replay_count=1) + cells("naive-reg", 3.2, replay_count=2)
    wide = [replace(c, exp=(c.exp or 0) * (0.5 + 0.25 * c.seed)) for c in narrow[:5]]
    parts = {"narrow": narrow, "wide": wide + narrow[5:]}
    for name, made in parts.items():
        files = written(Reproduction(figure1=tuple(made)), tmp_path / name)
        assert (b'id="cut-0"' in files["figure1-yeast.svg"]) == (name == "wide")
    rows = cells("naive", 3.0) + [replace(c, exp=0.1 + 2.0 * c.seed) for c in cells("weighted", 3.2)]
    assert b'id="cut-0"' in written(Reproduction(table2=tuple(rows)), tmp_path / "t")["table2-yeast.svg"]
