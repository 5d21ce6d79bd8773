"""The files of a dataset artifact, and the bandit log as MLflow lists it with a run."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from multilogger.components.datasets.labelled_data import LabelledData, load_split, save_split
from multilogger.components.datasets.losses import HAMMING, Loss, find_loss
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.model_logging import DatasetUsed
from multilogger.tasks.engine.stage_run import StageRun, read_json


class DatasetFacts(BaseModel):
    """The paper's Table 1 row of a dataset, and a little more."""

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


def save_dataset(
    run: StageRun, name: str, train: LabelledData, test: LabelledData, loss: str = HAMMING.name
) -> DatasetFacts:
    """Write both splits and their facts; the splits apart, so that only who needs test reads it."""
    save_split(run.file("train.safetensors"), train)
    save_split(run.file("test.safetensors"), test)
    facts = DatasetFacts(
        name=name,
        features=train.features,
        labels=train.labels,
        n_train=train.rows,
        n_test=test.rows,
        sparse=train.is_sparse,
        labels_per_row=float(train.y.sum(axis=1).mean()),
        rows_without_label=int((train.y.sum(axis=1) == 0).sum()),
        loss=loss,
    )
    run.save_json("dataset.json", facts.model_dump(exclude_defaults=True))
    return facts


def load_facts(data: Artifact) -> DatasetFacts:
    return DatasetFacts(**read_json(data.folder / "dataset.json"))


def load_loss(data: Artifact) -> Loss:
    """The loss that the dataset is judged by."""
    return find_loss(load_facts(data).loss)


def load_train(data: Artifact) -> LabelledData:
    return load_split(data.folder / "train.safetensors")


def load_test(data: Artifact) -> LabelledData:
    return load_split(data.folder / "test.safetensors")


def bandit_log_used(inputs: Mapping[str, Artifact]) -> DatasetUsed | None:
    """The bandit log among a stage's inputs `data` and `log`; None if it has none.

    Its digest is that of the log, so runs on the same log show the same dataset.
    """
    from multilogger.tasks.replay import load_summary  # which reads the files of a dataset

    if "data" not in inputs or "log" not in inputs:
        return None
    facts, loggers = load_facts(inputs["data"]), load_summary(inputs["log"])
    return DatasetUsed(
        name=facts.name,
        digest=inputs["log"].digest,
        source=inputs["log"].folder.as_uri(),
        profile={
            "rows": sum(int(part["rows"]) for part in loggers.values()),
            "validation_rows": sum(int(part["validation_rows"]) for part in loggers.values()),
            "contexts": facts.n_train,
            "test_contexts": facts.n_test,
            "features": facts.features,
            "labels": facts.labels,
            "loggers": len(loggers),
        },
    )
