"""Data flows one way: components know nothing of tasks, tasks nothing of flows. Policies have a door."""

import ast
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
FORBIDDEN = {
    "components": ("prefect", "mlflow", "multilogger.tasks", "multilogger.flows"),
    "tasks": ("multilogger.flows",),
}


def imported_modules(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_layer_imports_only_what_lies_below(folder: str) -> None:
    files = sorted((REPOSITORY / folder).rglob("*.py"))
    assert files
    for path in files:
        wrong = [
            n for n in imported_modules(path) for f in FORBIDDEN[folder] if n == f or n.startswith(f"{f}.")
        ]
        assert not wrong, f"{path} imports {wrong}"


def test_no_pickle_anywhere() -> None:
    for folder in ("components", "tasks", "flows"):
        for path in (REPOSITORY / folder).rglob("*.py"):
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
POLICIES = ("components/actions/labels.py", "components/actions/torch_labels.py", "components/loggers/crf.py")
LOSS_MODEL = "components/learners/additive/model.py"  # what it predicts lies between 0 and 1 as well


def names_used(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    imported = {a.name for node in nodes if isinstance(node, ast.ImportFrom) for a in node.names}
    named = {node.id for node in nodes if isinstance(node, ast.Name)}
    return imported | named | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def test_only_the_policies_know_how_labels_are_drawn() -> None:
    for folder in ("components", "tasks", "flows"):
        for path in (REPOSITORY / folder).rglob("*.py"):
            found, name = names_used(path) & LABEL_FORMULAS, path.relative_to(REPOSITORY).as_posix()
            assert bool(found) == (name in (*POLICIES, LOSS_MODEL)), f"{path} uses {sorted(found)}"
