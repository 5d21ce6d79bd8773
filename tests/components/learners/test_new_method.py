"""A method that stands in this file alone: registered in METHODS, it runs everywhere."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Annotated

import numpy as np
import pytest
from torch import Tensor

from multilogger.components.errors import BadInput
from multilogger.components.learners.ips.direct import DirectLearner
from multilogger.components.learners.learn import learn
from multilogger.components.learners.methods import METHODS, all_settings, unread
from multilogger.components.learners.presets import PRESETS, preset
from multilogger.components.learners.training.about import About
from multilogger.components.learners.training.method import Group, Method
from multilogger.components.learners.training.objectives import NAIVE
from multilogger.components.learners.training.row_batches import RowBatch
from multilogger.components.learners.training.settings import RiskSettings
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.memory import TrainingLog


@dataclass(frozen=True)
class CautiousSettings(RiskSettings):
    """Of naive, and one of its own."""

    caution: Annotated[float, About("added to every loss that is descended", least=0)] = 0.2


class CautiousLearner(DirectLearner):
    """Naive IPS with dearer actions, so that the policy leaves the log less readily."""

    settings: CautiousSettings

    def batch_risk(self, rows: RowBatch, shares: Tensor, shift: float) -> Tensor:
        return super().batch_risk(rows, shares, shift - self.settings.caution)


def build(log: LearnerLog, settings: CautiousSettings, seed: int) -> CautiousLearner:
    return CautiousLearner(log, NAIVE, settings, seed)


CAUTIOUS = Method("cautious", "Cautious", Group.DIRECT, CautiousSettings, build)
SHORT = {"hidden": (8,), "batch_size": 64, "epochs": 3}


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, CAUTIOUS.name, CAUTIOUS)


def test_it_learns_and_its_own_setting_counts(log: TrainingLog) -> None:
    """Without caution it is naive, bit for bit."""
    none, some = (
        learn("cautious", log, CautiousSettings(**SHORT, caution=c), 0).policy  # type: ignore[arg-type]
        for c in (0.0, 0.5)
    )
    naive = learn("naive", log, RiskSettings(**SHORT), 0).policy  # type: ignore[arg-type]
    np.testing.assert_array_equal(none.logits(log.x), naive.logits(log.x))
    assert np.abs(some.logits(log.x) - naive.logits(log.x)).max() > 0
    assert (some.method, some.settings["caution"]) == ("cautious", 0.5)


def test_it_learns_from_a_log_on_disk(streamed: StreamedLog) -> None:
    settings = CautiousSettings(**SHORT)  # type: ignore[arg-type]
    assert len(learn("cautious", streamed, settings, 0).records) == settings.planned_epochs == 3


def test_its_setting_is_known_listed_and_checked() -> None:
    assert all_settings()["caution"] == "cautious: added to every loss that is descended"
    assert unread("naive", ["caution"]) == ["caution: naive does not read it (read by cautious)"]
    with pytest.raises(BadInput, match=r"caution must be at least 0, got -1\.0; it is: added to every loss"):
        CautiousSettings(caution=-1.0)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_give_it_its_defaults(name: str) -> None:
    assert preset(name, "yeast", "cautious") == CautiousSettings()


@pytest.mark.usefixtures("store_root")
def test_commands_learn_compare_and_report_it(
    typed: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    chosen = {"epochs": "2", "hidden": "8", "caution": "0.3"}
    options = [part for name, value in chosen.items() for part in ("--set", f"learn.{name}={value}")]
    learned = typed("learn", "--method", "cautious", *options)
    assert learned.returncode == 0, learned.stderr
    refused = typed("learn", "--method", "naive", "--set", "caution=0.3")
    assert refused.returncode != 0
    assert "caution: naive does not read it (read by cautious)" in " ".join(refused.stderr.split())
    compared = typed("compare", "--dataset", "digits")
    assert compared.returncode == 0, compared.stderr
    (line,) = [line for line in compared.stdout.splitlines() if "cautious" in line]
    assert "caution=0.3" in line
    out = tmp_path / "out"
    reproduced = typed(
        "reproduce", "table2", "--dataset", "digits", "--method", "cautious", "--seeds", "1", *options,
        "--out", str(out),
    )  # fmt: skip
    assert reproduced.returncode == 0, reproduced.stderr
    with (out / "table2.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["method"], row["seeds"]) for row in rows] == [("cautious", "1")]
    assert "Cautious" in (out / "report.html").read_text()
