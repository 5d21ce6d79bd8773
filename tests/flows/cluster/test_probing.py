"""Workers are asked twice; whoever fails either time is told, and the others are heard."""

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from multilogger.flows.cluster.connect import Cluster
from multilogger.flows.cluster.facts import COMPARED, facts
from multilogger.flows.cluster.probing import ask


@pytest.mark.parametrize("failing", [facts, time.time])
def test_a_worker_that_fails_ends_no_question(failing: Callable[..., Any]) -> None:
    """`Client.run` raises what a worker raised, unless it is told to return it."""

    def run(question: Callable[..., Any], *given: Any, on_error: str = "raise") -> dict[str, Any]:
        answers: dict[str, Any] = {"good": question(*given), "bad": question(*given)}
        if question is failing:
            answers["bad"] = OSError("gone")
            if on_error == "raise":
                raise answers["bad"]
        return answers

    said = ask(cast(Cluster, SimpleNamespace(client=SimpleNamespace(run=run))), None)
    assert said["good"].facts is not None
    assert said["bad"].facts is None
    assert str(said["bad"].error) == "gone"


@pytest.mark.parametrize("package", ["torch", "numpy", "scipy", "scikit-learn", "pyarrow", "pandas"])
def test_what_decides_last_bits_is_compared(package: str) -> None:
    assert package in COMPARED
    assert facts().versions[package] != "none"
