"""MLflow runs of flows and stages, with explicit run ids: the fluent API makes orphans in worker threads.

A run that is RUNNING while nobody holds its lock belongs to a killed process; the next start marks it.
"""

import getpass
import json
import shutil
import socket
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException

from multilogger.tasks.engine.locks import FileLock, is_held
from multilogger.tasks.engine.stage_run import MetricPoint, ModelFiles
from multilogger.tasks.engine.store import Store

BATCH = 1000  # MLflow's limit of metrics a call
LOCK_TAG = "multilogger.lock"
STORE_TAG = "multilogger.store"
EXPERIMENT_TAGS: dict[str, Any] = {
    "mlflow.experimentKind": "custom_model_development"
}  # the pages for training


class Tracker:
    """The MLflow store of this project's store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._store_name = f"{socket.gethostname()}:{store.root}"
        with FileLock(store.locks / "mlflow-setup"):  # a fresh database breaks when several open it at once
            self._client = MlflowClient(tracking_uri=store.tracking_uri)
            self._client.search_experiments(max_results=1)

    def experiment(self, dataset: str) -> str:
        """The id of the dataset's experiment, made at the first call."""
        name = f"multilogger/{dataset}"
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        location = (self._store.mlflow_artifacts / dataset).as_uri() if self._store.tracks_locally else None
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
            STORE_TAG: self._store_name,
            "mlflow.source.name": "multilogger",
            "mlflow.user": getpass.getuser(),
        }
        if parent is not None:
            own["mlflow.parentRunId"] = parent
        run = self._client.create_run(self.experiment(dataset), run_name=name, tags={**tags, **own})
        return str(run.info.run_id)

    def log(self, run_id: str, params: Mapping[str, Any], metrics: Sequence[MetricPoint] = ()) -> None:
        """Write parameters and metrics, in as few calls as MLflow allows."""
        now = int(time.time() * 1000)
        entities = [Metric(m.name, m.value, now, m.step) for m in metrics]
        self._client.log_batch(run_id, params=[Param(k, _text(v)) for k, v in params.items()])
        for start in range(0, len(entities), BATCH):
            self._client.log_batch(run_id, metrics=entities[start : start + BATCH])

    def log_folder(self, run_id: str, folder: Path) -> None:
        """Copy every file of a folder to the run's artifacts."""
        self._client.log_artifacts(run_id, str(folder))

    def log_model(self, run_id: str, model: ModelFiles, folder: Path) -> None:
        """Offer files of a result as a pyfunc model: a DataFrame of features in, a DataFrame out."""
        import mlflow
        from mlflow.models import Model, ModelSignature
        from mlflow.types import ColSpec, DataType, Schema, TensorSpec

        mlflow.set_tracking_uri(self._store.tracking_uri)
        run = self._client.get_run(run_id)
        logged = self._client.create_logged_model(  # by itself, MLflow would put it into experiment 0
            run.info.experiment_id, model.name, source_run_id=run_id, params=run.data.params
        )
        columns: list[ColSpec | TensorSpec] = [
            ColSpec(DataType.double, f"x{column}") for column in range(model.features)
        ]
        with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*input example was not provided", UserWarning)
            data = Path(scratch) / model.name
            data.mkdir()
            for name in model.files:
                shutil.copy(folder / name, data / name)
            Model.log(
                artifact_path=None,
                model_id=logged.model_id,
                flavor=mlflow.pyfunc,
                run_id=run_id,
                loader_module=model.loader_module,
                data_path=str(data),
                signature=ModelSignature(inputs=Schema(columns)),
                pip_requirements=["multilogger"],
            )

    def tag(self, run_id: str, tags: Mapping[str, str]) -> None:
        """Set tags in one call."""
        self._client.log_batch(run_id, tags=[RunTag(key, value) for key, value in tags.items()])

    def finish(self, run_id: str) -> None:
        self._client.set_terminated(run_id, "FINISHED")

    def fail(self, run_id: str, error: BaseException) -> None:
        """End a run that did not succeed, with its reason."""
        stopped = not isinstance(error, Exception)  # KeyboardInterrupt, SystemExit, Prefect's cancellation
        self.tag(run_id, {"error": f"{type(error).__name__}: {error}"[:500]})
        self._client.set_terminated(run_id, "KILLED" if stopped else "FAILED")

    def bury_dead_runs(self, dataset: str, lock: Path | None = None) -> None:
        """Mark runs of killed processes as KILLED.

        Without `lock`: every run of this store whose lock nobody holds. With `lock`, which the caller
        holds: every earlier run under that lock.
        """
        query = f"attributes.status = 'RUNNING' and tags.`{STORE_TAG}` = '{self._store_name}'"
        if lock is not None:
            query += f" and tags.`{LOCK_TAG}` = '{lock.name}'"
        for run in self._client.search_runs([self.experiment(dataset)], query):
            if lock is not None or not is_held(self._store.locks / run.data.tags[LOCK_TAG]):
                self._client.set_terminated(run.info.run_id, "KILLED")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
