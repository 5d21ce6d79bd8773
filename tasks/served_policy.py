"""How MLflow serves a learned policy: a raw frame in, probabilities or decisions out.

`mlflow.pyfunc.load_model` calls `_load_pyfunc` with the folder of the policy. The frame has the columns of
the log that the policy was learned from, if its folder says them (columns.json), else x0, x1, ... With the
parameter `decide` it gives an action per row, its propensity and an id, which is what the next log needs.
"""

import hashlib
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE

from multilogger.components.api.policy import COLUMNS_FILE, POLICY_FILES, Policy, load_policy
from multilogger.components.errors import BadInput
from multilogger.components.features.column import Column, Kind
from multilogger.tasks.engine.stage_run import ANY, ModelColumn, ModelFiles, ModelParameter
from multilogger.tasks.served_request import read_request

LOADER = "multilogger.tasks.served_policy"
PARAMETERS = (ModelParameter("decide", "boolean", False), ModelParameter("seed", "long", None))
# MLflow's own booleans have no gaps and its times no zones, and what it says of a column that is missing has
# all the rows: those are looked at here, and no column is required by the signature.
TYPES = {
    Kind.NUMBER: "double",
    Kind.BOOLEAN: ANY,
    Kind.WORDS: "string",
    Kind.HASHED: "string",
    Kind.TIME: ANY,
}


def output_columns(policy: Policy, named: bool) -> tuple[str, ...]:
    """What the columns of probabilities are called: as the log calls its actions or labels, if it is known.

    Else `y0`, `y1`, ... of labels, each of which may be taken; `a0`, `a1`, ... of actions, one of which is.
    """
    if named:
        return tuple(str(action) for action in policy.actions)
    letter = "y" if policy.space.action_shape else "a"
    return tuple(f"{letter}{number}" for number in range(policy.space.size))


def model_files(folder: Path) -> ModelFiles:
    """The files of a saved policy as a model, with the columns that it takes and gives."""
    policy, named = load_policy(folder), (folder / COLUMNS_FILE).is_file()
    return ModelFiles(
        "policy",
        LOADER,
        (*POLICY_FILES, COLUMNS_FILE) if named else POLICY_FILES,
        takes=tuple(_taken(column) for column in policy.columns.columns),
        gives=tuple(ModelColumn(name, "double") for name in output_columns(policy, named)),
        parameters=PARAMETERS,
    )


def _taken(column: Column) -> ModelColumn:
    """A column with a value as an example."""
    lists = column.kind is Kind.NUMBER and column.values > 1
    examples: dict[Kind, Any] = {
        Kind.NUMBER: [0.0] * column.values if lists else column.fill or 0.0,
        Kind.BOOLEAN: True,
        Kind.WORDS: next(iter(column.categories or ()), "word"),
        Kind.HASHED: "word",
        Kind.TIME: pd.Timestamp(column.last, unit="s"),
    }
    kind = TYPES[column.kind]
    return ModelColumn(column.name, kind, False, examples[column.kind], is_list=lists)


class RefusedRequest(MlflowException):
    """A request that cannot be answered, in one line: MLflow's server would put all of its rows before it."""

    def __init__(self, said: str) -> None:
        self._said = said
        super().__init__(said, error_code=INVALID_PARAMETER_VALUE)

    @property
    def message(self) -> str:
        return self._said

    @message.setter
    def message(self, _: str) -> None:
        """What was said first is enough."""


class ServedPolicy:
    """p_l(x) of every label, one column each; or h(a|x) of every action, one column each; or decisions."""

    def __init__(self, policy: Policy, named: bool) -> None:
        self._policy, self._gives = policy, list(output_columns(policy, named))

    def predict(self, features: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Probabilities (n, q) or (n, K); with params {"decide": True} one decision per row.

        `seed` makes the same request get the same decisions, ids included, so that it may be sent again.
        Other requests with the same seed get draws of their own.
        """
        wanted = params or {}
        try:
            frame = read_request(self._policy.columns.columns, features)
            if not wanted.get("decide"):
                probabilities = self._policy.predict_proba(frame)
                return pd.DataFrame(probabilities, columns=self._gives, index=features.index)
            return self._policy.decide(frame, self._generator(frame, wanted.get("seed")))
        except BadInput as error:  # which the server would otherwise hide behind a sentence of its own
            raise RefusedRequest(str(error)) from error

    def _generator(self, frame: pd.DataFrame, seed: int | None) -> np.random.Generator:
        if seed is None:
            return np.random.default_rng()
        x = np.ascontiguousarray(self._policy.columns(frame))
        # With the seed alone, every request of one row would get the same draw, and the policy would not be
        # the one whose propensities are logged.
        digest = hashlib.sha256(x.tobytes()).digest()
        return np.random.default_rng([abs(int(seed)), *np.frombuffer(digest, dtype=np.uint32).tolist()])


def _refuse_unknown(record: logging.LogRecord) -> bool:
    """Refuse a parameter that is none. MLflow takes it away and says so in its log: nothing else tells."""
    said, known = record.getMessage(), ", ".join(one.name for one in PARAMETERS)
    ours = all(repr(one.name) in said for one in PARAMETERS)
    if said.startswith("Unrecognized params") and ours:
        unknown = said.partition("[")[2].partition("]")[0]
        raise RefusedRequest(f"params may have {known}, not {unknown}; mend it")
    return True


def _load_pyfunc(path: str) -> ServedPolicy:
    folder = Path(path)
    logging.getLogger("mlflow.models.utils").addFilter(_refuse_unknown)  # of several alike it keeps one
    return ServedPolicy(load_policy(folder), (folder / COLUMNS_FILE).is_file())
