"""The bandit log as its readers need it: in batches, as a learner takes it, and as MLflow lists it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from multilogger.components.log.files import open_log_files
from multilogger.components.log.schema import space_of
from multilogger.components.propensities.estimated_policy import load_estimated
from multilogger.tasks.dataset_files import load_contexts, load_facts
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage_run import DatasetUsed
from multilogger.tasks.replay import LOG_FOLDER, load_summary
from multilogger.tasks.train_loggers import load_loggers

ESTIMATED_FILE = "estimated.safetensors"

if TYPE_CHECKING:
    from multilogger.components.actions.arrays import Matrix
    from multilogger.components.actions.space import ActionSpace
    from multilogger.components.datasets.labelled_data import Features
    from multilogger.components.log.disk import StreamedLog
    from multilogger.components.log.files import LogFiles
    from multilogger.components.log.memory import TrainingLog
    from multilogger.components.log.reading import LogBatch


def stream_log(log: Artifact, validation: bool) -> Iterator["LogBatch"]:
    """One side of the split, batch by batch; never the whole log."""
    from multilogger.components.log.reading import read_rows

    return read_rows(files_of_side(log, validation))


def files_of_side(log: Artifact, validation: bool) -> "LogFiles":
    """The files of a log, to be read without the rows of the other side."""
    return replace(open_log_files(log.folder / LOG_FOLDER, contexts_given=True), validation=validation)


def load_training_log(
    data: Artifact, loggers: Artifact, log: Artifact, policies: bool = True
) -> "TrainingLog":
    """The whole log in memory, as the learners take it."""
    from multilogger.components.log.reading import read_training_log

    contexts = load_contexts(data)
    logits = _logger_logits(contexts.x, loggers, log, policies)
    return read_training_log(log.folder / LOG_FOLDER, contexts.x, logits, contexts.truth)


def log_space(log: Artifact) -> "ActionSpace":
    """What the actions of the log are."""
    return space_of(open_log_files(log.folder / LOG_FOLDER, contexts_given=True).dataset.schema)


def count_log(log: Artifact) -> int:
    """The rows of the log, without reading them."""
    return open_log_files(log.folder / LOG_FOLDER, contexts_given=True).rows


def open_learner_log(
    data: Artifact, loggers: Artifact, log: Artifact, policies: bool = True
) -> "StreamedLog":
    """The log left on disk, as the learners take one that is too long for memory; contexts are in memory."""
    from multilogger.components.log.reading import open_streamed_log

    contexts = load_contexts(data)
    logits = _logger_logits(contexts.x, loggers, log, policies)
    return open_streamed_log(log.folder / LOG_FOLDER, contexts.x, logits, contexts.truth)


def _logger_logits(x: "Features", loggers: Artifact, log: Artifact, policies: bool) -> "tuple[Matrix, ...]":
    """Logits of the loggers on all contexts; of estimated ones only if a method asks for `policies`."""
    estimated = loggers.folder / ESTIMATED_FILE
    if not estimated.is_file():
        return tuple(policy.logits(x) for policy in load_loggers(loggers))
    if not policies:
        return ()
    return tuple(policy.logits(x) for policy in load_estimated(estimated, log_space(log)))


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
