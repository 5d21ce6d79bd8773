"""The README is short, links lead somewhere, and the pages build strictly and without a network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((DOCS / "pages").rglob("*.md")))
MOST_LINES = 160

OFFLINE = """
import socket, sys

def refuse(*arguments):
    raise OSError(f"the documentation asked for the network: {arguments[1:]}")

socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = lambda *arguments, **named: refuse(None, *arguments)
from mkdocs.__main__ import cli
cli(sys.argv[1:])
"""


def anchors(page: Path) -> set[str]:
    """What a heading is linked by, on GitHub and in MkDocs alike."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        found = page.parent / name if name else page
        assert found.exists(), link
        assert not anchor or anchor in anchors(found), link


def test_the_site_builds_strictly_and_neither_it_nor_its_readers_need_a_network(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            OFFLINE,
            "build",
            "--strict",
            "-f",
            str(DOCS / "mkdocs.yml"),
            "-d",
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*.html")}
    assert {"index.html", "tutorial.html", "results.html", "how-to/own-logs.html"} <= set(pages)
    assert 'id="multilogger.components.estimators.ips.lambda_weighted_risk"' in pages["reference.html"]
    fetched = r"<(?:script|img|iframe)[^>]*\ssrc=\"?(?:https?:)?//|<link[^>]*\shref=\"?(?:https?:)?//"
    assert [name for name, text in pages.items() if re.search(fetched, text)] == []
