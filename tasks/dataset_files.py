"""The files of a dataset artifact."""

from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from multilogger.components.actions.arrays import Actions
from multilogger.components.datasets.labelled_data import Features, LabelledData, load_split, save_split
from multilogger.components.datasets.losses import HAMMING, Loss, find_loss
from multilogger.components.own_log.context_files import read_contexts
from multilogger.components.own_log.write_log import CONTEXT_FOLDER
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage_run import StageRun, read_json


class DatasetFacts(BaseModel):
    """The paper's Table 1 row of a dataset, and a little more.

    From `loggers` on, facts of a person's own log: names, the range of outcomes, rows kept for the end, and
    how many propensities were logged: all, some or none.
    """

    model_config = ConfigDict(frozen=True)
    name: str
    features: int
    labels: int
    n_train: int
    n_test: int
    sparse: bool
    labels_per_row: float
    rows_without_label: int
    loss: str = HAMMING.name
    actions: str = "labels"
    loggers: tuple[str, ...] = ()
    max_loss: float = 0.0
    reward_range: tuple[float, float] | None = None
    test_rows: int = 0
    propensities: str = ""
    contexts_known: bool = True

    def counts(self) -> dict[str, int]:
        """How many features and labels, or actions to choose one of, there are."""
        size = "labels" if self.actions == "labels" else "actions"
        return {"features": self.features, size: self.labels}


def save_dataset(
    run: StageRun, name: str, train: LabelledData, test: LabelledData, loss: str = HAMMING.name
) -> DatasetFacts:
    """Write both splits and their facts; the splits apart, so that only who needs test reads it."""
    save_split(run.file("train.safetensors"), train)
    save_split(run.file("test.safetensors"), test)
    counts = train.y.sum(axis=1) if train.space.action_shape else np.ones(train.rows)
    facts = DatasetFacts(
        name=name,
        features=train.features,
        labels=train.space.size,
        n_train=train.rows,
        n_test=test.rows,
        sparse=train.is_sparse,
        labels_per_row=float(counts.mean()),
        rows_without_label=int((counts == 0).sum()),
        loss=loss,
        actions=train.space.name,
    )
    run.save_json("dataset.json", facts.model_dump(exclude_defaults=True))
    return facts


def load_facts(data: Artifact) -> DatasetFacts:
    return DatasetFacts(**read_json(data.folder / "dataset.json"))


def load_loss(data: Artifact) -> Loss:
    """The loss that the dataset is judged by."""
    return find_loss(load_facts(data).loss)


class LogContexts(NamedTuple):
    """Contexts (m, d) of a log, and the right action of each, which a person's own log does not say."""

    x: Features
    truth: Actions | None


def load_contexts(data: Artifact) -> LogContexts:
    """The contexts that the rows of a log name by number."""
    own = data.folder / CONTEXT_FOLDER
    if own.is_dir():
        return LogContexts(read_contexts(own), None)
    train = load_train(data)
    return LogContexts(train.x, train.y)


def load_train(data: Artifact) -> LabelledData:
    return load_split(data.folder / "train.safetensors")


def load_test(data: Artifact) -> LabelledData:
    return load_split(data.folder / "test.safetensors")
