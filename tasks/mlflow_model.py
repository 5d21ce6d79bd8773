"""A policy as a model of MLflow: written to a folder that MLflow serves, or read from its registry."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from multilogger.components.api.policy import POLICY_FILES, Policy
from multilogger.components.api.policy import load_policy as load_folder
from multilogger.components.errors import BadInput, first_line
from multilogger.tasks.engine.store import Store

MODELS = "models:/"


def load_policy(folder: str | Path) -> Policy:
    """Read what `Policy.save` wrote, or a policy that the command line learned.

    Args:
        folder: the folder of the policy; or a model that MLflow has, such as
            `models:/multilogger-yeast@champion`, of the store that the command line uses.
    """
    name = str(folder)
    return _load_model(name) if name.startswith(MODELS) else load_folder(folder)


def _load_model(name: str) -> Policy:
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException

    uri = Store.current().tracking_uri
    with tempfile.TemporaryDirectory() as scratch, _looked_up_in(uri):
        try:
            where = Path(download_artifacts(name, dst_path=scratch, tracking_uri=uri))
        except (MlflowException, OSError) as error:
            raise BadInput(
                f"MLflow at {uri} has no policy {name!r} ({first_line(error)}); 'multilogger ui' shows what "
                "there is"
            ) from error
        return load_folder(next((p.parent for p in sorted(where.rglob(POLICY_FILES[1]))), where))


@contextmanager
def _looked_up_in(uri: str) -> Iterator[None]:
    """`models:/` addresses are looked up in one store, and elsewhere again afterwards."""
    import mlflow

    before = mlflow.get_tracking_uri(), mlflow.get_registry_uri()
    mlflow.set_tracking_uri(uri)
    mlflow.set_registry_uri(uri)
    try:
        yield
    finally:
        mlflow.set_tracking_uri(before[0])
        mlflow.set_registry_uri(before[1])


def save_mlflow_model(policy: Any, folder: str | Path) -> None:
    """Write a policy as a model of MLflow: `mlflow models serve -m FOLDER --env-manager local` serves it.

    It takes the columns of the log that the policy was learned from, and gives probabilities; with the
    parameter `decide` an action, its propensity and a sample id.

    Args:
        policy: a `Policy` or a fitted learner of this package.
        folder: a new folder.
    """
    import mlflow

    from multilogger.tasks.engine.model_logging import example_of, quiet_mlflow, signature_of
    from multilogger.tasks.served_policy import LOADER, model_files

    found, place = getattr(policy, "policy_", policy), Path(folder)
    if not isinstance(found, Policy):
        raise BadInput(f"a Policy or a fitted learner is needed, got {type(policy).__name__}")
    if place.exists() and any(place.iterdir()):
        raise BadInput(f"{place} is not empty; give a new folder")
    with tempfile.TemporaryDirectory() as scratch, quiet_mlflow():
        data = Path(scratch) / "policy"
        found.save(data)
        model = model_files(data)
        mlflow.pyfunc.save_model(
            place,
            loader_module=LOADER,
            data_path=str(data),
            signature=signature_of(model),
            input_example=example_of(model),
            pip_requirements=["multilogger"],
        )
