"""`multilogger evaluate`: policies by every name, the store's logs, a person's own logs, files and MLflow."""

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mlflow
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from mlflow import MlflowClient

from multilogger.components.datasets.labelled_data import load_split
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.loss_models import pair_networks
from multilogger.flows.evaluation.command import keep, run_evaluation
from multilogger.flows.evaluation.evaluate import Evaluated, EvaluateOptions, chosen_model, evaluate_on_logs
from multilogger.flows.pipelines.flow_run import Finished
from multilogger.flows.pipelines.learn import learn
from multilogger.tasks.engine.store import Store
from multilogger.tasks.evaluate import load_evaluation

Cli = Callable[..., subprocess.CompletedProcess[str]]
FILES = {"evaluation.json", "evaluation.png", "evaluation.svg", "estimates.csv", "estimates.parquet"}


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory, prefect_server: str, migrated_mlflow: Path) -> Finished:
    """A store with a log of digits and a policy learned from it, for all tests of this file."""
    root = tmp_path_factory.mktemp("evaluated") / "store"
    root.mkdir()
    shutil.copy(migrated_mlflow, root / "mlflow.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MULTILOGGER_HOME", str(root))
        patch.setenv("PREFECT_API_URL", prefect_server)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        return learn(method="balanced", settings={"learn.epochs": 4, "learn.hidden": [8]})


@pytest.fixture
def options(learned: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvaluateOptions:
    """The policy and the log that it was learned from; nothing is recorded unless a test says so."""
    monkeypatch.setenv("MULTILOGGER_HOME", str(learned.outcomes["learn"].artifact.root))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return EvaluateOptions(
        policy=str(learned.outcomes["learn"].artifact.folder),
        logs=learned.outcomes["replay"].artifact.folder,
        out=tmp_path / "out",
        bootstrap=100,
        track=False,
    )


def values(done: Evaluated) -> dict[str, float]:
    return {row.name: row.value for row in done.result.estimates}


def test_validation_rows_agree_with_the_stage_that_evaluates(
    learned: Finished, options: EvaluateOptions
) -> None:
    done = evaluate_on_logs(options)
    stage = load_evaluation(learned.outcomes["evaluate"].artifact)
    for name in ("naive", "naive-sn", "balanced", "balanced-sn"):
        assert values(done)[name] == pytest.approx(stage.estimates[name]["value"], rel=1e-9)
    assert done.notes[0].startswith("Validation rows only: the policy was learned from this very log")
    assert [one.name for one in done.result.loggers] == ["logger-1", "logger-2"]
    assert keep(done, options) is None
    assert {path.name for path in options.out.iterdir()} == FILES
    kept = json.loads((options.out / "evaluation.json").read_text())
    assert kept["estimates"][0]["value"] == values(done)["naive"]
    assert pq.read_table(options.out / "estimates.parquet").num_rows == 13  # with those of additive weights


def test_all_rows_when_asked_or_learned_elsewhere(learned: Finished, options: EvaluateOptions) -> None:
    rows = ds.dataset(learned.outcomes["replay"].artifact.folder / "log").count_rows()
    assert evaluate_on_logs(replace(options, validation_only=False)).result.rows == rows
    policy = shutil.copytree(options.policy, options.out.parent / "elsewhere")
    manifest = json.loads((policy / "manifest.json").read_text())
    manifest["inputs"]["log"]["key"] = "another"
    (policy / "manifest.json").write_text(json.dumps(manifest))
    done = evaluate_on_logs(replace(options, policy=str(policy)))
    assert done.result.rows == rows
    assert done.notes[0].startswith("All rows: the policy was learned from another log of the same contexts")
    manifest["inputs"]["data"]["key"] = "other contexts"
    (policy / "manifest.json").write_text(json.dumps(manifest))
    done = evaluate_on_logs(replace(options, policy=str(policy)))
    assert (done.result.rows, done.notes[0]) == (rows, "All rows: the policy was learned from another log.")
    (policy / "manifest.json").unlink()
    done = evaluate_on_logs(replace(options, policy=str(policy)))
    assert done.notes[0].startswith("Validation rows only: nothing tells whether")


def test_policies_by_run_by_flow_by_model_and_by_alias(learned: Finished, options: EvaluateOptions) -> None:
    store = Store.current()
    client = MlflowClient(store.tracking_uri, store.tracking_uri)
    run_id = learned.outcomes["learn"].artifact.run_id
    outputs = client.get_run(run_id).outputs
    assert outputs is not None
    model_id = outputs.model_outputs[0].model_id
    client.create_registered_model("policies-of-mine")
    mlflow.set_tracking_uri(store.tracking_uri)  # `models:/` is looked up there, not by the client
    version = client.create_model_version(
        "policies-of-mine", f"models:/{model_id}", run_id=run_id, model_id=model_id
    )
    client.set_registered_model_alias("policies-of-mine", "champion", version.version)
    expected = values(evaluate_on_logs(options))
    for name in (
        run_id,
        learned.run_id,
        learned.run_id[:12],
        f"models:/{model_id}",
        "models:/policies-of-mine@champion",
        "models:/policies-of-mine/1",
    ):
        done = evaluate_on_logs(replace(options, policy=name))
        assert values(done) == pytest.approx(expected), name
        assert "this very log" in done.notes[0], name


def test_an_altered_policy_of_the_store_is_refused(options: EvaluateOptions) -> None:
    policy = shutil.copytree(options.policy, options.out.parent / "altered")
    content = bytearray((policy / "policy.safetensors").read_bytes())
    content[-1] ^= 1
    (policy / "policy.safetensors").write_bytes(content)
    with pytest.raises(BadInput, match=r"policy\.safetensors was altered; run the command"):
        evaluate_on_logs(replace(options, policy=str(policy)))


def test_an_evaluation_that_fails_leaves_no_folder(options: EvaluateOptions) -> None:
    with pytest.raises(BadInput, match="no policy at 'nowhere'"):
        run_evaluation(replace(options, policy="nowhere"), debug=False)
    assert not options.out.exists()


def own_log(learned: Finished, folder: Path) -> None:
    """The store's log as a person might have it: named loggers, plain propensities, features in the rows."""
    table = ds.dataset(learned.outcomes["replay"].artifact.folder / "log", partitioning="hive").to_table()
    x = load_split(learned.outcomes["reduce"].artifact.folder / "train.safetensors").x
    context = np.asarray(table["context"])
    for j, name in enumerate(("night", "ward 7")):
        rows = np.flatnonzero(np.asarray(table["logger"]) == j)
        part = table.take(rows)
        (folder / f"logger={name}").mkdir(parents=True)
        columns = {
            "context": context[rows],
            "action": part["action"],
            "loss": part["delta"],
            "propensity": np.exp(np.asarray(part["log_propensity"])),
            "log_propensities": part["log_propensities"],
            "x": list(np.asarray(x)[context[rows]]),
        }
        pq.write_table(pa.table(columns), folder / f"logger={name}" / "part.parquet")


def test_own_logs_give_what_the_store_gives(
    learned: Finished, options: EvaluateOptions, tmp_path: Path
) -> None:
    own_log(learned, tmp_path / "own")
    expected = evaluate_on_logs(replace(options, validation_only=False))
    done = evaluate_on_logs(replace(options, logs=tmp_path / "own"))
    assert [one.name for one in done.result.loggers] == ["night", "ward 7"]
    unknown = {"additive-naive", "additive-weighted", "additive-balanced"}  # without the loggers' policies
    known = {name: value for name, value in values(expected).items() if name not in unknown}
    assert values(done) == pytest.approx(known, rel=1e-4)
    assert done.result.contexts == expected.result.contexts
    assert any("Bernstein intervals for clipped estimators only" in note for note in done.notes)
    row = {row.name: row for row in done.result.estimates}
    assert row["naive"].bernstein is None
    assert row["naive-clipped"].bernstein is not None


@pytest.mark.early
def test_command_without_any_server(learned: Finished, options: EvaluateOptions, cli: Cli) -> None:
    """The console script: warnings, tables, a sentence, files, and an MLflow run with the same files."""
    done = cli(
        *("evaluate", "--policy", learned.run_id, "--logs", str(options.logs), "--out", str(options.out)),
        *("--bootstrap", "100"),
        MULTILOGGER_HOME=str(Store.current().root),
        PREFECT_API_URL="http://127.0.0.1:9/api",  # where nobody answers
    )
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0]
    assert first.startswith(("Warning: ", "Validation rows only"))
    assert "Trust " in done.stdout
    assert "balanced-sn" in done.stdout
    client = MlflowClient(Store.current().tracking_uri)
    run = client.get_run(done.stdout.split("MLflow run  ")[1].split()[0])
    assert (run.info.status, run.data.tags["flow"]) == ("FINISHED", "evaluate")
    assert client.get_experiment(run.info.experiment_id).name == "multilogger/digits"
    assert {file.path for file in client.list_artifacts(run.info.run_id)} == FILES
    assert {"dr/value", "dr/low", "dr/high", "naive/value", "effective_rows/logger-1"} <= set(
        run.data.metrics
    )
    assert "Trust " in run.data.tags["mlflow.note.content"]


def test_the_loss_model_of_dr_is_a_choice(
    learned: Finished, options: EvaluateOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only dr changes; features of the store and in a person's rows serve as well; the sample is told."""
    monkeypatch.setattr(pair_networks, "MOST_STEPS", 1)
    network = replace(options, dr_model=chosen_model("additive"))
    ridge, done = values(evaluate_on_logs(options)), evaluate_on_logs(network)
    found = values(done)
    assert found.pop("dr") != ridge.pop("dr")
    assert found == ridge
    assert not any("The loss model of dr was fitted" in note for note in done.notes)
    keep(done, network)
    assert json.loads((options.out / "evaluation.json").read_text())["dr_model"] == "additive"

    monkeypatch.setattr(pair_networks, "MOST_ROWS", 500)
    own_log(learned, tmp_path / "own")
    done = evaluate_on_logs(replace(network, logs=tmp_path / "own"))
    assert any("was fitted to 500 of the" in note for note in done.notes)
    with pytest.raises(
        BadInput, match="--dr-model must be one of ridge, smrdr, additive, network, got 'forest'"
    ):
        chosen_model("forest")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"policy": "nothing-here"},
            "no policy at 'nothing-here': give a folder with policy.safetensors and",
        ),
        ({"policy": "0" * 32}, "MLflow at sqlite.* has no policy '0{32}'"),
        ({"policy": "models:/none@champion"}, "has no policy 'models:/none@champion'"),
        ({"logs": Path("/nowhere")}, "there is no log at /nowhere"),
        ({"level": 1.5}, r"--level must lie in \[0.5, 0.9999\], got 1.5"),
        ({"bootstrap": 5}, "--bootstrap needs 100 to 100,000 resamples, got 5"),
        ({"clip": -1.0}, "--clip must be a number above 0, got -1"),
        ({"max_weight": 1e-6}, "--max-weight is 1e-06, but a row of the log has weight"),
        ({"max_loss": 1.0}, "above the largest loss 1; was the policy learned on this problem"),
    ],
)
def test_bad_choices(options: EvaluateOptions, change: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        evaluate_on_logs(replace(options, **change))  # type: ignore[arg-type]


def test_runs_and_folders_that_hold_no_policy(learned: Finished, options: EvaluateOptions) -> None:
    replay = learned.outcomes["replay"].artifact
    with pytest.raises(BadInput, match=f"run {replay.run_id} .* has learned no policy"):
        evaluate_on_logs(replace(options, policy=replay.run_id))
    with pytest.raises(BadInput, match=r"has no policy.safetensors and no policy.json"):
        evaluate_on_logs(replace(options, policy=str(replay.folder)))
    with pytest.raises(BadInput, match="is a result of 'learn', not a log"):
        evaluate_on_logs(replace(options, logs=Path(options.policy)))


def test_damaged_logs_are_not_used(options: EvaluateOptions, tmp_path: Path) -> None:
    copy = tmp_path / "artifacts"
    shutil.copytree(options.logs.parent.parent, copy)
    logs = copy / "replay" / options.logs.name
    next(logs.rglob("*.parquet")).write_bytes(b"damage")
    with pytest.raises(BadInput, match=r"is damaged, .* was altered; run the command that made it again"):
        evaluate_on_logs(replace(options, logs=logs))
    shutil.rmtree(copy / "replay")
    shutil.copytree(options.logs, logs)
    shutil.rmtree(copy / "train-loggers")
    with pytest.raises(BadInput, match=r"the log's loggers .* is not in the store any more"):
        evaluate_on_logs(replace(options, logs=logs))
