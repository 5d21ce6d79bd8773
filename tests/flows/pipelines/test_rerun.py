"""One stage of a finished run again: the same inputs, one setting changed, a new run beside the old one."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from multilogger.components.errors import BadInput
from multilogger.flows.pipelines.flow_run import Finished
from multilogger.flows.pipelines.learn import learn
from multilogger.flows.pipelines.prepare import prepare
from multilogger.flows.pipelines.rerun import rerun_from
from multilogger.flows.pipelines.summary import metric_rows
from multilogger.flows.pipelines.template import Template, nearest_with, read_template
from multilogger.tasks.engine.execution import Status
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker
from multilogger.tasks.learn import load_learned

QUICK = {"learn.epochs": 2, "learn.hidden": [8], "replay.passes": [1]}
Change = Callable[[MlflowClient, Finished], str]


@pytest.fixture(scope="module")
def learned_store(
    tmp_path_factory: pytest.TempPathFactory, prefect_server: str, migrated_mlflow: Path
) -> tuple[Path, Finished]:
    """A store after `learn`, to be copied."""
    root = tmp_path_factory.mktemp("learned") / "store"
    root.mkdir()
    shutil.copy(migrated_mlflow, root / "mlflow.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MULTILOGGER_HOME", str(root))
        patch.setenv("PREFECT_API_URL", prefect_server)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        return root, learn(method="weighted", settings=QUICK)


@pytest.fixture
def finished(
    learned_store: tuple[Path, Finished], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Finished:
    """The run of `learn` in a copy of that store."""
    source, done = learned_store
    monkeypatch.setenv("MULTILOGGER_HOME", str(shutil.copytree(source, tmp_path / "store")))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return done


def client() -> MlflowClient:
    return MlflowClient(Store.current().tracking_uri)


def template_of(run_id: str) -> Template:
    return read_template(Tracker(Store.current()), run_id)


def run_of(run_id: str) -> Run:
    return client().get_run(run_id)


def test_learn_again_with_one_setting_changed_then_evaluate(finished: Finished) -> None:
    """From a wiped cache: the inputs come from MLflow, and the rerun is a template itself."""
    for folder in ("artifacts", "results"):
        shutil.rmtree(Store.current().root / folder)
    again = rerun_from("learn", finished.run_id, {"learn.clip": 7})
    old = finished.outcomes["learn"].artifact
    assert again.outcome.status is Status.COMPUTED
    assert again.outcome.artifact.key != old.key
    assert again.inputs["log"].status is Status.RESTORED
    assert again.inputs["log"].artifact.digest == finished.outcomes["replay"].artifact.digest
    settings = load_learned(again.outcome.artifact).settings
    assert (settings["clip"], settings["epochs"], settings["hidden"]) == (7, 2, [8])
    new = run_of(again.run_id)
    assert new.info.run_name == "digits · weighted · seed 0 · auto · clip 7 · learn again"
    assert new.data.tags["multilogger.template_run_id"] == finished.run_id
    assert "`learn.clip` 7 (was 30)" in new.data.tags["mlflow.note.content"]
    assert finished.run_id in new.data.tags["mlflow.note.content"]
    assert run_of(again.outcome.artifact.run_id).data.tags["multilogger.template_run_id"] == finished.run_id
    assert run_of(finished.run_id).info.status == "FINISHED"

    scored = rerun_from("evaluate", again.run_id)
    assert scored.inputs["policy"].artifact == again.outcome.artifact
    assert scored.inputs["shares"].status is Status.COMPUTED
    assert scored.outcome.status is Status.COMPUTED
    flow = run_of(scored.run_id)
    assert flow.data.params["learn.clip"] == "7.0"
    assert {"exp", "greedy", "validation_risk", "effective_rows"} <= flow.data.metrics.keys()
    assert flow.info.run_name == "digits · weighted · seed 0 · auto · clip 7 · evaluate again"
    template = template_of(again.run_id)
    assert "evaluate" not in template.stage_runs
    before = nearest_with(Tracker(Store.current()), template, "evaluate")
    assert before == template_of(finished.run_id)
    after = template_of(scored.run_id)
    assert nearest_with(Tracker(Store.current()), after, "evaluate") is after
    client().delete_run(finished.run_id)
    assert nearest_with(Tracker(Store.current()), template, "evaluate") is None


def test_stage_run_is_a_template_with_and_without_its_flow(finished: Finished) -> None:
    by_flow = template_of(finished.run_id)
    learn_run = finished.outcomes["learn"].artifact.run_id
    by_stage = template_of(learn_run)
    assert by_stage.settings == by_flow.settings
    assert by_stage.stage_runs == by_flow.stage_runs
    assert template_of(finished.run_id[:10]).run_id == finished.run_id
    client().delete_tag(learn_run, "mlflow.parentRunId")
    by_manifests = template_of(learn_run)
    assert by_manifests.chosen("learn", {}) == by_flow.chosen("learn", {})
    assert rerun_from("learn", learn_run).outcome.status is Status.CACHED


def empty(_: MlflowClient, __: Finished) -> str:
    return ""


def unknown(_: MlflowClient, __: Finished) -> str:
    return "0" * 32


def failed(mlflow: MlflowClient, done: Finished) -> str:
    mlflow.set_terminated(done.run_id, "FAILED")
    return done.run_id


def deleted(mlflow: MlflowClient, done: Finished) -> str:
    mlflow.delete_run(done.run_id)
    return done.run_id


def foreign(mlflow: MlflowClient, _: Finished) -> str:
    run = mlflow.create_run("0", run_name="somebody's")
    mlflow.set_terminated(run.info.run_id)
    return str(run.info.run_id)


def of_another_version(mlflow: MlflowClient, done: Finished) -> str:
    mlflow.log_param(done.run_id, "learn.charm", "3")
    return done.run_id


def whole(_: MlflowClient, done: Finished) -> str:
    return done.run_id


def prepared(_: MlflowClient, __: Finished) -> str:
    return prepare(settings={"replay.passes": [1]}).run_id


@pytest.mark.parametrize(
    ("choose", "changes", "message"),
    [
        (empty, {}, "--run is empty; give an MLflow run id"),
        (unknown, {}, "has no run 0000.*, nor a single one whose id begins so"),
        (failed, {}, "is FAILED; a template must have finished"),
        (deleted, {}, "was deleted; restore it in MLflow"),
        (foreign, {}, "was not made by multilogger"),
        (of_another_version, {}, "has the parameter learn.charm, which this version"),
        (prepared, {}, "has no stage learn, only download, reduce, train-loggers, replay"),
        (
            whole,
            {"replay.passes": [8]},
            "keeps the inputs of learn as they are, and replay.passes is a setting",
        ),
        (whole, {"learn.preset": "paper"}, "a preset's name would not change them"),
        (whole, {"learn.clip": -1}, "clip must be above 0"),
        (
            whole,
            {"learn.folds": 3},
            "folds: weighted does not read it .read by additive, additive-soft, dm, dr, auto.",
        ),
    ],
)
def test_what_cannot_be_a_template(
    finished: Finished, choose: Change, changes: dict[str, object], message: str
) -> None:
    run_id = choose(client(), finished)
    with pytest.raises(BadInput, match=message):
        template_of(run_id).chosen("learn", changes)


def test_mirror_that_is_gone_does_not_matter(store_root: Path, tmp_path: Path, real_mirror: Path) -> None:
    mirror = tmp_path / "mirror"
    (mirror / "multilabel").mkdir(parents=True)
    for name in ("scene_train.bz2", "scene_test.bz2"):
        shutil.copy(real_mirror / "multilabel" / name, mirror / "multilabel" / name)
    done = prepare("scene", mirror=str(mirror), settings={"replay.passes": [1]})
    shutil.rmtree(mirror)
    again = rerun_from("replay", done.run_id, {"replay.validation": 0.5})
    assert again.outcome.status is Status.COMPUTED
    assert again.inputs["loggers"].artifact == done.outcomes["train-loggers"].artifact
    assert store_root.is_dir()


def test_metrics_stand_side_by_side() -> None:
    rows = metric_rows("evaluate", {"exp": 2.0, "naive/value": 1.0}, {"exp": 1.5, "greedy": 0.25})
    assert rows == [
        {"metric": "exp", "template": "2", "this run": "1.5"},
        {"metric": "greedy", "template": "", "this run": "0.25"},
    ]
    assert metric_rows("evaluate", {"exp": 2.0}, {"exp": 1.5}, "earlier run") == [
        {"metric": "exp", "earlier run": "2", "this run": "1.5"}
    ]
    assert metric_rows("evaluate", {}, {"exp": 1.5}) == [{"metric": "exp", "this run": "1.5"}]


def test_command_prints_what_changed_and_what_to_do_next(
    finished: Finished, typed: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    refused = typed("stage", "learn", "--run", finished.run_id, "--seed", "3")
    assert refused.returncode == 2
    assert "--seed cannot be given with it" in refused.stderr
    shown = typed("stage", "learn", "--run", finished.run_id, "--set", "clip=7")
    assert shown.returncode == 0, shown.stderr
    text = shown.stdout
    assert "Changed     learn.clip 30 -> 7" in text
    assert "best/validation_risk" in text
    (advice,) = [line for line in text.splitlines() if "stage evaluate --run " in line]
    scored = typed("stage", "evaluate", "--run", advice.split()[-1])
    assert scored.returncode == 0, scored.stderr
    assert f"({finished.run_id}); the template has not run evaluate" in scored.stdout
    assert "earlier run" in scored.stdout
