"""Models and datasets as MLflow lists them with a run."""

import json
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag

from multilogger.tasks.engine.stage_run import ModelFiles

DIGEST_CHARACTERS = 16  # MLflow takes 36 at most


@dataclass(frozen=True)
class DatasetUsed:
    """A name, the digest of the content, a URI, and a few numbers."""

    name: str
    digest: str
    source: str
    profile: Mapping[str, int]

    def as_input(self) -> DatasetInput:
        """The dataset as the training data of a run."""
        kind, address = ("http", "url") if self.source.startswith("http") else ("local", "uri")
        listed = Dataset(
            name=self.name,
            digest=self.digest[:DIGEST_CHARACTERS],
            source_type=kind,
            source=json.dumps({address: self.source}),
            profile=json.dumps(dict(self.profile)),
        )
        return DatasetInput(listed, [InputTag("mlflow.data.context", "training")])


def log_policy_model(
    client: MlflowClient, tracking_uri: str, run_id: str, model: ModelFiles, folder: Path
) -> None:
    """Offer files of a result as a pyfunc model: a DataFrame of features in, a DataFrame out."""
    import mlflow
    from mlflow.models import Model, ModelSignature
    from mlflow.types import ColSpec, DataType, Schema, TensorSpec

    mlflow.set_tracking_uri(tracking_uri)
    run = client.get_run(run_id)
    logged = client.create_logged_model(  # by itself, MLflow would put it into experiment 0
        run.info.experiment_id, model.name, source_run_id=run_id, params=run.data.params
    )

    def columns(letter: str, count: int) -> Schema:
        named: list[ColSpec | TensorSpec] = [
            ColSpec(DataType.double, f"{letter}{column}") for column in range(count)
        ]
        return Schema(named)

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
            signature=ModelSignature(columns("x", model.features), columns("y", model.labels)),
            pip_requirements=["multilogger"],
        )
