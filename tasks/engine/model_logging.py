"""Models and datasets as MLflow lists them with a run."""

import json
import shutil
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag

from multilogger.tasks.engine.stage_run import DatasetUsed, ModelFiles

DIGEST_CHARACTERS = 16  # MLflow takes 36 at most


def as_training_data(used: DatasetUsed) -> DatasetInput:
    """The dataset as the training data of a run."""
    kind, address = ("http", "url") if used.source.startswith("http") else ("local", "uri")
    listed = Dataset(
        name=used.name,
        digest=used.digest[:DIGEST_CHARACTERS],
        source_type=kind,
        source=json.dumps({address: used.source}),
        profile=json.dumps(dict(used.profile)),
    )
    return DatasetInput(listed, [InputTag("mlflow.data.context", "training")])


def log_model(client: MlflowClient, tracking_uri: str, run_id: str, model: ModelFiles, folder: Path) -> None:
    """Offer files of a result as a pyfunc model: a DataFrame in, a DataFrame out."""
    import mlflow
    from mlflow.models import Model, ModelSignature
    from mlflow.types import ColSpec, DataType, Schema, TensorSpec

    mlflow.set_tracking_uri(tracking_uri)
    run = client.get_run(run_id)
    logged = client.create_logged_model(  # by itself, MLflow would put it into experiment 0
        run.info.experiment_id, model.name, source_run_id=run_id, params=run.data.params
    )

    def columns(names: Iterable[str]) -> Schema:
        named: list[ColSpec | TensorSpec] = [ColSpec(DataType.double, name) for name in names]
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
            signature=ModelSignature(columns(model.takes), columns(model.gives)),
            pip_requirements=["multilogger"],
        )
