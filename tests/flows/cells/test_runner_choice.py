"""A wrong choice of runner is said in one line, before anything starts."""

import re
import sys
from typing import Any

import pytest

from multilogger.components.errors import BadInput
from multilogger.flows.cells.runner_choice import RunnerChoice

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"runner": "ray"}, "unknown runner 'ray'; choose one of process, dask"),
    ({"address": "tcp://a:1"}, "--address is that of a Dask scheduler; give --runner dask with it"),
    (
        {"runner": "dask", "address": "a:1"},
        "--address is tcp://HOST:PORT or tls://HOST:PORT, got 'a:1'",
    ),
    ({"workers": 0}, "--workers must be at least 1, got 0"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        RunnerChoice(**given)


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    for name in [name for name in sys.modules if name.partition(".")[0] == "prefect_dask"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(BadInput, match=r"is missing: pip install 'multilogger\[dask\]'$"):
        RunnerChoice(runner="dask")
