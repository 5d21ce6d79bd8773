"""What MLflow lists as the dataset of a run: the bandit log that it learned from."""

from collections.abc import Mapping

from multilogger.tasks.dataset_files import load_facts
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.dataset_used import DatasetUsed
from multilogger.tasks.replay import load_summary


def bandit_log_used(inputs: Mapping[str, Artifact]) -> DatasetUsed | None:
    """The bandit log among a stage's inputs `data` and `log`; None if it has none.

    Its digest is that of the log, so runs on the same log show the same dataset.
    """
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
