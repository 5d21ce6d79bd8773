"""How MLflow serves a learned policy: a DataFrame of features in, probabilities of labels or actions out.

`mlflow.pyfunc.load_model` calls `_load_pyfunc` with the folder of policy.safetensors and policy.json.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from multilogger.components.actions.space import ActionSpace
from multilogger.components.policies.policy import LearnedPolicy, load_policy


def output_columns(space: ActionSpace) -> tuple[str, ...]:
    """`y0`, `y1`, ... of labels, each of which may be taken; `a0`, `a1`, ... of actions, one of which is."""
    letter = "y" if space.action_shape else "a"
    return tuple(f"{letter}{number}" for number in range(space.size))


class ServedPolicy:
    """p_l(x) of every label, one column a label; or h(a|x) of every action, one column an action."""

    def __init__(self, policy: LearnedPolicy) -> None:
        self._policy = policy

    def predict(self, features: pd.DataFrame) -> pd.DataFrame:
        """Probabilities (n, q) or (n, K) for features (n, d) in the order of the training data."""
        space = self._policy.space
        probabilities = space.probabilities(self._policy.logits(features.to_numpy(dtype=np.float32)))
        return pd.DataFrame(probabilities, columns=list(output_columns(space)), index=features.index)


def _load_pyfunc(path: str) -> ServedPolicy:
    return ServedPolicy(load_policy(Path(path)))
