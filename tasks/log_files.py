"""The bandit log as its readers need it: in batches, as a learner takes it, and as MLflow lists it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from multilogger.components.log.schema import LogRows, open_log, to_rows
from multilogger.tasks.dataset_files import load_facts, load_train
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage_run import DatasetUsed
from multilogger.tasks.replay import LOG_FOLDER, load_summary
from multilogger.tasks.train_loggers import load_loggers

if TYPE_CHECKING:
    from multilogger.components.log.disk import StreamedLog
    from multilogger.components.log.memory import TrainingLog


@dataclass(frozen=True)
class LogBatch:
    """Some rows of a log and the logger of each."""

    rows: LogRows
    logger: NDArray[np.int64]


def stream_log(log: Artifact, validation: bool) -> Iterator[LogBatch]:
    """One side of the split, batch by batch; never the whole log."""
    import pyarrow.dataset as ds

    side = ds.field("validation") if validation else ~ds.field("validation")
    for batch in open_log(log.folder / LOG_FOLDER).to_batches(filter=side):
        if len(batch):
            yield LogBatch(to_rows(batch), np.asarray(batch.column("logger")).astype(np.int64))


def load_training_log(data: Artifact, loggers: Artifact, log: Artifact) -> "TrainingLog":
    """The whole log in memory, as the learners take it."""
    from multilogger.components.log.reading import read_training_log

    train = load_train(data)
    logits = tuple(policy.logits(train.x) for policy in load_loggers(loggers))
    return read_training_log(log.folder / LOG_FOLDER, train.x, logits, train.y)


def count_log(log: Artifact) -> int:
    """The rows of the log, without reading them."""
    from multilogger.components.log.reading import count_rows

    return count_rows(log.folder / LOG_FOLDER)


def open_learner_log(data: Artifact, loggers: Artifact, log: Artifact) -> "StreamedLog":
    """The log left on disk, as the learners take one that is too long for memory; contexts are in memory."""
    from multilogger.components.log.reading import open_streamed_log

    train = load_train(data)
    logits = tuple(policy.logits(train.x) for policy in load_loggers(loggers))
    return open_streamed_log(log.folder / LOG_FOLDER, train.x, logits, train.y)


def bandit_log_used(inputs: Mapping[str, Artifact]) -> DatasetUsed:
    """The bandit log of a stage with the inputs `data` and `log`.

    Its digest is that of the log, so runs on the same log show the same dataset.
    """
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
