"""The bandit log as its readers need it: in batches, as a learner takes it, and as MLflow lists it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from multilogger.components.log.files import open_log_files
from multilogger.components.log.schema import space_of
from multilogger.tasks.dataset_files import load_facts, load_train
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage_run import DatasetUsed
from multilogger.tasks.replay import LOG_FOLDER, load_summary
from multilogger.tasks.train_loggers import load_loggers

if TYPE_CHECKING:
    from multilogger.components.actions.space import ActionSpace
    from multilogger.components.log.disk import StreamedLog
    from multilogger.components.log.memory import TrainingLog
    from multilogger.components.log.reading import LogBatch


def stream_log(log: Artifact, validation: bool) -> Iterator["LogBatch"]:
    """One side of the split, batch by batch; never the whole log."""
    from multilogger.components.log.reading import read_rows

    files = open_log_files(log.folder / LOG_FOLDER, contexts_given=True)
    return read_rows(replace(files, validation=validation))


def load_training_log(data: Artifact, loggers: Artifact, log: Artifact) -> "TrainingLog":
    """The whole log in memory, as the learners take it."""
    from multilogger.components.log.reading import read_training_log

    train = load_train(data)
    logits = tuple(policy.logits(train.x) for policy in load_loggers(loggers))
    return read_training_log(log.folder / LOG_FOLDER, train.x, logits, train.y)


def log_space(log: Artifact) -> "ActionSpace":
    """What the actions of the log are."""
    return space_of(open_log_files(log.folder / LOG_FOLDER, contexts_given=True).dataset.schema)


def count_log(log: Artifact) -> int:
    """The rows of the log, without reading them."""
    return open_log_files(log.folder / LOG_FOLDER, contexts_given=True).rows


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
            **facts.counts(),
            "loggers": len(loggers),
        },
    )
