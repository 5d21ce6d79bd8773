"""Results that the cache has lost come back from MLflow, or are computed again: never believed unverified."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from mlflow import MlflowClient

from multilogger.flows.pipelines.flow_run import Finished
from multilogger.flows.pipelines.prepare import prepare
from multilogger.flows.pipelines.rerun import rerun_stage
from multilogger.tasks.engine.artifact import manifest_of
from multilogger.tasks.engine.execution import NotCached, Status
from multilogger.tasks.engine.progress import SilentBar, watched_by
from multilogger.tasks.engine.store import Store
from tests.waiting import answers, free_port, wait_for

RESTORED = {"download": "restored", "reduce": "skipped", "train-loggers": "restored", "replay": "restored"}
ROWS = "log/logger=1/pass=2/rows.parquet"


class Listener:
    """A watcher that keeps what was said and what was ticked off."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.ticks: list[str] = []

    def bar(self, doing: str, total: float | None) -> SilentBar:
        return SilentBar()

    def done(self, line: str) -> None:
        self.ticks.append(line)

    def say(self, line: str) -> None:
        self.lines.append(line)


def statuses(done: Finished) -> dict[str, str]:
    return {name: outcome.status.value for name, outcome in done.outcomes.items()}


def digests(done: Finished) -> dict[str, str]:
    return {name: outcome.artifact.digest for name, outcome in done.outcomes.items()}


def copy_of(done: Finished, stage: str) -> Path:
    """MLflow's copy of a stage's files."""
    artifact = done.outcomes[stage].artifact
    return artifact.root / "mlflow-artifacts" / "digits" / artifact.run_id / "artifacts"


def wipe(root: Path, *folders: str) -> None:
    for folder in folders:
        shutil.rmtree(root / folder)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_wiped_cache_comes_back_from_mlflow_and_no_run_is_made(store_root: Path) -> None:
    first = prepare()
    wipe(store_root, "artifacts", "results")
    listener = Listener()
    with watched_by(listener):
        second = prepare()
    assert statuses(second) == RESTORED
    assert digests(second) == digests(first)
    for name, outcome in second.outcomes.items():
        outcome.artifact.verify()
        assert outcome.artifact.run_id == first.outcomes[name].artifact.run_id
    assert [line.split(" in ")[0] for line in listener.ticks if line.startswith("replay")] == [
        "replay · restored from MLflow"
    ]
    client = MlflowClient(Store.current().tracking_uri)
    tags = client.get_run(second.run_id).data.tags
    assert tags["stage.replay.status"] == "restored"
    runs = client.search_runs([client.get_run(second.run_id).info.experiment_id])
    assert len([run for run in runs if "stage" in run.data.tags]) == 3
    assert {o.status for o in prepare().outcomes.values()} == {Status.CACHED, Status.SKIPPED}


def test_one_stage_alone_restores_its_inputs(store_root: Path) -> None:
    first = prepare()
    wipe(store_root, "artifacts", "results")
    again = rerun_stage("replay", settings={"replay.passes": [1]})
    assert again.outcome.status is Status.COMPUTED
    assert again.inputs["loggers"].status is Status.RESTORED
    assert again.inputs["loggers"].artifact.digest == digests(first)["train-loggers"]


def test_moved_store_still_has_its_copies(store_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare()
    moved = store_root.rename(store_root.with_name("moved"))
    monkeypatch.setenv("MULTILOGGER_HOME", str(moved))
    wipe(moved, "artifacts")
    assert statuses(prepare()) == RESTORED


def alter_file(copy: Path) -> None:
    flip(copy / ROWS)


def alter_file_and_manifest(copy: Path) -> None:
    """A forger who also mends the hash: MLflow's database still has the digest of the true files."""
    flip(copy / ROWS)
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["files"] = {name: entry.model_dump() for name, entry in manifest_of(copy).items()}
    (copy / "manifest.json").write_text(json.dumps(manifest))


def remove_file(copy: Path) -> None:
    (copy / ROWS).unlink()


def garble_manifest(copy: Path) -> None:
    (copy / "manifest.json").write_text("[]")


def manifest_of_another_key(copy: Path) -> None:
    text = (copy / "manifest.json").read_text()
    key = json.loads(text)["key"]
    (copy / "manifest.json").write_text(text.replace(key, "0" * len(key)))


def name_a_file_outside(copy: Path) -> None:
    text = (copy / "manifest.json").read_text()
    (copy / "manifest.json").write_text(text.replace(ROWS, "../../escaped.parquet"))


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (alter_file, f"{ROWS} was altered"),
        (alter_file_and_manifest, "manifest.json was altered"),
        (remove_file, f"{ROWS} cannot be fetched"),
        (garble_manifest, "manifest.json cannot be read"),
        (manifest_of_another_key, "manifest.json is of another result"),
        (name_a_file_outside, "manifest.json names ../../escaped.parquet, outside of its folder"),
    ],
)
def test_tampered_copy_is_refused_in_one_line_and_computed_again(
    finished_copy: tuple[Path, Finished], tamper: object, reason: str
) -> None:
    root, first = finished_copy
    replay = first.outcomes["replay"].artifact
    assert callable(tamper)
    tamper(copy_of(first, "replay"))
    shutil.rmtree(replay.folder)
    (root / "results" / replay.key).unlink()
    listener = Listener()
    with watched_by(listener):
        second = prepare()
    assert second.outcomes["replay"].status is Status.COMPUTED
    assert listener.lines == [f"replay: MLflow's copy in run {replay.run_id} is refused, {reason}"]
    assert second.outcomes["replay"].artifact.digest == replay.digest
    assert [p for p in (root / "artifacts" / "replay").iterdir() if p.name.startswith(".")] == []


@pytest.mark.parametrize("content", [b"", b"{}", b'{"files": []}', b"\x00\xff"])
def test_damaged_manifest_in_the_store_is_noticed_and_healed(
    finished_copy: tuple[Path, Finished], content: bytes
) -> None:
    """Before, it stayed: `evaluate --logs` on that replay failed after every rerun too."""
    _, first = finished_copy
    replay = first.outcomes["replay"].artifact
    true = (replay.folder / "manifest.json").read_bytes()
    (replay.folder / "manifest.json").write_bytes(content)
    listener = Listener()
    with watched_by(listener):
        second = prepare()
    assert second.outcomes["replay"].status is Status.RESTORED
    assert (replay.folder / "manifest.json").read_bytes() == true
    assert any("manifest.json was altered" in line for line in listener.lines)


@pytest.fixture(scope="module")
def finished_store(
    tmp_path_factory: pytest.TempPathFactory, prefect_server: str, migrated_mlflow: Path
) -> tuple[Path, Finished]:
    """A store after `prepare`, to be copied."""
    root = tmp_path_factory.mktemp("finished") / "store"
    root.mkdir()
    shutil.copy(migrated_mlflow, root / "mlflow.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MULTILOGGER_HOME", str(root))
        patch.setenv("PREFECT_API_URL", prefect_server)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        return root, prepare()


@pytest.fixture
def finished_copy(
    finished_store: tuple[Path, Finished], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Finished]:
    """A copy of the finished store, and its outcomes as they stand in the copy."""
    source, done = finished_store
    root = shutil.copytree(source, tmp_path / "copy")
    monkeypatch.setenv("MULTILOGGER_HOME", str(root))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    outcomes = {
        name: replace(outcome, artifact=outcome.artifact.model_copy(update={"root": root}))
        for name, outcome in done.outcomes.items()
    }
    return root, Finished(outcomes, done.run_id)


def test_unfinished_and_deleted_runs_are_no_copies(finished_copy: tuple[Path, Finished]) -> None:
    root, first = finished_copy
    client = MlflowClient(Store.current().tracking_uri)
    client.set_terminated(first.outcomes["train-loggers"].artifact.run_id, "FAILED")
    client.delete_run(first.outcomes["replay"].artifact.run_id)
    wipe(root, "artifacts")
    with pytest.raises(NotCached, match=r"the result of train-loggers .* is not in the cache, nor in MLflow"):
        rerun_stage("replay")
    assert statuses(prepare()) == {
        "download": "cached",  # restored for the stage alone
        "reduce": "skipped",
        "train-loggers": "computed",
        "replay": "computed",
    }


def test_refreshed_stage_is_computed_though_mlflow_has_it(
    finished_copy: tuple[Path, Finished],
) -> None:
    root, _ = finished_copy
    wipe(root, "artifacts")
    assert statuses(prepare(refresh=["replay"])) == RESTORED | {"replay": "computed"}


@pytest.fixture
def mlflow_server(tmp_path: Path, migrated_mlflow: Path) -> Iterator[str]:
    """A real MLflow server that keeps files itself."""
    database = shutil.copy(migrated_mlflow, tmp_path / "server.db")
    port = free_port()
    command = [
        sys.executable, "-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{database}",
        "--artifacts-destination", str(tmp_path / "server-files"), "--port", str(port), "--workers", "1",
    ]  # fmt: skip
    with (tmp_path / "server.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        wait_for(lambda: answers(f"http://127.0.0.1:{port}/health"), server, Path(log.name).read_text)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(300)


@pytest.mark.slow
def test_whole_store_comes_back_from_a_server(
    store_root: Path, mlflow_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even another store on the same server has the results without computing them."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_server)
    first = prepare()
    monkeypatch.setenv("MULTILOGGER_HOME", str(tmp_path / "other"))
    second = prepare()
    assert statuses(second) == RESTORED
    assert digests(second) == digests(first)
    assert not (tmp_path / "other" / "mlflow.db").exists()
    assert store_root.is_dir()
