"""Data flows one way: components know nothing of tasks, tasks nothing of flows. Rooms are small."""

import ast
import re
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCE = ("components", "tasks", "flows")
FORBIDDEN = {
    "components": ("prefect", "mlflow", "multilogger.tasks", "multilogger.flows"),
    "tasks/engine": ("multilogger.tasks", "multilogger.components", "multilogger.flows"),
    "tasks": ("multilogger.flows",),
}
MOST_MODULES = 15
MOST_LINES = 250
SHIPPED = (*SOURCE, "data/paper")
ALLOWED = {
    "tasks/engine": (
        "multilogger.tasks.engine",
        "multilogger.components.errors",
        "multilogger.components.json_text",
        "multilogger.components.names",
    )
}


def source_files() -> list[Path]:
    """Every Python file of the source, below the repository."""
    return [path for folder in SOURCE for path in sorted((REPOSITORY / folder).rglob("*.py"))]


def name_of(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def imported_modules(path: Path) -> set[str]:
    """What a file imports, wherever in it and whatever for; `from a import b` is a.b if that is a module."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = ["multilogger", *path.relative_to(REPOSITORY).parts[: -node.level]] if node.level else []
            outer = ".".join([*above, *([node.module] if node.module else [])])
            inner = [f"{outer}.{alias.name}" for alias in node.names]
            names |= {name if own_folder(name) else outer for name in inner}
    return names


def own_folder(module: str) -> str | None:
    """The folder of one of our modules; a package is its own folder."""
    place = REPOSITORY.joinpath(*module.split(".")[1:])
    if not module.startswith("multilogger."):
        return None
    if place.with_suffix(".py").is_file():
        return name_of(place.parent)
    return name_of(place) if (place / "__init__.py").is_file() else None


def is_below(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_layer_imports_only_what_lies_below(folder: str) -> None:
    files = sorted((REPOSITORY / folder).rglob("*.py"))
    assert files
    for path in files:
        allowed = ALLOWED.get(folder, ())
        wrong = [
            n for n in imported_modules(path) if is_below(n, FORBIDDEN[folder]) and not is_below(n, allowed)
        ]
        assert not wrong, f"{path} imports {wrong}"


def test_folders_import_each_other_one_way() -> None:
    why: dict[tuple[str, str], list[str]] = {}
    for path in source_files():
        own = name_of(path.parent)
        for module in sorted(imported_modules(path)):
            other = own_folder(module)
            if other is not None and other != own:
                why.setdefault((own, other), []).append(f"{name_of(path)} imports {module}")
    order = TopologicalSorter[str]()
    for importer, imported in why:
        order.add(importer, imported)
    try:
        order.prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        edges = [f"{a} -> {b}: {'; '.join(why[a, b])}" for a, b in pairwise(circle)]
        pytest.fail("\n".join(["folders import each other in a circle:", *edges]))


def test_folders_are_small() -> None:
    count: dict[str, int] = {}
    for path in source_files():
        folder = name_of(path.parent)
        if path.name != "__init__.py":
            count[folder] = count.get(folder, 0) + 1
    large = {folder: modules for folder, modules in count.items() if modules > MOST_MODULES}
    assert not large, f"more than {MOST_MODULES} modules: {large}"


def test_files_are_short() -> None:
    lines = {name_of(path): len(path.read_text().splitlines()) for path in source_files()}
    long = {name: count for name, count in lines.items() if count > MOST_LINES}
    assert not long, f"more than {MOST_LINES} lines: {long}"


def test_wheel_has_every_folder() -> None:
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    files = [path for folder in SHIPPED for path in (REPOSITORY / folder).rglob("*.py")]
    folders = {name_of(path.parent) for path in files}
    names = {"multilogger." + folder.replace("/", ".") for folder in folders}
    if (REPOSITORY / "__init__.py").is_file():
        names.add("multilogger")
    assert len(declared) == len(set(declared))
    assert set(declared) == names


DISTRIBUTIONS = {"sklearn": "scikit-learn", "yaml": "pyyaml", "prefect_dask": "prefect-dask"}
"""What is installed under another name than it is imported by."""


def test_what_is_imported_is_declared() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    required = [*project["dependencies"], *project["optional-dependencies"]["dask"]]
    declared = {re.split(r"[^\w.-]", requirement)[0].lower() for requirement in required}
    for path in source_files():
        packages = {module.partition(".")[0] for module in imported_modules(path)}
        others = packages - sys.stdlib_module_names - {"multilogger"}
        assert {DISTRIBUTIONS.get(name, name) for name in others} <= declared, path


def test_no_pickle_anywhere() -> None:
    for path in source_files():
        assert not imported_modules(path) & {"pickle", "joblib", "cloudpickle", "dill"}, path


LABEL_FORMULAS = {
    "sigmoid",
    "logsigmoid",
    "expit",
    "log_expit",
    "logit",
    "softplus",
    "binary_cross_entropy_with_logits",
    "binary_cross_entropy",
    "bernoulli",
    "Bernoulli",
    "LogisticRegression",
    "MAX_ENUMERATED_LABELS",
}
POLICIES = (
    "components/actions/known_contexts.py",
    "components/actions/labels.py",
    "components/actions/row_scores.py",
    "components/actions/torch_labels.py",
    "components/loggers/crf.py",
)
# What they predict lies between 0 and 1 as well.
LOSS_MODELS = (
    "components/learners/loss_models/additive.py",
    "components/learners/loss_models/calibration.py",
    "components/learners/loss_models/choice.py",
    "components/learners/loss_models/truth.py",
    "components/policies/blends.py",
    "components/policies/networks.py",
)


def names_used(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    imported = {a.name for node in nodes if isinstance(node, ast.ImportFrom) for a in node.names}
    named = {node.id for node in nodes if isinstance(node, ast.Name)}
    return imported | named | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def test_only_the_policies_know_how_labels_are_drawn() -> None:
    for path in source_files():
        found, name = names_used(path) & LABEL_FORMULAS, name_of(path)
        assert bool(found) == (name in (*POLICIES, *LOSS_MODELS)), f"{path} uses {sorted(found)}"
