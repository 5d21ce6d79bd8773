"""The contest of candidates that learn from weights: each learns from some contexts, others judge it.

Contexts are in four parts, drawn at random. A candidate is learned twice: from the first two parts, and
judged on the third, and from the first three, and judged on the fourth. Model and epoch are chosen without
the part that judges. So what is found of a part depends on no later one, and the errors of both parts do not
go together. With folds that learn from each other they do: what is noise in one is learned by all others.

What is returned of a candidate is the mean of both policies, in chances: of one of K actions its risk is the
mean of the risks that were judged, and so it is of label vectors whose loss adds up. Greedy ones are judged
one by one, and returned as what the mean finds most likely.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.space import GREEDY
from multilogger.components.learners.auto.contenders import CONTENDERS, MOST_ROWS
from multilogger.components.learners.auto.method import AutoSettings
from multilogger.components.learners.judging.verdict import FEWEST_CONTEXTS
from multilogger.components.learners.loss_models.ensemble import context_folds
from multilogger.components.learners.training.loop import Learner, train
from multilogger.components.learners.training.method import Needs
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.state import State, module_state
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.memory import TrainingLog
from multilogger.components.log.reading import thin_log
from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import ENSEMBLES, EnsembleNetwork, PolicyNetwork, network_logits

PARTS, POLICIES = 4, 2
VALIDATION = 4  # every fourth context that is learned from chooses the epoch


class Contest:
    """Two policies of every contender, learned one after the other; `found` are their networks so far.

    Everything follows from the log, the settings and the seed, so that a contest goes on from its networks.
    """

    def __init__(self, log: LearnerLog, settings: AutoSettings, seed: int) -> None:
        self.log, self.settings, self.seed = log, settings, seed
        generator = torch.Generator().manual_seed(seed)
        self.part = context_folds(log.contexts, PARTS, generator).numpy()
        known = bool(log.logger_logits)
        self.left_out = {
            one.method.name: "the loggers' policies are not known"
            for one in CONTENDERS
            if Needs.LOGGER_POLICIES in one.method.needs and not known
        }
        self.contenders = [one for one in CONTENDERS if one.method.name not in self.left_out]
        self.found: list[PolicyNetwork] = []

    @property
    def total(self) -> int:
        """Policies to learn."""
        return POLICIES * len(self.contenders)

    @property
    def candidates(self) -> int:
        """Policies to judge, if any can be learned: each contender as it is, and greedy."""
        return 2 * len(self.contenders) if self.possible else 0

    @property
    def size(self) -> NetworkSize:
        """Of every network of every policy."""
        return self.settings.policy_size

    @property
    def finished(self) -> bool:
        return len(self.found) >= self.total

    @cached_property
    def possible(self) -> bool:
        """Whether it is asked for, there are contexts enough, and rows of every logger on both sides."""
        enough = self.settings.contest and len(np.unique(self.held.context)) >= FEWEST_CONTEXTS
        return enough and all(self._keeps_loggers(*self._rows(k)) for k in range(POLICIES))

    def _keeps_loggers(self, kept: NDArray[np.bool_], validation: NDArray[np.bool_]) -> bool:
        held = self.held
        return all(
            len(np.unique(held.logger[kept & side])) == held.loggers for side in (validation, ~validation)
        )

    @cached_property
    def held(self) -> TrainingLog:
        """The rows that are learned from."""
        return _thinned(self.log, self.seed)

    @property
    def judged(self) -> NDArray[np.bool_]:
        """The contexts that judge: (m,)."""
        return np.asarray(self.part >= PARTS - POLICIES)

    def _learned(self, k: int) -> NDArray[np.bool_]:
        """The contexts that policy k is learned from: (m,)."""
        return np.asarray(self.part < PARTS - POLICIES + k)

    def _rows(self, k: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The rows that policy k is learned from, and which choose its epoch, whole contexts: (n,) each."""
        order = np.random.default_rng([self.seed, k]).permutation(self.log.contexts)
        learned, chosen = self._learned(k), np.zeros(self.log.contexts, dtype=np.bool_)
        chosen[order[learned[order]][::VALIDATION]] = True
        return learned[self.held.context], chosen[self.held.context]

    def _learner(self, number: int) -> Learner:
        contender, k = self.contenders[number // POLICIES], number % POLICIES
        kept, validation = self._rows(k)
        log = _among(self.held, kept, validation)
        return contender.method.build(log, contender.settings(self.settings, log), self.seed)

    def run(self) -> EpochRecord:
        """Learn the next policy, and give the record of its best epoch."""
        learner = self._learner(len(self.found))
        best = train(learner, {}, 0, lambda _: None, None, lambda _: None).best
        self.found.append(learner.network)
        return best

    def policies(self, x: Tensor) -> list[tuple[str, EnsembleNetwork, Matrix]]:
        """The mean of each contender's policies, as it is and greedy, and what they are judged by.

        At contexts x (m, d) that judge these are the logits of the policy that is judged there: (m, size).
        """
        space, found = self.log.space, []
        for number, one in enumerate(self.contenders):
            members = self.found[POLICIES * number : POLICIES * (number + 1)]
            blind = self._blind(members, x)
            sharper = space.sharpened(space.probabilities(blind), GREEDY)
            own = ENSEMBLES[space.name]
            found.append((one.method.name, own(members, space.torch), blind))
            found.append((f"{one.method.name}, greedy", own(members, space.torch, GREEDY), sharper))
        return found

    def _blind(self, members: Sequence[PolicyNetwork], x: Tensor) -> Matrix:
        logits = network_logits(members[0], x)
        for k, member in enumerate(members):
            own = self.part == PARTS - POLICIES + k
            logits[own] = network_logits(member, x[torch.from_numpy(own)])
        return logits

    def state(self) -> State:
        state = State({}, {"found": len(self.found)})
        for number, network in enumerate(self.found):
            state |= module_state(network).under(f"policy-{number}")
        return state

    def restore(self, state: State) -> None:
        self.found = []
        for number in range(int(state.numbers["found"])):
            network = self._learner(number).network
            network.load_state_dict(state.below(f"policy-{number}").tensors)
            self.found.append(network.eval())


def _among(log: TrainingLog, rows: NDArray[Any], validation: NDArray[np.bool_]) -> TrainingLog:
    """Some rows of a log; `validation` (n,) is of all rows."""
    return replace(
        log,
        context=log.context[rows],
        action=log.action[rows],
        delta=log.delta[rows],
        log_propensities=log.log_propensities[rows],
        logger=log.logger[rows],
        validation=validation[rows],
    )


def _thinned(log: LearnerLog, seed: int) -> TrainingLog:
    """At most so many rows as are learned from, or one of each logger and side where that is none."""
    if isinstance(log, StreamedLog):
        return thin_log(log, min(MOST_ROWS, log.rows), seed)
    if log.rows <= MOST_ROWS:
        return log
    kept = []
    order = np.random.default_rng(seed).permutation(log.rows)
    for j in range(log.loggers):
        for side in (log.validation, ~log.validation):
            own = order[(log.logger == j)[order] & side[order]]
            kept.append(own[: max(1, len(own) * MOST_ROWS // log.rows)])
    return _among(log, np.sort(np.concatenate(kept)), log.validation)
