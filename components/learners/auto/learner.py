"""The learner of `auto`: first the loss model's epochs, then one in which all candidates are judged.

The loss model is an ensemble whose members are each blind to one fold of the contexts. Out of fold it is the
model of the judge and a candidate at once, so that nothing is learned twice: at each context the policy that
is judged has not seen it. Its epoch was chosen by the model's own score on the same contexts, which is the
one thing that they have a say in.
"""

import dataclasses
import math

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.space import GREEDY
from multilogger.components.learners.auto.evidence import Evidence
from multilogger.components.learners.auto.judge import judge
from multilogger.components.learners.auto.logger_policies import logger_policy
from multilogger.components.learners.auto.lots import own_losses
from multilogger.components.learners.auto.method import AutoSettings
from multilogger.components.learners.auto.verdict import Verdict, best_logger, decide
from multilogger.components.learners.direct_method.learner import DirectMethodLearner
from multilogger.components.learners.loss_models.additivity import AdditivityTest, additivity_test
from multilogger.components.learners.loss_models.blend import StartRecord
from multilogger.components.learners.loss_models.form import FoldedModel
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.state import State, module_state
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.reading import thin_log
from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import PolicyNetwork
from multilogger.components.policies.policy import Standardisation, network_logits

SHARPER = {"sharper": 2.0, "greedy": GREEDY}  # versions of the best logger
TESTED_ROWS = 200_000  # of a log on disk, for the test of additivity
TESTED_NUMBERS = 20_000_000  # the labels of those rows


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A policy as it would be returned, and the logits (m, size) that it is judged by."""

    name: str
    network: PolicyNetwork
    size: NetworkSize
    standardisation: Standardisation
    logits: Matrix


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
        self.verdict: Verdict | None = None
        self.test: AdditivityTest | None = None
        self.is_copy = False

    @property
    def fitted(self) -> bool:
        """Whether the loss model is."""
        stale = self.done - self.best_epoch >= self.model.patience
        return self.done > 0 and (self.done >= self.model.epochs or stale)

    @property
    def epochs(self) -> int:
        """Those of the loss model, which may stop early, and the last."""
        return self.done + 1 if self.fitted else self.model.epochs + 1

    @property
    def patience(self) -> int:
        return self.epochs + 1

    def run_epoch(self) -> None:
        if self.fitted:
            self._choose()
        else:
            self.model.run_epoch()
            self.done += 1

    def record(self, epoch: int) -> EpochRecord:
        """Of the loss model while it is fitted; last of the chosen policy, by what it was judged to be.

        `train_risk` is then the least risk that was shown of any candidate, with the confidence asked for.
        """
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

    def _choose(self) -> None:
        """Judge all candidates, and take the chosen one, or the best logger."""
        self.model.network.load_state_dict(self.best.tensors)
        p = self.model.blind_chances()
        losses, rows = own_losses(self.log)
        best, _ = best_logger(losses, rows)
        own = logger_policy(self.log, best, self.model.measure, self.seed)
        name = f"logger-{best + 1}"
        logger = Candidate(name, own.network, own.size, own.standardisation, own.logits)
        candidates = [self._of_model(p)]
        for word, sharpness in SHARPER.items():
            sharp = own.sharpened(sharpness, self.log)
            candidates.append(
                Candidate(f"{name}, {word}", sharp.network, sharp.size, sharp.standardisation, sharp.logits)
            )
        judged = judge(self.log, FoldedModel(self.model.model.form, p), [one.logits for one in candidates])
        self.verdict = decide(
            [one.name for one in candidates],
            judged,
            self.settings.evidence,
            self._structure_holds(p),
            self.settings.confidence,
            self.settings.pessimism,
        )
        chosen = logger if self.verdict.chosen is None else candidates[self.verdict.chosen]
        self.network, self.size = chosen.network, chosen.size
        self.standardisation = chosen.standardisation
        self.is_copy = own.is_copy and chosen.name.startswith(name)

    def _of_model(self, p: Matrix) -> Candidate:
        """The greedy policy of the loss model, judged by what it does where it has not been."""
        name = "additive" if self.log.space.action_shape else "dm"
        blind = self.log.space.sharpened(p, GREEDY)
        return Candidate(name, self.model.network, self.model.size, self.model.standardisation, blind)

    def _structure_holds(self, p: Matrix) -> bool:
        """Whether the loss adds up over labels, as far as the log tells; one of K actions needs no such."""
        if self.settings.evidence is Evidence.WEIGHTS:
            return False
        if not self.log.space.action_shape:
            return True
        held = self.log
        if isinstance(held, StreamedLog):
            held = thin_log(held, min(TESTED_ROWS, TESTED_NUMBERS // held.space.size, held.rows))
        self.test = additivity_test(held, p)
        return not self.test.rejected

    def notes(self) -> tuple[str, ...]:
        """What was shown, or that nothing was, and what the returned policy is."""
        found = self.verdict
        if found is None:
            return ()
        sure, name = f"{found.confidence:.0%}", f"logger-{found.best_logger + 1}"
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
        if self.test is not None and self.test.rejected:
            lines.append(
                f"the loss does not add up over labels (p = {self.test.p_value:.2g}), so weights of whole "
                "actions alone were evidence"
            )
        if self.is_copy:
            lines.append(
                f"the log does not have the policy of {name} in a form that can be saved: what acts as it is "
                "a copy, learned from what it did"
            )
        return tuple(lines)

    def state(self) -> State:
        numbers = {"done": self.done, "best_epoch": self.best_epoch, "best_score": self.best_score}
        state = self.model.state().under("model") | self.best.under("best")
        return state | State({}, {**numbers, "chosen": float(self.verdict is not None)})

    def restore(self, state: State) -> None:
        self.model.restore(state.below("model"))
        self.best = state.below("best")
        self.done, self.best_epoch = int(state.numbers["done"]), int(state.numbers["best_epoch"])
        self.best_score = state.numbers["best_score"]
        if state.numbers["chosen"]:
            self._choose()
