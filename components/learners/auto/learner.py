"""The learner of `auto`: the loss model's epochs, those of a contest if one is wanted, then the judgement.

The loss model is an ensemble whose members are each blind to one fold of the contexts. Out of fold it is the
model of the judge and a candidate at once, so that nothing is learned twice: at each context the policy that
is judged has not seen it. Its epoch was chosen by the model's own score on the same contexts, which is the
one thing that they have a say in.

A contest of candidates that learn from weights is wanted where the loss model is not shown to be better by
the evidence that is asked for, and where the loss does not add up over labels. Each of its policies takes one
epoch, and they are judged on the contexts that judge the contest. What is found of the first candidates, on
all contexts, stands. Each candidate has a share of the chance to fail, also where no contest is wanted.
"""

import dataclasses
import math

import numpy as np

from multilogger.components.actions.arrays import Matrix
from multilogger.components.learners.auto.contest import Contest
from multilogger.components.learners.auto.logger_policies import logger_policy
from multilogger.components.learners.auto.method import AutoSettings
from multilogger.components.learners.auto.screening import (
    Candidate,
    Screening,
    of_logger,
    screen,
)
from multilogger.components.learners.direct_method.learner import DirectMethodLearner
from multilogger.components.learners.judging.verdict import Verdict, joined
from multilogger.components.learners.loss_models.blend import StartRecord
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.state import State, module_state
from multilogger.components.log.disk import LearnerLog
from multilogger.components.names import logger_name
from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import PolicyNetwork, network_logits


class AutoLearner:
    """Only the last epoch is eligible: its policy is the chosen one."""

    def __init__(self, log: LearnerLog, settings: AutoSettings, seed: int) -> None:
        self.log, self.settings, self.seed = log, settings, seed
        self.model = DirectMethodLearner(log, False, settings, seed)
        self.network: PolicyNetwork = self.model.network
        self.size: NetworkSize = self.model.size
        self.standardisation = self.model.standardisation
        self.done, self.best_epoch, self.best_score = 0, 0, math.inf
        self.best = State()
        self.contest = Contest(log, settings, seed)
        self.last: EpochRecord | None = None
        self.verdict: Verdict | None = None
        self.screening: Screening | None = None
        self.chosen: Candidate | None = None
        self.judged_by: Matrix | None = None

    @property
    def fitted(self) -> bool:
        """Whether the loss model is."""
        stale = self.done - self.best_epoch >= self.model.patience
        return self.done > 0 and (self.done >= self.model.epochs or stale)

    @property
    def epochs(self) -> int:
        """Those of the loss model, which may stop early, those of the contest, and the last."""
        if not self.fitted:
            return self.model.epochs + 1
        return self.done + (self.contest.total if self.contested else 0) + 1

    @property
    def contested(self) -> bool:
        """Whether a contest is wanted and possible, once the loss model is fitted."""
        return not self._why_no_contest()

    @property
    def patience(self) -> int:
        return self.epochs + 1

    def run_epoch(self) -> None:
        if not self.fitted:
            self.model.run_epoch()
            self.done += 1
        elif self.contested and not self.contest.finished:
            self.last = self.contest.run()
        else:
            self._choose()

    def record(self, epoch: int) -> EpochRecord:
        """Of the loss model while it is fitted, of a contest's policy at its best epoch on its own validation
        rows, and last of the chosen policy, by what it was judged to be.

        `train_risk` is then the least risk that was shown of any candidate, with the confidence asked for.
        """
        if self.verdict is None and self.last is not None:
            return dataclasses.replace(self.last, epoch=epoch, eligible=False)
        if self.verdict is None:
            record = self.model.record(epoch)
            if record.validation_score < self.best_score:
                self.best_epoch, self.best_score = self.done, record.validation_score
                self.best = module_state(self.model.network)
            return dataclasses.replace(record, eligible=False)
        x = self.standardisation(self.log.x)
        counts = self.model.measure.counts
        snapshot = self.model.measure.snapshot(network_logits(self.network, x))
        found = self.verdict
        one = None if found.chosen is None else found.comparisons[found.chosen]
        risk = found.mean_loss - (0.0 if one is None else one.improvement)
        error = 0.0 if one is None else one.standard_error
        return dataclasses.replace(
            self.model.measure.record(epoch, snapshot, counts / counts.sum()),
            train_risk=found.mean_loss - max(other.lower for other in found.comparisons),
            validation_risk=risk,
            validation_score=risk + self.settings.pessimism * error,
            eligible=True,
        )

    def starts(self) -> tuple[StartRecord, ...]:
        """What was found of every start of its loss model."""
        return self.model.starts()

    def blind_logits(self) -> Matrix | None:
        """Those that the chosen policy was judged by; a contest's are blind at the contexts that judge it."""
        return self.judged_by

    def _screen(self) -> Screening:
        """Judge what needs no contest, once."""
        if self.screening is None:
            self.model.network.load_state_dict(self.best.tensors)
            self.screening = screen(self.log, self.model, self.settings, self.seed, self.contest.candidates)
        return self.screening

    def _why_no_contest(self) -> str:
        if not self.contest.possible:
            return "too few contexts" if self.settings.contest else "not asked for"
        found = self._screen()
        return f"{found.candidates[0].name} is shown to be better without" if found.enough else ""

    def _choose(self) -> None:
        """Judge all candidates, and take the chosen one, or the best logger."""
        found, why = self._screen(), self._why_no_contest()
        candidates, verdict = found.candidates, found.verdict
        left_out = dict.fromkeys((one.method.name for one in self.contest.contenders), why) if why else {}
        if not why:
            given = self.model
            later = tuple(
                Candidate(name, network, given.size, given.standardisation, logits)
                for name, network, logits in self.contest.policies(given.x)
            )
            candidates, among = candidates + later, len(candidates) + len(later)
            found_later = found.judge.verdict(later, among, self.contest.judged)
            verdict = joined(verdict, found_later, self.settings.pessimism)
        left_out |= self.contest.left_out | found.left_out
        self.verdict = dataclasses.replace(verdict, left_out=tuple(left_out.items()))
        if verdict.chosen is None:
            best = verdict.best_logger
            chosen = of_logger(logger_name(best), logger_policy(self.log, best, self.seed))
        else:
            chosen = candidates[verdict.chosen]
        self.chosen, self.network, self.size = chosen, chosen.network, chosen.size
        self.standardisation = chosen.standardisation
        self.judged_by = chosen.logits
        if verdict.chosen is not None and verdict.chosen >= len(found.candidates):
            self.judged_by = np.where(self.contest.judged[:, None], chosen.logits, np.nan)

    def notes(self) -> tuple[str, ...]:
        """What was shown, or that nothing was, and what the returned policy is."""
        found = self.verdict
        if found is None or self.screening is None:
            return ()
        sure, name = f"{found.confidence:.0%}", logger_name(found.best_logger)
        lines = []
        if found.chosen is None:
            lines.append(f"improvement: none shown at {sure}; the policy is that of {name}, the best logger")
        else:
            one = found.comparisons[found.chosen]
            lines.append(
                f"improvement: {one.name} loses {one.improvement:.3f} less than {name} "
                f"({found.mean_loss:.3f}), at least {one.shown:.3f} with a confidence of {sure}; evidence: "
                f"{one.shown_by}"
            )
        test = self.screening.judge.test
        if test is not None and not self.screening.judge.adds:
            lines.append(
                f"the loss does not add up over labels (p = {test.p_value:.2g}), so weights of whole "
                "actions alone were evidence"
            )
        if self.chosen is not None and self.chosen.is_copy:
            lines.append(
                f"the log does not have the policy of {name} in a form that can be saved: what acts as it is "
                f"a copy, learned from what it did, and may lose more; keep {name} itself where you can"
            )
        return tuple(lines)

    def state(self) -> State:
        numbers = {"done": self.done, "best_epoch": self.best_epoch, "best_score": self.best_score}
        state = self.model.state().under("model") | self.best.under("best")
        state |= self.contest.state().under("contest")
        return state | State({}, {**numbers, "chosen": float(self.verdict is not None)})

    def restore(self, state: State) -> None:
        self.model.restore(state.below("model"))
        self.best = state.below("best")
        self.done, self.best_epoch = int(state.numbers["done"]), int(state.numbers["best_epoch"])
        self.best_score = state.numbers["best_score"]
        self.contest.restore(state.below("contest"))
        if state.numbers["chosen"]:
            self._choose()
