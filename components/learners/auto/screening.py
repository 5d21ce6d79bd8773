"""The candidates of `auto` that need no contest: the policy of the loss model, and sharper best loggers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.space import GREEDY
from multilogger.components.learners.auto.logger_policies import LoggerPolicy, logger_policy
from multilogger.components.learners.auto.method import AutoSettings
from multilogger.components.learners.direct_method.learner import DirectMethodLearner
from multilogger.components.learners.judging.evidence import Evidence
from multilogger.components.learners.judging.judge import judge
from multilogger.components.learners.judging.own_rows import own_sums
from multilogger.components.learners.judging.verdict import Verdict, best_and_close_loggers, decide
from multilogger.components.learners.loss_models.additivity import (
    AdditivityTest,
    tested_twice,
)
from multilogger.components.learners.loss_models.form import FoldedModel
from multilogger.components.log.disk import LearnerLog
from multilogger.components.names import logger_name
from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import PolicyNetwork
from multilogger.components.policies.policy import Standardisation

SHARPER = {"sharper": 2.0, "greedy": GREEDY}  # versions of the best logger
COPIED = "the logger can only be copied, and a copy has seen the contexts that would judge it"


@dataclass(frozen=True)
class Candidate:
    """A policy as it would be returned, and the logits (m, size) that it is judged by.

    `is_copy` says that it only acts like a logger, or like a sharper one.
    """

    name: str
    network: PolicyNetwork
    size: NetworkSize
    standardisation: Standardisation
    logits: Matrix
    is_copy: bool = False


class Judge:
    """The loss model out of fold and the rows, by which all candidates are judged.

    `adds` says whether the loss may be taken to add up over labels; one of K actions needs no such.
    """

    def __init__(self, log: LearnerLog, model: DirectMethodLearner, settings: AutoSettings) -> None:
        self.log, self.settings = log, settings
        self.p = model.blind_chances()
        self.form = model.model.form
        self.test, self.adds = self._tested()

    def verdict(
        self, candidates: Sequence[Candidate], among: int, contexts: NDArray[np.bool_] | None = None
    ) -> Verdict:
        """What is shown of candidates on some contexts (m,), `among` so many who share the chance to fail."""
        settings, model = self.settings, FoldedModel(self.form, self.p)
        judged = judge(self.log, model, [one.logits for one in candidates], adds=self.adds)
        return decide(
            [one.name for one in candidates],
            judged if contexts is None else judged.at(contexts),
            settings.evidence,
            self.adds,
            settings.confidence,
            settings.pessimism,
            among,
        )

    def _tested(self) -> tuple[AdditivityTest | None, bool]:
        """Whether the loss adds up over labels, as far as the log tells; one of K actions needs no such."""
        if self.settings.evidence is Evidence.WEIGHTS or not self.log.space.action_shape:
            return None, True
        return tested_twice(self.log, self.p)


@dataclass(frozen=True)
class Screening:
    """What is known before a contest: the first candidates, and what is shown of them.

    The first of these is the policy of the loss model. `left_out` has a reason for every candidate that is
    not there.
    """

    judge: Judge
    candidates: tuple[Candidate, ...]
    left_out: dict[str, str]
    verdict: Verdict

    @property
    def enough(self) -> bool:
        """Whether the loss model is shown to be better where it may be: its structure holds."""
        return self.judge.adds and bool(self.verdict.comparisons[0].shown_by)


def screen(
    log: LearnerLog, model: DirectMethodLearner, settings: AutoSettings, seed: int, later: int
) -> Screening:
    """Judge what needs no contest; in one, so many candidates beside these would be judged.

    A copy that was learned from what the logger did, and made sharper, prefers the very actions that it would
    be judged by: noise alone would make it look better. A copy of known chances is surer where it learned
    than where it did not. So a logger's policy has to be known, and of a form that is found again, for these.
    """
    own_judge = Judge(log, model, settings)
    own_rows = own_sums(log)
    best, _ = best_and_close_loggers(own_rows.losses, own_rows.rows)
    sharper = {f"{logger_name(best)}, {word}": sharpness for word, sharpness in SHARPER.items()}
    candidates, left_out = [_of_model(log, model, own_judge.p)], {}
    own = logger_policy(log, best, seed) if log.logger_logits else None
    if own is not None and not own.is_copy:
        candidates += [of_logger(name, own.sharpened(s, log)) for name, s in sharper.items()]
    else:
        left_out = dict.fromkeys(sharper, "the loggers' policies are not known" if own is None else COPIED)
    verdict = own_judge.verdict(candidates, len(candidates) + later)
    return Screening(own_judge, tuple(candidates), left_out, verdict)


def of_logger(name: str, own: LoggerPolicy) -> Candidate:
    return Candidate(name, own.network, own.size, own.standardisation, own.logits, own.is_copy)


def _of_model(log: LearnerLog, model: DirectMethodLearner, p: Matrix) -> Candidate:
    """The greedy policy of the loss model, judged by what it does where it has not been."""
    name = "additive" if log.space.action_shape else "dm"
    return Candidate(name, model.network, model.size, model.standardisation, log.space.sharpened(p, GREEDY))
