"""The methods by name, and `learn`, the one way to run any of them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from multilogger.components.errors import BadInput
from multilogger.components.learners.additive.additive import AdditiveLearner
from multilogger.components.learners.dr.dr import DoublyRobustLearner
from multilogger.components.learners.exact.exact import ExactLearner
from multilogger.components.learners.full_information import FullInformationLearner
from multilogger.components.learners.ips.direct import DirectLearner
from multilogger.components.learners.training.loop import Learner, OnEpoch, train
from multilogger.components.learners.training.objectives import BALANCED, NAIVE, WEIGHTED, Objective
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.settings import LearnerSettings, recorded_settings
from multilogger.components.learners.wcrm.wcrm import WCRMLearner
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.policies.policy import LearnedPolicy

Build = Callable[[LearnerLog, LearnerSettings, int], Learner]


def _direct(objective: Objective) -> Build:
    return lambda log, settings, seed: DirectLearner(log, objective, False, settings, seed)


def _constrained(objective: Objective) -> Build:
    return lambda log, settings, seed: DirectLearner(log, objective, True, settings, seed)


def _exact(objective: Objective) -> Build:
    return lambda log, settings, seed: ExactLearner(log, objective, settings, seed)


def _additive(soft: bool) -> Build:
    return lambda log, settings, seed: AdditiveLearner(log, soft, settings, seed)


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


@dataclass(frozen=True)
class Learned:
    """A learned policy, the record of the epoch it comes from, and the records of all epochs."""

    policy: LearnedPolicy
    best: EpochRecord
    records: tuple[EpochRecord, ...]


def learn(
    method: str,
    log: LearnerLog,
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
    learner = METHODS[method](log, settings, seed)
    run = _run_facts(method, log, settings, seed)
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


def _run_facts(method: str, log: LearnerLog, settings: LearnerSettings, seed: int) -> dict[str, object]:
    """What a checkpoint must agree in with the run that goes on from it."""
    facts: dict[str, object] = {
        "method": method,
        "seed": seed,
        "settings": recorded_settings(settings),
        "log": [log.rows, log.contexts, log.features, log.labels, log.loggers, log.total_delta],
    }
    return facts | {"streamed": True} if isinstance(log, StreamedLog) else facts


def planned_epochs(method: str, settings: LearnerSettings) -> int:
    """How many epochs a method makes of a log, unless it stops early."""
    if method == "wcrm":
        return len(settings.wcrm_clips) * len(settings.wcrm_variances) * len(settings.wcrm_l2s)
    if method == "dr":
        return settings.model_epochs + settings.epochs
    return settings.epochs + (settings.warm_start > 0)


def _say_nothing(record: EpochRecord) -> None:
    """For callers that want no progress."""
