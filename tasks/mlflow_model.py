"""A policy as a folder that MLflow serves, without a store."""

import tempfile
from pathlib import Path
from typing import Any

from multilogger.components.api.policy import Policy
from multilogger.components.errors import BadInput


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
