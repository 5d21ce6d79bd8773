"""MLflow runs of flows and stages, with explicit run ids: the fluent API makes orphans in worker threads.

A run that is RUNNING while nobody holds its lock belongs to a killed process; the next start marks it.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from mlflow import MlflowClient
from mlflow.entities import LoggedModelOutput, Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException

from multilogger.components.errors import without_secrets
from multilogger.components.names import check_name
from multilogger.tasks.engine.locks import FileLock, probing
from multilogger.tasks.engine.model_logging import as_training_data, log_model
from multilogger.tasks.engine.stage_run import DatasetUsed, MetricPoint, ModelFiles
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking_client import open_client, user_name

BATCH = 1000  # MLflow's limit of metrics a call
EXPERIMENT_PREFIX = "multilogger/"
FLOW_LOCK = "flow-"
LOCK_TAG = "multilogger.lock"
DIGEST_TAG = "digest"
TEMPLATE_TAG = "multilogger.template_run_id"
STORE_TAG = "multilogger.store"
# the pages for training
EXPERIMENT_TAGS: dict[str, Any] = {"mlflow.experimentKind": "custom_model_development"}
NOTE_TAG = "mlflow.note.content"


class Tracker:
    """The MLflow store of this project's store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._client = open_client(store)

    @property
    def client(self) -> MlflowClient:
        """MLflow itself, for those who read runs or keep models."""
        return self._client

    @property
    def uri(self) -> str:
        """Where the runs are."""
        return self._store.tracking_uri

    def experiment(self, dataset: str) -> str:
        """The id of the dataset's experiment, made at the first call."""
        name = f"{EXPERIMENT_PREFIX}{check_name('dataset', dataset)}"
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            if found.lifecycle_stage == "deleted":
                self._client.restore_experiment(found.experiment_id)
            return str(found.experiment_id)
        files = self._store.mlflow_artifacts / dataset
        location = None if self._store.tracks_by_server else files.as_uri()
        try:
            return str(self._client.create_experiment(name, location, EXPERIMENT_TAGS))
        except MlflowException:  # another process was faster
            found = self._client.get_experiment_by_name(name)
            if found is None:
                raise
            return str(found.experiment_id)

    def start(
        self, dataset: str, name: str, lock: Path, tags: Mapping[str, str], parent: str | None = None
    ) -> str:
        """Start a run and return its id; the caller holds `lock` for as long as the run lives."""
        own = {
            LOCK_TAG: lock.name,
            STORE_TAG: self._store.identity,
            "mlflow.source.name": "multilogger",
            "mlflow.user": user_name(),
        }
        if parent is not None:
            own["mlflow.parentRunId"] = parent
        run = self._client.create_run(self.experiment(dataset), run_name=name, tags={**tags, **own})
        return str(run.info.run_id)

    @contextmanager
    def running(self, dataset: str, name: str, tags: Mapping[str, str]) -> Iterator[str]:
        """The id of a run that lives as long as the block, and ends as the block ends."""
        lock = self._store.locks / f"{FLOW_LOCK}{uuid4().hex}"
        with FileLock(lock):
            run_id = self.start(dataset, name, lock, tags)
            try:
                yield run_id
            except BaseException as error:
                self.fail(run_id, error)
                raise
            else:
                self.finish(run_id)
            finally:
                lock.unlink(missing_ok=True)

    def log(self, run_id: str, params: Mapping[str, Any], metrics: Sequence[MetricPoint] = ()) -> None:
        """Write parameters that have a value, and metrics, in as few calls as MLflow allows."""
        now = int(time.time() * 1000)
        entities = [Metric(m.name, m.value, now, m.step) for m in metrics]
        given = [Param(name, param_text(value)) for name, value in params.items() if value is not None]
        self._client.log_batch(run_id, params=given)
        for start in range(0, len(entities), BATCH):
            self._client.log_batch(run_id, metrics=entities[start : start + BATCH])

    def log_dataset(self, run_id: str, used: DatasetUsed) -> None:
        """List a dataset as the training data of a run."""
        # two at once, both new to it, and MLflow refuses
        with FileLock(self._store.locks / "mlflow-datasets"):
            self._client.log_inputs(run_id, [as_training_data(used)])

    def models_of(self, run_id: str) -> list[str]:
        """The ids of the models that a run made; none if the run is gone."""
        try:
            outputs = self._client.get_run(run_id).outputs
        except MlflowException:
            return []
        return [model.model_id for model in outputs.model_outputs] if outputs else []

    def link_models(self, run_id: str, models: Sequence[str]) -> None:
        """Show models of other runs as a run's own."""
        if models:
            self._client.log_outputs(run_id, [LoggedModelOutput(model, step=0) for model in models])

    def describe(self, run_id: str, text: str) -> None:
        """Put Markdown before what the run's description says already."""
        earlier = self._client.get_run(run_id).data.tags.get(NOTE_TAG, "")
        self.tag(run_id, {NOTE_TAG: f"{text}\n\n{earlier}".strip()})

    def log_folder(self, run_id: str, folder: Path) -> None:
        """Copy every file of a folder to the run's artifacts."""
        self._client.log_artifacts(run_id, str(folder))

    def log_files(self, run_id: str, files: Sequence[Path]) -> None:
        """Copy single files to the run's artifacts."""
        for path in files:
            self._client.log_artifact(run_id, str(path))

    def finished_stage_runs(self, stage: str, key: str) -> list[Run]:
        """Runs that computed this key and ended well, the newest first; whichever store they are of."""
        query = f"attributes.status = 'FINISHED' and tags.stage = '{stage}' and tags.key = '{key}'"
        return self._search(query)

    def download(self, run: Run, name: str, folder: Path) -> None:
        """Fetch one of the run's own files, by its relative name, into a folder."""
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        # `runs:/` addresses would mix in the files of the run's models
        copies = get_artifact_repository(self._files_of(run), tracking_uri=self._store.tracking_uri)
        copies.download_artifacts(name, str(folder))  # type: ignore[no-untyped-call]

    def _files_of(self, run: Run) -> str:
        """Where the run's files are; MLflow's database does not notice that a store was moved."""
        moved = (
            self._store.mlflow_artifacts / run.data.tags.get("dataset", "") / run.info.run_id / "artifacts"
        )
        here = not self._store.tracks_by_server and moved.is_dir()
        return moved.as_uri() if here else str(run.info.artifact_uri)

    def log_model(self, run_id: str, model: ModelFiles, folder: Path) -> None:
        """Offer files of a result as a pyfunc model: a DataFrame in, a DataFrame out."""
        log_model(self._client, self._store.tracking_uri, run_id, model, folder)

    def tag(self, run_id: str, tags: Mapping[str, str]) -> None:
        """Set tags in one call."""
        self._client.log_batch(run_id, tags=[RunTag(key, value) for key, value in tags.items()])

    def run(self, run_id: str) -> Run:
        """A run by its id, deleted ones too, or by how the id of one begins; else MLflow's exception."""
        try:
            return self._client.get_run(run_id)
        except MlflowException:
            if not re.fullmatch("[0-9a-f]{6,31}", run_id):
                raise
            begun = self._search(f"attributes.run_id LIKE '{run_id}%'")
            if len(begun) != 1:
                raise
            return begun[0]

    def metrics(self, run_id: str) -> dict[str, float]:
        """The last value of every metric; empty if the run is gone."""
        try:
            return dict(self._client.get_run(run_id).data.metrics)
        except MlflowException:
            return {}

    def rename(self, run_id: str, name: str) -> None:
        self._client.update_run(run_id, name=name)

    def finish(self, run_id: str) -> None:
        self._client.set_terminated(run_id, "FINISHED")

    def fail(self, run_id: str, error: BaseException) -> None:
        """End a run that did not succeed, with its reason."""
        stopped = not isinstance(error, Exception)  # KeyboardInterrupt, SystemExit, Prefect's cancellation
        self.tag(run_id, {"error": without_secrets(f"{type(error).__name__}: {error}")[:500]})
        self._client.set_terminated(run_id, "KILLED" if stopped else "FAILED")

    def runs_of(self, dataset: str, query: str) -> list[Run]:
        """Runs of a dataset that MLflow's query finds, the newest first; none if it has no experiment."""
        experiment = self._client.get_experiment_by_name(f"{EXPERIMENT_PREFIX}{dataset}")
        found: list[Run] = []
        token = None
        while experiment is not None and token != "":
            page = self._client.search_runs(
                [experiment.experiment_id], query, max_results=BATCH, page_token=token
            )
            found += page
            token = page.token or ""
        return found

    def bury_dead_runs(self) -> None:
        """Mark every run of this store as KILLED whose process is gone, whatever its dataset."""
        for run in self._running():
            lock = self._store.locks / run.data.tags[LOCK_TAG]
            with probing(lock) as free:
                # a run that ended since it was listed is not dead: look again while nobody can start it
                if free and self._client.get_run(run.info.run_id).info.status == "RUNNING":
                    self._client.set_terminated(run.info.run_id, "KILLED")
                    if lock.name.startswith(FLOW_LOCK):
                        lock.unlink(missing_ok=True)

    def bury_earlier_runs(self, lock: Path) -> None:
        """Mark every earlier run under a lock that the caller holds as KILLED."""
        for run in self._running(f" and tags.`{LOCK_TAG}` = '{lock.name}'"):
            self._client.set_terminated(run.info.run_id, "KILLED")

    def _running(self, condition: str = "") -> list[Run]:
        query = f"attributes.status = 'RUNNING' and tags.`{STORE_TAG}` = '{self._store.identity}'{condition}"
        return self._search(query)

    def _search(self, query: str) -> list[Run]:
        """Runs of every dataset's experiment, the newest first."""
        mine = self._client.search_experiments(filter_string=f"name LIKE '{EXPERIMENT_PREFIX}%'")
        if not mine:
            return []
        return list(self._client.search_runs([e.experiment_id for e in mine], query))


def param_text(value: Any) -> str:
    """A setting as MLflow keeps it."""
    return without_secrets(value if isinstance(value, str) else json.dumps(value))
