"""`import multilogger`: what it offers, how quick it is, and that its examples run."""

import ast
import doctest
import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import multilogger as ml

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("torch", "prefect", "mlflow", "pandas", "numpy", "sklearn", "pyarrow", "narwhals", "matplotlib")
MODULES = [
    "multilogger",
    *(
        f"multilogger.components.api.{path.stem}"
        for path in sorted((ROOT / "components" / "api").glob("*.py"))
        if ">>>" in path.read_text(encoding="utf-8")
    ),
]


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_import_brings_in_nothing_heavy() -> None:
    code = f"import sys, multilogger; print([name for name in {HEAVY} if name in sys.modules])"
    assert python(code) == "[]\n"


def test_import_is_quick() -> None:
    clock = "import time; start = time.perf_counter(); import multilogger; print(time.perf_counter() - start)"
    assert min(float(python(clock)) for _ in range(3)) < 0.3


def test_logs_policies_and_reports_need_no_server_and_no_store() -> None:
    code = (
        "import sys, multilogger as ml; log = ml.datasets.load_replay('pairwise', passes=1); "
        "policy = ml.Naive(epochs=1).fit(log); ml.evaluate(policy, log, bootstrap=100); "
        "print([name for name in ('prefect', 'mlflow') if name in sys.modules])"
    )
    assert python(code) == "[]\n"


def test_every_public_name_is_there() -> None:
    assert dir(ml) == list(ml.__all__)
    for name in ml.__all__:
        assert getattr(ml, name).__doc__, name
    with pytest.raises(AttributeError, match="module 'multilogger' has no attribute 'Best'"):
        _ = ml.Best  # type: ignore[attr-defined]


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = [alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(name for name in seen if name) == list(ml.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_every_package_is_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = {path.parent.relative_to(ROOT) for top in ("components", "tasks", "flows")
               for path in (ROOT / top).rglob("__init__.py")}  # fmt: skip
    found = {".".join(("multilogger", *folder.parts)) for folder in folders}
    assert set(settings["packages"]) == found | {"multilogger", "multilogger.data.paper"}


def test_tests_are_modules_of_their_own() -> None:
    """With an __init__.py below tests/, pytest would take the repository for their package, too.

    Helpers and conftest.py would then be imported twice, under two names.
    """
    assert __name__ == "tests.test_public_names"
    assert not list((ROOT / "tests").rglob("__init__.py"))
