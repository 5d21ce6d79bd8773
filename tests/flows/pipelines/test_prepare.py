"""The prepare flow on a real Prefect server and a real MLflow store."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from multilogger.components.errors import BadInput
from multilogger.flows.pipelines.flow_run import Finished
from multilogger.flows.pipelines.prepare import prepare
from multilogger.flows.pipelines.rerun import rerun_stage
from multilogger.tasks.engine.execution import NotCached, Status
from multilogger.tasks.engine.locks import FileLock
from multilogger.tasks.engine.progress import SilentBar, watched_by
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker


class Listener:
    """A watcher that keeps what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def bar(self, doing: str, total: float | None) -> SilentBar:
        return SilentBar()

    def done(self, line: str) -> None:
        return None

    def say(self, line: str) -> None:
        self.lines.append(line)


def statuses(prepared: Finished) -> dict[str, str]:
    return {name: outcome.status.value for name, outcome in prepared.outcomes.items()}


def all_runs(dataset: str = "digits") -> list[Run]:
    client = MlflowClient(Store.current().tracking_uri)
    experiment = client.get_experiment_by_name(f"multilogger/{dataset}")
    assert experiment is not None
    return list(client.search_runs([experiment.experiment_id]))


def runs_of(stage: str) -> list[Run]:
    return [run for run in all_runs() if run.data.tags.get("stage") == stage]


COMPUTED = {"download": "computed", "reduce": "skipped", "train-loggers": "computed", "replay": "computed"}
CACHED = {"download": "cached", "reduce": "skipped", "train-loggers": "cached", "replay": "cached"}
RESTORED = {name: status.replace("cached", "restored") for name, status in CACHED.items()}


@pytest.mark.usefixtures("store_root")
def test_second_run_is_cached_and_links_the_runs_of_the_first() -> None:
    first, second = prepare(), prepare()
    assert statuses(first) == COMPUTED
    assert statuses(second) == CACHED
    assert len(runs_of("replay")) == 1
    client = MlflowClient(Store.current().tracking_uri)
    tags = client.get_run(second.run_id).data.tags
    assert tags["stage.replay.status"] == "cached"
    assert tags["stage.replay.run_id"] == runs_of("replay")[0].info.run_id
    assert tags["stage.replay.run_id"] in tags["mlflow.note.content"]


def test_stage_runs_are_nested_and_complete(store_root: Path) -> None:
    done = prepare(seed=3)
    for stage in ("download", "train-loggers", "replay"):
        (run,) = runs_of(stage)
        artifact = done.outcomes[stage].artifact
        assert run.info.status == "FINISHED"
        assert run.data.tags["mlflow.parentRunId"] == done.run_id
        assert (run.data.tags["dataset"], run.data.tags["seed"]) == ("digits", "3")
        assert run.data.tags["key"] == artifact.key
        assert run.data.metrics["wall_seconds"] > 0
        copies = store_root / "mlflow-artifacts" / "digits" / run.info.run_id / "artifacts"
        for name in artifact.files:
            assert (copies / name).read_bytes() == (artifact.folder / name).read_bytes()
    (loggers,) = runs_of("train-loggers")
    assert loggers.data.params["alphas"] == "[0.05, 2.0]"
    assert loggers.data.metrics["exp/logger-1"] > loggers.data.metrics["exp/logger-2"]
    parent = MlflowClient(Store.current().tracking_uri).get_run(done.run_id)
    assert parent.data.metrics["exp/crf"] == loggers.data.metrics["exp/crf"]
    assert parent.data.params["replay.seed"] == "3"


@pytest.mark.usefixtures("store_root")
def test_changing_alpha_recomputes_loggers_and_replay_only() -> None:
    prepare()
    changed = prepare(settings={"train-loggers.alphas": [0.1, 2]})
    assert statuses(changed) == COMPUTED | {"download": "cached"}
    assert statuses(prepare()) == CACHED


def test_summary_is_on_prefects_page(store_root: Path) -> None:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

    prepare()
    with get_client(sync_client=True) as client:
        keys = ArtifactFilter(key=ArtifactFilterKey(any_=["prepare-summary", "prepare-stages"]))
        found = {a.key: str(a.data) for a in client.read_artifacts(artifact_filter=keys)}
    assert "| logger-1 |" in found["prepare-summary"]
    assert "train-loggers" in found["prepare-stages"]
    assert store_root.is_dir()


def damage_deleted(folder: Path) -> None:
    (folder / "log" / "logger=1" / "pass=0" / "rows.parquet").unlink()


def damage_flipped(folder: Path) -> None:
    path = folder / "log" / "logger=0" / "pass=3" / "rows.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.usefixtures("store_root")
@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (
            damage_deleted,
            "log/logger=1/pass=0/rows.parquet is missing; taking MLflow's copy of it, or computing it again",
        ),
        (
            damage_flipped,
            "log/logger=0/pass=3/rows.parquet was altered; taking MLflow's copy of it, or computing it again",
        ),
    ],
)
def test_damage_is_reported_in_one_line_and_mended(damage: object, line: str) -> None:
    first = prepare()
    before = first.outcomes["replay"].artifact
    assert callable(damage)
    damage(before.folder)
    listener = Listener()
    with watched_by(listener):
        second = prepare()
    assert statuses(second) == CACHED | {"replay": "restored"}
    (said,) = listener.lines
    assert said.endswith(line)
    assert second.outcomes["replay"].artifact.digest == before.digest
    second.outcomes["replay"].artifact.verify()
    assert statuses(prepare()) == CACHED


def test_broken_cache_records_are_misses(store_root: Path) -> None:
    prepare()
    records = sorted((store_root / "results").iterdir())
    for record, content in zip(records, (b"", b'{"metadata":', b"not json"), strict=True):
        record.write_bytes(content)
    listener = Listener()
    with watched_by(listener):
        assert statuses(prepare()) == RESTORED
    assert len(listener.lines) == 3
    assert all("the cache record of" in line for line in listener.lines)


def test_record_of_another_result_is_not_believed(store_root: Path) -> None:
    first = prepare()
    keys = {name: outcome.artifact.key for name, outcome in first.outcomes.items()}
    shutil.copy(store_root / "results" / keys["train-loggers"], store_root / "results" / keys["replay"])
    assert statuses(prepare()) == CACHED | {"replay": "restored"}
    assert statuses(prepare()) == CACHED


@pytest.mark.usefixtures("store_root")
def test_deleted_experiment_is_restored() -> None:
    prepare()
    client = MlflowClient(Store.current().tracking_uri)
    experiment = client.get_experiment_by_name("multilogger/digits")
    assert experiment is not None
    client.delete_experiment(experiment.experiment_id)
    assert statuses(prepare()) == CACHED


def test_dead_runs_are_buried_whatever_their_dataset(store_root: Path) -> None:
    """A run, a temporary folder and a lock, as a process leaves them that was killed over another dataset."""
    store = Store(store_root).open()
    tracker = Tracker(store)
    lock = store.locks / "flow-dead"
    lock.touch()
    dead = tracker.start("scene", "dead", lock, {})
    leftover = store.artifacts / "replay" / ".0123456789abcdef.xyz"
    leftover.mkdir(parents=True)
    alive_lock = FileLock(store.locks / "flow-alive")
    with alive_lock:
        alive = tracker.start("scene", "alive", store.locks / "flow-alive", {})
        prepare()
        client = MlflowClient(store.tracking_uri)
        assert client.get_run(dead).info.status == "KILLED"
        assert client.get_run(alive).info.status == "RUNNING"
    assert not leftover.exists()
    assert not lock.exists()


@pytest.mark.usefixtures("store_root")
def test_equal_result_of_a_refreshed_stage_keeps_its_descendants() -> None:
    prepare()
    refreshed = prepare(refresh=["train-loggers"])
    assert statuses(refreshed) == CACHED | {"train-loggers": "computed"}


@pytest.mark.usefixtures("store_root")
def test_replay_hash_is_equal_across_stores(
    new_store: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = prepare().outcomes["replay"].artifact
    monkeypatch.setenv("MULTILOGGER_HOME", str(new_store("elsewhere")))
    two = prepare(settings={"replay.batch_rows": 100}).outcomes["replay"].artifact
    assert two.root != one.root
    assert two.digest == one.digest


@pytest.mark.usefixtures("store_root")
def test_failed_stage_is_marked_with_its_reason(tmp_path: Path) -> None:
    for file in ("yeast_train.svm.bz2", "yeast_test.svm.bz2"):
        (tmp_path / "multilabel").mkdir(exist_ok=True)
        (tmp_path / "multilabel" / file).write_text("<html>")
    with pytest.raises(BadInput, match="not a readable multi-label svmlight file"):
        prepare("yeast", mirror=str(tmp_path))
    failed = {run.data.tags.get("stage", "flow"): run for run in all_runs("yeast")}
    assert {run.info.status for run in failed.values()} == {"FAILED"}
    assert "not a readable" in failed["download"].data.tags["error"]
    assert failed["download"].data.params["dataset"] == "yeast"


@pytest.mark.usefixtures("store_root")
def test_one_stage_alone_from_cached_inputs() -> None:
    with pytest.raises(NotCached, match=r"the result of download with these settings .* is not in the cache"):
        rerun_stage("replay")
    done = prepare()
    again = rerun_stage("replay", settings={"replay.passes": [1]})
    assert again.outcome.status is Status.COMPUTED
    assert again.inputs["loggers"].artifact.key == done.outcomes["train-loggers"].artifact.key
    assert again.inputs["data"].status is Status.SKIPPED
    assert rerun_stage("replay").outcome.status is Status.CACHED
    assert rerun_stage("replay", refresh=True).outcome.status is Status.COMPUTED


def test_moved_store_is_still_a_cache(store_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare()
    moved = store_root.rename(store_root.with_name("moved"))
    monkeypatch.setenv("MULTILOGGER_HOME", str(moved))
    assert statuses(prepare()) == CACHED
