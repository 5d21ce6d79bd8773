"""The constrained learner: after each step of direct learning comes the constraint loop (Algorithm 1)."""

from multilogger.components.learners.ips.direct import DirectLearner
from multilogger.components.learners.reg.constraint import Constraint
from multilogger.components.learners.reg.draws import open_draws
from multilogger.components.learners.reg.method import RegSettings, WeightedRegSettings
from multilogger.components.learners.training.objectives import Objective, rules_of
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.state import State
from multilogger.components.log.disk import LearnerLog


class ConstrainedLearner(DirectLearner):
    """A network policy that descends R_mini, and after each step the divergence where it exceeds kappa."""

    def __init__(
        self, log: LearnerLog, objective: Objective, settings: RegSettings | WeightedRegSettings, seed: int
    ) -> None:
        floor = settings.constraint_floor if isinstance(settings, WeightedRegSettings) else 0.0
        super().__init__(log, objective, settings, seed, rules_of(settings, settings.kappa, floor))
        self.constraint = Constraint(
            self.network, self.x, open_draws(log, self.rows), log, self.measure, settings, seed
        )

    def start_epoch(self) -> None:
        self.constraint.start_epoch(self.shares)

    def after_step(self) -> None:
        self.constraint.enforce()

    def record(self, epoch: int) -> EpochRecord:
        known, pulled = self.constraint.variational(), self.constraint.pulled()
        return self.measure.record(epoch, self.look(), self.shares, known, pulled=pulled)

    def state(self) -> State:
        return super().state() | self.constraint.state().under("constraint")

    def restore(self, state: State) -> None:
        super().restore(state)
        self.constraint.restore(state.below("constraint"))
