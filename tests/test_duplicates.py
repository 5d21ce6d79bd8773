"""Nothing is said twice: no two places of the source share more than a dozen lines in a row."""

import ast
import re
from pathlib import Path

from tests.test_layers import name_of, source_files

MOST_SHARED_LINES = 12

Place = tuple[Path, int]


def telling_lines(path: Path) -> list[tuple[int, str]]:
    """Lines with their numbers, white space folded; no empty ones, comments, imports and lone brackets."""
    text = path.read_text()
    imports = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    folded = [(number, " ".join(line.split())) for number, line in enumerate(text.splitlines(), start=1)]
    return [
        (number, line)
        for number, line in folded
        if number not in imports and not line.startswith("#") and re.search(r"\w", line)
    ]


def shared_places(files: list[Path], most: int) -> list[tuple[Place, Place]]:
    """Pairs of places, by the numbers of their first lines, that share more than `most` lines in a row."""
    size = most + 1
    first_of: dict[tuple[str, ...], tuple[Path, int]] = {}
    shared: list[tuple[Place, Place]] = []
    for path in files:
        lines = telling_lines(path)
        goes_on: tuple[Path, int] | None = None  # where the pair found last would go on
        for start in range(len(lines) - size + 1):
            window = lines[start : start + size]
            twin, index = first_of.setdefault(tuple(line for _, line in window), (path, start))
            if twin == path and start - index < size:  # itself, or a run that repeats within itself
                goes_on = None
                continue
            if (twin, index) != goes_on:
                shared.append(((twin, telling_lines(twin)[index][0]), (path, window[0][0])))
            goes_on = (twin, index + 1)
    return shared


def test_no_two_places_say_the_same() -> None:
    pairs = shared_places(source_files(), MOST_SHARED_LINES)
    shown = [f"{name_of(a)}:{line} ~ {name_of(b)}:{other}" for (a, line), (b, other) in pairs]
    assert not shown, "\n".join([f"more than {MOST_SHARED_LINES} lines are the same:", *shown])


def test_shared_places_are_found_in_another_file_and_in_the_same(tmp_path: Path) -> None:
    block = ["a = f(", "    1,", ")", "", "# why", "b = 2", "c  = 3"]
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("\n".join(["import os", *block, "d = 4"]))
    two.write_text("\n".join(["import os", "e = 5", "a = f(1)", "a = f(", "1)", "b = 2", "c = 3"]))
    assert shared_places([one, two], most=3) == []
    two.write_text("\n".join(["e = 5", *block, "from os import (", "    path,", ")", *block]))
    assert shared_places([one, two], most=3) == [((one, 2), (two, 2)), ((one, 2), (two, 12))]
    assert shared_places([two], most=3) == [((two, 2), (two, 12))]
    assert shared_places([one, two], most=4) == []
