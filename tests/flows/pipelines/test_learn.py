"""The learn flow: logs, a policy, lambda*, an evaluation, and the policy served by MLflow."""

import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
from mlflow import MlflowClient

from multilogger.components.actions.label_losses import expected_hamming, hamming
from multilogger.components.actions.labels import greedy, marginals
from multilogger.components.datasets.labelled_data import load_split
from multilogger.components.errors import BadInput
from multilogger.flows.pipelines.compare import CHANGED, compare
from multilogger.flows.pipelines.flow_run import Finished
from multilogger.flows.pipelines.learn import learn
from multilogger.flows.pipelines.recorded_cells import recorded_cells
from multilogger.flows.pipelines.summary import seen_contexts, weak_estimates
from multilogger.tasks.dataset_files import load_test
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker
from multilogger.tasks.evaluate import load_evaluation
from multilogger.tasks.lambda_star import load_shares
from multilogger.tasks.learn import load_learned
from multilogger.tasks.train_loggers import load_scores
from tests.waiting import wait_for

QUICK = {"learn.epochs": 3, "learn.hidden": [8], "learn.warm_start": 0}


def evaluation_of(run: Finished) -> dict[str, object]:
    return load_evaluation(run.outcomes["evaluate"].artifact).model_dump()


@pytest.mark.usefixtures("store_root")
def test_policy_is_learned_weighed_and_scored_on_test() -> None:
    done = learn(method="weighted", settings=QUICK | {"replay.split_by": "row"})
    policy, test = load_learned(done.outcomes["learn"].artifact), load_test(done.outcomes["reduce"].artifact)
    result = load_evaluation(done.outcomes["evaluate"].artifact)
    logits = policy.logits(test.x)
    assert result.exp == pytest.approx(expected_hamming(logits, test.y).mean())
    assert result.greedy == pytest.approx(hamming(greedy(logits), test.y).mean())
    assert load_shares(done.outcomes["lambda-star"].artifact).sum() == pytest.approx(1.0)
    assert set(result.estimates) == {
        f"{n}{s}" for n in ("naive", "weighted", "balanced") for s in ("", "-sn")
    }
    for parts in result.estimates.values():
        assert parts["low"] < parts["value"] < parts["high"]
    for name, terms in result.certificates.items():
        assert terms["bound"] > result.estimates[name]["value"]
    rows = {name: parts["effective_rows"] for name, parts in result.estimates.items()}
    few = [name for name, count in rows.items() if count < 100]
    said = weak_estimates(done.outcomes) or "effective rows: . "
    assert [name for name in said.partition(": ")[2].partition(". ")[0].split(", ") if name] == few
    assert (seen_contexts(done.outcomes) or "").startswith("The policy also learned from other rows of these")


@pytest.mark.usefixtures("store_root")
def test_second_run_is_cached_and_one_changed_number_is_not() -> None:
    learn(method="naive", settings=QUICK)
    again = learn(method="naive", settings=QUICK)
    assert {o.status.value for o in again.outcomes.values()} == {"cached", "skipped"}
    other = learn(method="naive", settings=QUICK | {"learn.clip": 7})
    statuses = {name: outcome.status.value for name, outcome in other.outcomes.items()}
    assert [statuses[n] for n in ("replay", "learn", "lambda-star", "evaluate")] == [
        "cached",
        *["computed"] * 3,
    ]


@pytest.mark.usefixtures("store_root")
def test_references_are_the_policies_they_name() -> None:
    crf = learn(method="crf")
    scores = load_scores(crf.outcomes["train-loggers"].artifact)
    assert evaluation_of(crf)["exp"] == pytest.approx(scores["crf"]["exp"], rel=1e-5)
    first = learn(method="logger-1")
    assert evaluation_of(first)["exp"] == pytest.approx(scores["logger-1"]["exp"], rel=1e-5)
    best = learn(method="best-logger-greedy")
    assert evaluation_of(best)["exp"] == pytest.approx(scores["logger-2"]["greedy"], rel=1e-2)


def test_mlflow_serves_the_policy_without_pickle(store_root: Path) -> None:
    done = learn(method="balanced", settings=QUICK)
    artifact = done.outcomes["learn"].artifact
    mlflow.set_tracking_uri(Store.current().tracking_uri)
    run = MlflowClient(Store.current().tracking_uri).get_run(artifact.run_id)
    assert run.outputs is not None
    (model_id,) = [output.model_id for output in run.outputs.model_outputs]
    served = mlflow.pyfunc.load_model(f"models:/{model_id}")
    test = load_test(done.outcomes["reduce"].artifact)
    names = [column.name for column in served.metadata.signature.inputs.inputs]
    answer = served.predict(pd.DataFrame(np.asarray(test.x, dtype=float), columns=names))
    assert [column.name for column in served.metadata.signature.outputs.inputs] == list(answer.columns)
    np.testing.assert_allclose(answer, marginals(load_learned(artifact).logits(test.x)))
    assert not [p for p in store_root.rglob("*") if p.suffix in (".pkl", ".pickle", ".pt", ".pth")]


def class_files(folder: Path) -> list[str]:
    """Own multi-class files as the options that name them; classes count from 1, and test lacks the last."""
    generator = np.random.default_rng(3)
    weights = generator.normal(size=(6, 3))
    for name, rows, classes in (("train", 240, 3), ("test", 120, 2)):
        x = generator.normal(size=(rows, 6))
        chosen = (x @ weights).argmax(axis=1) + 1
        lines = [
            f"{c} {' '.join(f'{j + 1}:{v:.4f}' for j, v in enumerate(row))}"
            for c, row in zip(chosen, x, strict=True)
            if c <= classes
        ]
        (folder / f"{name}.svm").write_text("\n".join(lines) + "\n")
    return ["--train", str(folder / "train.svm"), "--test", str(folder / "test.svm"), "--features", "6"]


@pytest.mark.usefixtures("store_root")
def test_own_multi_class_files_end_in_a_champion_that_gives_the_chance_of_each_action(
    typed: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    files = [*class_files(tmp_path), "--classes", "3"]
    done = typed("learn", "--dataset", "mine", *files, "--method", "dm", "--set", "epochs=4")
    assert done.returncode == 0, done.stderr
    assert "Test: expected loss (EXP), and error of the most likely action" in done.stdout
    tracker = Tracker(Store.current())
    (cell,) = recorded_cells(tracker, "mine")
    note = tracker.run(cell.run_id).data.tags["mlflow.note.content"]
    assert re.search(r"expected loss \*\*0\.\d+\*\* on test, error 0\.\d+ with the most likely action", note)
    (row,) = compare(tracker, "mine").rows
    assert (row["error"], row[CHANGED], row[""]) == (f"{cell.metrics['greedy']:.3f}", "epochs=4", "champion")
    assert tracker.metrics(str(cell.learn_run))["calibration/p_value"] >= 0

    mlflow.set_tracking_uri(Store.current().tracking_uri)
    served = mlflow.pyfunc.load_model("models:/multilogger-mine@champion")
    assert [column.name for column in served.metadata.signature.outputs.inputs] == ["a0", "a1", "a2"]
    (data,) = (Store.current().artifacts / "download").glob("[0-9a-f]*")
    test = load_split(data / "test.safetensors")
    names = [column.name for column in served.metadata.signature.inputs.inputs]
    answer = served.predict(pd.DataFrame(np.asarray(test.x, dtype=float), columns=names))
    np.testing.assert_allclose(answer.sum(axis=1), 1.0)
    wrong = answer.to_numpy().argmax(axis=1) != test.y
    assert wrong.mean() == pytest.approx(cell.metrics["greedy"])
    assert wrong.mean() < 0.3


@pytest.mark.usefixtures("store_root")
def test_curves_are_in_mlflow() -> None:
    done = learn(method="weighted-reg", settings=QUICK | {"learn.warm_up_steps": 5})
    client = MlflowClient(Store.current().tracking_uri)
    run_id = done.outcomes["learn"].artifact.run_id
    names = (
        "train_risk",
        "validation_risk",
        "share/0",
        "mean_weight/1",
        "log_d2/0",
        "variational/1",
        "slack",
    )
    for name in names:
        assert [point.step for point in client.get_metric_history(run_id, name)] == [1, 2, 3], name
    params = client.get_run(run_id).data.params
    assert (params["method"], params["epochs"], params["hidden"]) == ("weighted-reg", "3", "[8]")


def test_killed_learning_goes_on_from_its_checkpoint(
    store_root: Path, command: str, caplog: pytest.LogCaptureFixture
) -> None:
    """kill -9 after a checkpoint; the rerun starts there and ends with the same bytes as an unbroken run."""
    settings = {"learn.epochs": 80, "learn.patience": 80, "learn.checkpoint_every": 2, "learn.hidden": [8]}
    options = [f"--set={name}={str(value).strip('[]')}" for name, value in settings.items()]
    process = subprocess.Popen([command, "learn", "--method", "naive", *options], stdout=subprocess.DEVNULL)
    wait_for(lambda: list((store_root / "checkpoints").glob("*/checkpoint.json")), process, pause=0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    resumed = learn(method="naive", settings=settings)
    assert resumed.outcomes["learn"].status.value == "computed"
    assert [
        line for line in caplog.messages if line.startswith("naive goes on from its checkpoint of epoch ")
    ]
    assert not list((store_root / "checkpoints").iterdir())
    unbroken = learn(method="naive", settings=settings, refresh=["learn"])
    assert unbroken.outcomes["learn"].artifact.digest == resumed.outcomes["learn"].artifact.digest


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"method": "magic"}, "unknown method 'magic'; choose one of wcrm, naive, naive-reg"),
        ({"preset": "best"}, "unknown preset 'best'; choose one of paper, printed-objective, tuned"),
        ({"method": "naive-reg", "settings": {"learn.tau": -1}}, "tau must be above 0, got -1"),
        (
            {"method": "naive-reg", "settings": {"learn.tau": "hot"}},
            "bad setting learn.tau: .*number.*, got 'hot'",
        ),
        ({"settings": {"learn.hidden": "8,x"}}, r"bad setting learn.hidden.1: .*integer"),
        ({"settings": {"evaluate.eta": 2}}, "bad setting evaluate.eta: .*less than 1"),
    ],
)
def test_bad_choices(store_root: Path, choices: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        learn(**choices)  # type: ignore[call-overload]
    assert store_root.is_dir()
