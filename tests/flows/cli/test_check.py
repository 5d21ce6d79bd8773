"""`multilogger check`: tables for a person, JSON for a machine, a page, and an exit code."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import multilogger as ml

Cli = Callable[..., subprocess.CompletedProcess[str]]
OPTIONS = ("--action", "item", "--reward", "click", "--propensity", "pscore", "--logger", "policy")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Two uniform loggers of names in brackets, who choose one of three items."""
    rng = np.random.default_rng(0)
    rows = 600
    return pd.DataFrame(
        {
            "policy": np.array(["model[a]", "[/]"])[rng.integers(0, 2, rows)],
            "item": np.array(["jam", "rum", "tea"])[rng.integers(0, 3, rows)],
            "click": rng.integers(0, 2, rows),
            "pscore": np.full(rows, 1 / 3),
            "user_age": rng.normal(size=rows),
            "user_height": rng.normal(size=rows),
        }
    )


def test_a_fine_log_for_a_person(frame: pd.DataFrame, typed: Cli, tmp_path: Path) -> None:
    frame.to_parquet(tmp_path / "log.parquet")
    page = tmp_path / "page.html"
    done = typed("check", str(tmp_path), *OPTIONS, "--features", "user_*", "--html", str(page))
    assert done.returncode == 0, done.stderr
    assert "model[a]" in done.stdout
    assert "[/]" in done.stdout
    assert "Nothing to mend." in done.stdout
    assert "model[a]" in page.read_text(encoding="utf-8")


def test_an_unsafe_log_for_a_machine(frame: pd.DataFrame, typed: Cli, tmp_path: Path) -> None:
    wrong = frame.assign(pscore=1 / 9, user_leak=frame["item"].map({"jam": 0, "rum": 1, "tea": 2}))
    wrong.to_parquet(tmp_path / "log.parquet")
    done = typed("check", str(tmp_path), *OPTIONS, "--features", "user_*", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["safe"] is False
    codes = [one["code"] for one in found["findings"] if one["severity"] == "unsafe"]
    assert codes.count("propensities-too-small") == 2
    assert codes.count("leak-action") == 2


def test_what_cannot_be_read(frame: pd.DataFrame, typed: Cli, tmp_path: Path) -> None:
    frame.to_parquet(tmp_path / "log.parquet")
    for arguments in ((str(tmp_path),), (str(tmp_path / "none"),), (str(tmp_path), "--action", "items")):
        done = typed("check", *arguments)
        assert done.returncode == 2
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1


def test_under_a_policy(frame: pd.DataFrame, typed: Cli, tmp_path: Path) -> None:
    frame.to_parquet(tmp_path / "log.parquet")
    names = {"action": "item", "reward": "click", "propensity": "pscore", "logger": "policy"}
    log = ml.BanditLog.from_pandas(frame, features=["user_age", "user_height"], **names)  # type: ignore[arg-type]
    ml.Naive(epochs=1, hidden=(4,), seed=0).fit(log).save(tmp_path / "policy")
    features = ("--features", "user_age", "--features", "user_height")
    policy = ("--policy", str(tmp_path / "policy"))
    done = typed("check", str(tmp_path / "log.parquet"), *OPTIONS, *features, *policy)
    assert done.returncode == 0, done.stderr
    assert "the policy over the logger" in done.stdout
