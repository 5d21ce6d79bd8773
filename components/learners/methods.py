"""The methods by name, and `learn`, the one way to run any of them."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from multilogger.components.errors import BadInput
from multilogger.components.learners.additive import AdditiveLearner
from multilogger.components.learners.direct import DirectLearner
from multilogger.components.learners.dr import DoublyRobustLearner
from multilogger.components.learners.epoch_record import EpochRecord
from multilogger.components.learners.exact import ExactLearner
from multilogger.components.learners.full_information import FullInformationLearner
from multilogger.components.learners.learned_policy import LearnedPolicy
from multilogger.components.learners.objectives import BALANCED, NAIVE, WEIGHTED, Objective
from multilogger.components.learners.settings import LearnerSettings, newer_and_unused
from multilogger.components.learners.streamed import StreamedLearner
from multilogger.components.learners.streamed_log import StreamedLog
from multilogger.components.learners.training import Learner, OnEpoch, train
from multilogger.components.learners.training_log import TrainingLog
from multilogger.components.learners.wcrm import WCRMLearner

Build = Callable[[TrainingLog, LearnerSettings, int], Learner]
BuildStreamed = Callable[[StreamedLog, LearnerSettings, int], Learner]


def _direct(objective: Objective) -> Build:
    return lambda log, settings, seed: DirectLearner(log, objective, False, settings, seed)


def _streamed(objective: Objective) -> BuildStreamed:
    return lambda log, settings, seed: StreamedLearner(log, objective, settings, seed)


def _constrained(objective: Objective) -> Build:
    return lambda log, settings, seed: DirectLearner(log, objective, True, settings, seed)


def _additive(soft: bool) -> Build:
    return lambda log, settings, seed: AdditiveLearner(log, soft, settings, seed)


def _exact(objective: Objective) -> Build:
    return lambda log, settings, seed: ExactLearner(log, objective, settings, seed)


METHODS: dict[str, Build] = {
    "naive": _direct(NAIVE),
    "weighted": _direct(WEIGHTED),
    "balanced": _direct(BALANCED),
    "naive-reg": _constrained(NAIVE),
    "weighted-reg": _constrained(WEIGHTED),
    "balanced-reg": _constrained(BALANCED),
    "naive-exact": _exact(NAIVE),
    "weighted-exact": _exact(WEIGHTED),
    "balanced-exact": _exact(BALANCED),
    "wcrm": WCRMLearner,
    "additive": _additive(soft=False),
    "additive-soft": _additive(soft=True),
    "dr": DoublyRobustLearner,
    "full-information": FullInformationLearner,
}

STREAMED_METHODS: dict[str, BuildStreamed] = {
    "naive": _streamed(NAIVE),
    "weighted": _streamed(WEIGHTED),
    "balanced": _streamed(BALANCED),
}
"""Those that can learn from a log that is not in memory."""


@dataclass(frozen=True)
class Learned:
    """A learned policy, the record of the epoch it comes from, and the records of all epochs."""

    policy: LearnedPolicy
    best: EpochRecord
    records: tuple[EpochRecord, ...]


def learn(
    method: str,
    log: TrainingLog | StreamedLog,
    settings: LearnerSettings,
    seed: int,
    on_epoch: OnEpoch | None = None,
    checkpoint: Path | None = None,
) -> Learned:
    """Learn a policy from a log; the validation split chooses the epoch, no test data is ever seen.

    Of a `StreamedLog` no more than `memory_rows` rows are ever in memory, in shuffle buffers.
    `checkpoint` is a folder: a run that was killed goes on from the last checkpoint in it, and ends with the
    same bits as one that was not.
    """
    if method not in METHODS:
        raise BadInput(f"unknown method {method!r}; choose one of {', '.join(METHODS)}")
    if isinstance(log, StreamedLog):
        check_streams(method, log.rows, settings.memory_rows)
        learner = STREAMED_METHODS[method](log, settings, seed)
    else:
        learner = METHODS[method](log, settings, seed)
    run: dict[str, object] = {
        "method": method,
        "seed": seed,
        "settings": {
            name: v for name, v in asdict(settings).items() if name not in newer_and_unused(settings)
        },
        "log": [log.rows, log.contexts, log.features, log.labels, log.loggers, log.total_delta],
    }
    if isinstance(log, StreamedLog):
        run["streamed"] = True
    progress = train(learner, run, settings.checkpoint_every, on_epoch or _say_nothing, checkpoint)
    policy = LearnedPolicy(
        network=learner.network.eval(),
        size=learner.size,
        standardisation=learner.standardisation,
        labels=log.labels,
        method=method,
        seed=seed,
        settings=settings,
    )
    return Learned(policy, progress.best, progress.records)


def check_streams(method: str, rows: int, memory_rows: int) -> None:
    """Refuse a method that needs in memory a log that is not to be held there."""
    if method not in STREAMED_METHODS:
        raise BadInput(
            f"{method} needs the whole log in memory, got {rows} rows with learn.memory_rows={memory_rows}; "
            f"raise learn.memory_rows, or choose a method that streams: {', '.join(STREAMED_METHODS)}"
        )


def _say_nothing(record: EpochRecord) -> None:
    """For callers that want no progress."""
