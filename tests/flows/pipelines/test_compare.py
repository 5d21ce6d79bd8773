"""Comparing and crowning from MLflow's runs: of a real store, and of runs written by hand."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
from mlflow import MlflowClient
from prefect import flow

from multilogger.components.actions.labels import marginals
from multilogger.components.errors import BadInput
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.compare import CHANGED, compare
from multilogger.flows.pipelines.flow_run import Finished
from multilogger.flows.pipelines.learn import run_cell
from multilogger.flows.pipelines.recorded_cells import (
    Promotion,
    RecordedCell,
    champion_of,
    is_eligible,
    promote,
    recorded_cells,
)
from multilogger.tasks.cell_metrics import cell_metrics
from multilogger.tasks.dataset_files import load_test
from multilogger.tasks.engine.stage_run import MetricPoint
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker
from multilogger.tasks.evaluate import load_evaluation
from multilogger.tasks.learn import load_learned

QUICK = {"learn.epochs": 2, "learn.hidden": [8], "replay.passes": [1]}
METRICS = {
    "validation_risk": 2.0,
    "validation_low": 1.9,
    "validation_high": 2.1,
    "validation_mean_weight": 1.0,
}
CELL = RecordedCell(
    run_id="r",
    name="digits · weighted · seed 0",
    method="weighted",
    preset="tuned",
    seed=0,
    choices={},
    metrics=METRICS,
    learn_run="l",
)


@pytest.fixture
def tracker(tmp_path: Path, migrated_mlflow: Path, monkeypatch: pytest.MonkeyPatch) -> Tracker:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("MULTILOGGER_HOME", str(tmp_path))
    shutil.copy(migrated_mlflow, tmp_path / "mlflow.db")
    return Tracker(Store(tmp_path).open())


def write_run(
    tracker: Tracker,
    method: str,
    seed: int,
    exp: float,
    status: str = "FINISHED",
    clip: float = 30.0,
    dataset: str = "digits",
) -> str:
    """A cell's run as flows leave it, without the work."""
    tags = {"flow": method, "dataset": dataset, "seed": str(seed)}
    name = f"{dataset} · {method} · seed {seed}"
    run = tracker.start(dataset, name, Store.current().locks / "flow-x", tags)
    params = {
        "learn.method": method,
        "learn.preset": "tuned",
        "learn.clip": clip,
        "learn.tau": 1.0,
        "learn.seed": seed,
    }
    tracker.log(run, params, [MetricPoint("exp", exp), MetricPoint("validation_risk", exp)])
    tracker.client.set_terminated(run, status)
    return run


def test_one_row_a_method_with_means_over_seeds(tracker: Tracker) -> None:
    """t(0.975, 2) = 4.303: values 1, 2 and 3 have mean 2 and standard error 0.577; two have no interval.

    Runs of older versions have every setting, tau too, which these methods do not read: it is not shown.
    """
    write_run(tracker, "weighted", 0, 9.0)  # an older run of the same cell
    best = write_run(tracker, "weighted", 0, 1.0)
    write_run(tracker, "weighted", 1, 2.0)
    write_run(tracker, "naive", 0, 3.0, clip=2.0)
    write_run(tracker, "naive", 0, 1.2)
    write_run(tracker, "naive", 1, 0.1, status="FAILED")
    two = compare(tracker, "digits")
    assert [row["EXP"] for row in two.rows] == ["1.200", "1.500", "3.000"]
    assert two.title.endswith(
        "Means over fewer than 3 seeds have no interval: so few do not tell the spread."
    )
    write_run(tracker, "weighted", 2, 3.0)
    assert "fewer than" not in compare(tracker, "digits").title
    rows = compare(tracker, "digits").rows
    assert [(row["method"], row[CHANGED], row["seeds"], row["EXP"]) for row in rows] == [
        ("naive", "", "1", "1.200"),
        ("weighted", "", "3", "2.000 ± 2.484"),
        ("naive", "clip=2.0", "1", "3.000"),
    ]
    assert rows[1]["best run"] == best[:12]
    only = compare(tracker, "digits", methods=["weighted"]).rows
    assert [row["method"] for row in only] == ["weighted"]
    assert CHANGED not in only[0]
    assert compare(tracker, "digits").elsewhere == ()


def test_what_is_not_the_preset_s_is_shown_though_all_rows_have_it(tracker: Tracker) -> None:
    """And a hash of the data only where rows differ in it."""
    for number, hashes in enumerate(("ab", "ab", "cd")):
        run = write_run(tracker, "weighted", 0, 1.0 + number, clip=2.0 + number % 2)
        params = {
            "learn.risk_rate": 7.0,
            "learn.hidden": [128],
            "replay.passes": [8],
            "download.train_sha256": hashes,
        }
        tracker.log(run, params)
    rows = compare(tracker, "digits").rows
    both = "clip={}, risk_rate=7.0, replay.passes=[8]"
    assert [row[CHANGED] for row in rows] == [
        f"download.train_sha256=ab, {both.format('2.0')}",
        f"download.train_sha256=ab, {both.format('3.0')}",
        f"download.train_sha256=cd, {both.format('2.0')}",
    ]


@pytest.mark.parametrize(
    ("column", "said"), [("loss", "shop: mean loss on"), ("reward", "the largest reward minus")]
)
def test_figures_of_an_own_log_are_called_estimates(tracker: Tracker, column: str, said: str) -> None:
    run = write_run(tracker, "weighted", 0, 0.25, dataset="shop")
    tracker.log(
        run, {"import-log.digest": "ab", "import-log.kind": "one-of", f"import-log.{column}": "click"}
    )
    shown = compare(tracker, "shop")
    assert said in shown.title
    assert "estimated from the log as no true labels exist" in shown.title
    assert "EXP" not in shown.title
    assert shown.rows[0]["test, estimated"] == "0.250"
    assert not {"EXP", "error", "greedy"} & set(shown.rows[0])


def test_the_best_is_first_also_where_zero_or_more_is_best(tracker: Tracker) -> None:
    for method, rows in (("naive", 10.0), ("weighted", 0.0), ("balanced", 30.0)):
        run = write_run(tracker, method, 0, rows)
        tracker.log(run, {}, [MetricPoint("effective_rows", rows)])
    assert [row["method"] for row in compare(tracker, "digits").rows] == ["weighted", "naive", "balanced"]
    by_rows = compare(tracker, "digits", "effective_rows").rows
    assert [row["method"] for row in by_rows] == ["balanced", "naive", "weighted"]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (
            {"dataset": "yeast"},
            "learn --dataset yeast' or .*; those with runs are digits, name one with --dataset$",
        ),
        (
            {"dataset": "nope"},
            "no finished run of nope; it is no registered dataset; those with runs are digits, name one",
        ),
        ({"dataset": "digits", "methods": ["wcrm"]}, "no finished run of 'wcrm' on digits, only of weighted"),
        ({"dataset": "digits", "metric": "luck"}, "unknown metric 'luck'; choose one of exp"),
    ],
)
def test_what_cannot_be_compared(tracker: Tracker, choices: dict[str, Any], message: str) -> None:
    write_run(tracker, "weighted", 0, 1.0)
    with pytest.raises(BadInput, match=message):
        compare(tracker, **choices)


def test_a_wrong_name_in_a_store_without_runs(tracker: Tracker) -> None:
    tracker.experiment("digits")
    with pytest.raises(BadInput, match="it is no registered dataset; choose one of digits, scene"):
        compare(tracker, "nope")


@pytest.mark.parametrize(
    ("change", "eligible"),
    [
        ({"choices": {"reduce.labels": "0"}}, True),
        ({"choices": {"reduce.labels": "4"}}, False),
        ({}, True),
        ({"method": "crf"}, False),
        ({"method": "full-information"}, False),
        ({"learn_run": None}, False),
        ({"metrics": METRICS | {"validation_mean_weight": 0.49}}, False),
        ({"metrics": METRICS | {"validation_mean_weight": 2.1}}, False),
        ({"metrics": METRICS | {"validation_high": float("nan")}}, False),
        ({"metrics": {"validation_risk": 1.0}}, False),
        ({"metrics": METRICS | {"validation_seen": 1.0}}, False),
        ({"method": "dm"}, False),  # of an older version, which did not note it
        ({"method": "dm", "metrics": METRICS | {"validation_seen": 0.0}}, True),
    ],
)
def test_who_may_be_champion(change: dict[str, Any], eligible: bool) -> None:
    assert is_eligible(replace(CELL, **change)) is eligible


def champion_by(tracker: Tracker, method: str, risk: float, seen: float | None) -> Promotion:
    """A policy with a model, and what becomes of it."""
    run = write_run(tracker, method, 0, risk)
    model = tracker.client.create_logged_model(tracker.experiment("digits"), source_run_id=run)
    tracker.link_models(run, [model.model_id])
    noted = {} if seen is None else {"validation_seen": seen}
    metrics = METRICS | {"validation_risk": risk} | noted
    return promote(tracker, "digits", [replace(CELL, method=method, metrics=metrics, learn_run=run)])


def test_a_champion_that_knew_the_rows_that_judged_it_gives_way(tracker: Tracker) -> None:
    """One of an older version, whose risk was too good to be beaten."""
    assert champion_by(tracker, "dm", 0.1, seen=0.0).changed
    champion = champion_of(tracker, "digits")
    assert champion is not None
    assert champion_by(tracker, "weighted", 0.5, seen=None).changed is False
    tracker.client.delete_model_version_tag("multilogger-digits", champion.version, "validation_seen")
    given = champion_by(tracker, "weighted", 0.5, seen=None)
    assert given.message.endswith("0.500; dm (seed 0) may have been judged by rows that it learned from")


def test_of_equal_risks_one_rule_says_who_is_champion(tracker: Tracker) -> None:
    """The one that a study calls the one to deploy, whoever came first."""
    assert champion_by(tracker, "auto", 0.3, seen=0.0).changed
    given = champion_by(tracker, "dm", 0.3, seen=0.0)
    assert "dm (seed 0) is the new champion, 0.300 = 0.300 of auto (seed 0) (of equal risks" in given.message
    stays = champion_by(tracker, "auto", 0.3, seen=0.0)
    assert "dm (seed 0) stays champion, 0.300 <= 0.300 of auto (seed 0) (of equal risks" in stays.message


@pytest.mark.usefixtures("store_root")
@pytest.mark.early
def test_champion_is_served_and_gives_way_only_to_less_risk(
    typed: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    tracker = Tracker(Store.current().open())
    runs = {method: recorded(tracker, method) for method in ("weighted", "logger-2", "crf")}
    cells = {cell.method: cell for cell in recorded_cells(tracker, "digits")}
    assert cells.keys() == runs.keys()
    risks = {method: cell.metrics["validation_risk"] for method, cell in cells.items()}
    assert risks["crf"] < risks["logger-2"] < risks["weighted"]

    first = promote(tracker, "digits", [cells["weighted"], cells["crf"]])
    assert first.changed
    assert first.message.startswith("digits: weighted (seed 0) is the first champion")
    assert not promote(tracker, "digits", [cells["weighted"]]).changed
    mlflow.set_tracking_uri(Store.current().tracking_uri)
    served = mlflow.pyfunc.load_model("models:/multilogger-digits@champion")
    test = load_test(runs["weighted"].outcomes["reduce"].artifact)
    names = [column.name for column in served.metadata.signature.inputs.inputs]
    answer = served.predict(pd.DataFrame(np.asarray(test.x, dtype=float), columns=names))
    policy = load_learned(runs["weighted"].outcomes["learn"].artifact)
    np.testing.assert_allclose(answer, marginals(policy.logits(test.x)))

    better = promote(tracker, "digits", list(cells.values()))
    assert re.search(r"logger-2 \(seed 0\) is the new champion, .* < .* of weighted", better.message)
    stays = promote(tracker, "digits", [cells["weighted"]])
    assert not stays.changed
    assert "logger-2 (seed 0) stays champion" in stays.message
    champion = champion_of(tracker, "digits")
    assert champion is not None
    assert float(champion.tags["validation_risk"]) == risks["logger-2"]
    assert champion.tags["run_id"] == runs["logger-2"].run_id

    printed = typed("compare")
    assert printed.returncode == 0, printed.stderr
    (crowned,) = [line for line in printed.stdout.splitlines() if "champion" in line]
    assert "logger-2" in crowned
    assert runs["logger-2"].run_id[:12] in crowned


@flow
def one_cell(method: str) -> Finished:
    """A cell as a flow runs it, without the choice of a champion."""
    return run_cell(Cell(dataset="digits", method=method, settings=QUICK))


def recorded(tracker: Tracker, method: str) -> Finished:
    """A cell, with everything on its run; checked as it goes."""
    done = one_cell(method)
    result = load_evaluation(done.outcomes["evaluate"].artifact)
    run = MlflowClient(tracker.uri).get_run(done.run_id)
    assert run.data.metrics.items() >= cell_metrics(result).items()
    assert run.inputs is not None
    (listed,) = run.inputs.dataset_inputs
    log = done.outcomes["replay"].artifact
    assert (listed.dataset.name, listed.dataset.digest) == ("digits", log.digest[:16])
    assert '"loggers": 2' in str(listed.dataset.profile)
    assert run.data.tags["mlflow.note.content"].startswith(f"**{method}** (tuned) on **digits**, seed 0")
    assert "| replay |" in run.data.tags["mlflow.note.content"]
    assert tracker.models_of(done.run_id) == tracker.models_of(done.outcomes["learn"].artifact.run_id)
    return done
