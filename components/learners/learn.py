"""`learn`, the one way to run any method."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from multilogger.components.actions.arrays import Matrix
from multilogger.components.errors import BadInput
from multilogger.components.learners.exact.method import MultiplierSettings
from multilogger.components.learners.judging.guard import Guard, guard
from multilogger.components.learners.judging.verdict import Verdict
from multilogger.components.learners.loss_models.blend import StartRecord
from multilogger.components.learners.methods import find_method
from multilogger.components.learners.reg.method import ConstraintSettings
from multilogger.components.learners.training.checkpoint import Say
from multilogger.components.learners.training.loop import OnEpoch, train
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.settings import Settings, plain_settings
from multilogger.components.log.checks import check_varied
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.memory import TrainingLog
from multilogger.components.policies.policy import LearnedPolicy


@dataclass(frozen=True)
class Learned:
    """A learned policy, the record of the epoch it comes from, and the records of all epochs.

    `notes` is what a person should know of the run, a sentence each. `blind_chances` is what the policy's
    loss model says of every context (m, size), by the member that has not seen it; None where there is no
    such model. `verdict` is what a method that chooses among candidates found of each, `starts` what a loss
    model with several starts did, `guard` how the policy stands against the best logger. `blind_logits` are
    those of a policy that was fitted to validation rows too, at every context (m, size) by the part of it
    that has not seen the context; NaN where there is no such part, None of other policies.
    """

    policy: LearnedPolicy
    best: EpochRecord
    records: tuple[EpochRecord, ...]
    notes: tuple[str, ...] = ()
    blind_chances: Matrix | None = None
    verdict: Verdict | None = None
    starts: tuple[StartRecord, ...] = ()
    guard: Guard | None = None
    blind_logits: Matrix | None = None

    @property
    def doubts(self) -> tuple[str, ...]:
        """The notes but for what a method that chooses among candidates shows of the chosen one."""
        shown = self.verdict is not None and self.verdict.chosen is not None
        return self.notes[1:] if shown else self.notes


@runtime_checkable
class HasVerdict(Protocol):
    """A learner that chooses among candidates."""

    verdict: Verdict | None

    def notes(self) -> tuple[str, ...]:
        """What was shown of them, a sentence each."""


@runtime_checkable
class HasLossModel(Protocol):
    """A learner with a model of the loss."""

    def blind_chances(self) -> Matrix:
        """What the model says of every context by who has not seen it: (m, size)."""


@runtime_checkable
class MaySeeValidation(Protocol):
    """A learner that may fit its policy to validation rows too."""

    def blind_logits(self) -> Matrix | None:
        """See `Learned`."""


@runtime_checkable
class HasStarts(Protocol):
    """A learner whose model of the loss may have several starts."""

    def starts(self) -> tuple[StartRecord, ...]:
        """Of a loss model with several starts, what was found of each."""


def learn(
    method: str,
    log: LearnerLog,
    settings: Settings,
    seed: int,
    on_epoch: OnEpoch | None = None,
    checkpoint: Path | None = None,
    say: Say | None = None,
) -> Learned:
    """Learn a policy from a log; the validation split chooses the epoch, no test data is ever seen.

    `settings` are of the method's own class. Of a `StreamedLog` no more than `memory_rows` rows are ever in
    memory, in shuffle buffers. `checkpoint` is a folder: a run that was killed goes on from the last
    checkpoint in it, and ends with the same bits as one that was not. `say` is told where one is damaged.
    """
    registered = find_method(method)
    if not isinstance(settings, registered.settings):
        wanted, given = registered.settings.__name__, type(settings).__name__
        raise BadInput(f"{method} takes {wanted}, got {given}; make one of the method's own settings")
    registered.check_space(log.space.name)
    if isinstance(log, TrainingLog) and not registered.saw_labels and len(log.delta):
        check_varied(log.delta)
    learner = registered.build(log, settings, seed)
    run = _run_facts(method, log, settings, seed)
    on_epoch, say = on_epoch or _say_nothing, say or _say_nothing
    with np.errstate(over="ignore", invalid="ignore"):  # `train` tells of it
        progress = train(learner, run, settings.checkpoint_every, on_epoch, checkpoint, say)
    policy = LearnedPolicy(
        network=learner.network.eval(),
        size=learner.size,
        standardisation=learner.standardisation,
        space=log.space,
        method=method,
        seed=seed,
        settings=plain_settings(settings),
    )
    notes = _notes(method, settings, progress.best, progress.records)
    chances = learner.blind_chances() if isinstance(learner, HasLossModel) else None
    starts = learner.starts() if isinstance(learner, HasStarts) else ()
    blind_logits = learner.blind_logits() if isinstance(learner, MaySeeValidation) else None
    learned = Learned(
        policy, progress.best, progress.records, notes, chances, starts=starts, blind_logits=blind_logits
    )
    if isinstance(learner, HasVerdict):
        return replace(learned, notes=(*learner.notes(), *notes), verdict=learner.verdict)
    if registered.saw_labels:
        return learned
    return replace(learned, guard=guard(log, policy.logits(log.x), chances, blind_logits))


def _run_facts(method: str, log: LearnerLog, settings: Settings, seed: int) -> dict[str, object]:
    """What a checkpoint must agree in with the run that goes on from it."""
    facts: dict[str, object] = {
        "method": method,
        "seed": seed,
        "settings": plain_settings(settings),
        "log": [log.rows, log.contexts, log.features, log.space.size, log.loggers, log.total_delta],
    }
    return facts | {"streamed": True} if isinstance(log, StreamedLog) else facts


def _say_nothing(_: object) -> None:
    """For callers that want no progress."""


def _notes(
    method: str, settings: Settings, best: EpochRecord, records: tuple[EpochRecord, ...]
) -> tuple[str, ...]:
    """A constraint that did nothing, and a policy that the guard of model selection would not have chosen."""
    notes = []
    never = all(record.pulled == 0 or math.isnan(record.pulled) for record in records)
    if never and isinstance(settings, ConstraintSettings | MultiplierSettings):
        remedy = f"a kappa below {settings.kappa:g} may bind"
        if isinstance(settings, MultiplierSettings) and len(records) <= settings.warm_up_epochs:
            remedy = f"it counts after {settings.warm_up_epochs} epochs (warm_up_epochs) only"
        notes.append(
            f"the constraint of {method} never moved the policy, so this is the direct method's; {remedy}"
        )
    if not best.eligible:
        notes.append(
            f"no epoch of {method} passed the guard of model selection (mean weight, effective rows, the "
            "constraint); the policy is the best of those that did not: do not trust its estimates"
        )
    return tuple(notes)
