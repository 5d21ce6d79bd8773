"""How MLflow serves a learned policy: a DataFrame of features in, label probabilities out.

`mlflow.pyfunc.load_model` calls `_load_pyfunc` with the folder of policy.safetensors and policy.json.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from multilogger.components.policies.policy import LearnedPolicy, load_policy


class ServedPolicy:
    """p_l(x) of every label, one column a label."""

    def __init__(self, policy: LearnedPolicy) -> None:
        self._policy = policy

    def predict(self, features: pd.DataFrame) -> pd.DataFrame:
        """Label probabilities (n, q) for features (n, d) in the order of the training data."""
        space = self._policy.space
        probabilities = space.probabilities(self._policy.logits(features.to_numpy(dtype=np.float32)))
        return pd.DataFrame(
            probabilities, columns=[f"y{label}" for label in range(space.size)], index=features.index
        )


def _load_pyfunc(path: str) -> ServedPolicy:
    return ServedPolicy(load_policy(Path(path)))
