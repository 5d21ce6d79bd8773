"""Models and datasets as MLflow lists them with a run."""

import json
import logging
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag

from multilogger.tasks.engine.stage_run import ANY, DatasetUsed, ModelColumn, ModelFiles

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec

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


def signature_of(model: ModelFiles) -> "ModelSignature":
    """The columns and parameters of a model as MLflow checks them."""
    from mlflow.models import ModelSignature
    from mlflow.types import ParamSchema, ParamSpec, Schema

    parameters = [ParamSpec(one.name, one.type, one.default) for one in model.parameters]
    allowed: Any = ParamSchema(parameters) if parameters else None
    return ModelSignature(
        Schema([_spec(column) for column in model.takes]),
        Schema([_spec(column) for column in model.gives]),
        allowed,
    )


def _spec(column: ModelColumn) -> "ColSpec":
    from mlflow.types import ColSpec
    from mlflow.types.schema import AnyType, Array, DataType

    if column.type == ANY:
        anything: Any = AnyType
        return ColSpec(anything(), column.name, required=column.required)
    kind = DataType[column.type]
    return ColSpec(Array(kind) if column.is_list else kind, column.name, required=column.required)


@contextmanager
def quiet_mlflow() -> Iterator[None]:
    """Without what MLflow says of columns that could have been whole numbers, and of checking the example."""
    speaker = logging.getLogger("mlflow.pyfunc")
    before = speaker.level
    speaker.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        speaker.setLevel(before)


def example_of(model: ModelFiles) -> "pd.DataFrame":
    """One row of the columns that a model takes."""
    import pandas as pd

    return pd.DataFrame({column.name: [column.example] for column in model.takes})


def log_model(client: MlflowClient, tracking_uri: str, run_id: str, model: ModelFiles, folder: Path) -> None:
    """Offer files of a result as a pyfunc model: a DataFrame in, a DataFrame out."""
    import mlflow
    from mlflow.models import Model

    mlflow.set_tracking_uri(tracking_uri)
    run = client.get_run(run_id)
    logged = client.create_logged_model(  # by itself, MLflow would put it into experiment 0
        run.info.experiment_id, model.name, source_run_id=run_id, params=run.data.params
    )

    with tempfile.TemporaryDirectory() as scratch, quiet_mlflow():
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
            signature=signature_of(model),
            input_example=example_of(model),
            pip_requirements=["multilogger"],
        )
