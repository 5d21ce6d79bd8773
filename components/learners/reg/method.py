"""The constrained methods `naive-reg`, `weighted-reg` and `balanced-reg` (section 4, Algorithms 1 and 2).

The risk of the direct method subject to sum_j c_j D_f(h||h_j) <= kappa, or D_f(h||h_avg) <= kappa, where D_f
is estimated by discriminators.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from multilogger.components.learners.ips.method import WeightedSettings
from multilogger.components.learners.training.about import MOST_RATE, About
from multilogger.components.learners.training.method import Group, Method, Needs
from multilogger.components.learners.training.settings import DivergenceKind, RiskSettings, Settings
from multilogger.components.policies.network_size import NetworkSize

if TYPE_CHECKING:
    from multilogger.components.learners.training.loop import Learner
    from multilogger.components.learners.training.method import Build
    from multilogger.components.log.disk import LearnerLog


@dataclass(frozen=True)
class ConstraintSettings(Settings):
    """The constraint and its discriminators.

    kappa is on the discriminators' scale, far below d_2. Who asks for a constraint gets one that binds: of
    the kappas and temperatures tried, the default moves the policy in nearly every epoch and costs the least
    validation score against the direct twin.
    """

    divergence: Annotated[DivergenceKind, About("variational or exact")] = DivergenceKind.VARIATIONAL
    kappa: Annotated[
        float, About("bound of the divergence; without a constraint, the method is its direct twin", above=0)
    ] = 0.5
    tau: Annotated[float, About("temperature of the relaxed samples", above=0)] = 1.0
    regulariser_rate: Annotated[
        float, About("rate of the policy (Algorithm 2, step 4)", above=0, most=MOST_RATE)
    ] = 1e-3
    discriminator_rate: Annotated[
        float, About("rate of the discriminator (Algorithm 2, step 5)", above=0, most=MOST_RATE)
    ] = 1e-3
    discriminator_hidden: Annotated[
        tuple[int, ...], About("nodes of each hidden layer of the discriminator", least=1)
    ] = (59,)
    discriminator_batch_norm: Annotated[
        bool, About("BatchNorm after each hidden layer of the discriminator")
    ] = False
    inner_iterations: Annotated[int, About("rounds of Algorithm 2 a step, at most", least=1)] = 1
    warm_up_steps: Annotated[int, About("steps of the discriminator before the first epoch", least=0)] = 200
    minimum_steps: Annotated[int, About("rounds even where the constraint holds", least=1)] = 1
    moving_average: Annotated[
        float, About("what the average of divergences keeps of its past", least=0, below=1)
    ] = 0.9

    @property
    def discriminator_size(self) -> NetworkSize:
        return NetworkSize(self.discriminator_hidden, self.discriminator_batch_norm)


@dataclass(frozen=True)
class RegSettings(ConstraintSettings, RiskSettings):
    """Of naive-reg."""


@dataclass(frozen=True)
class WeightedRegSettings(ConstraintSettings, WeightedSettings):
    """With lambda*, in the constraint as well."""

    constraint_floor: Annotated[
        float,
        About("least share n_j lambda_j of a logger in the constraint, 0 for none", least=0, below=1),
    ] = 0.0


@dataclass(frozen=True)
class BalancedRegSettings(RegSettings):
    """D_f(h||h_avg) is at most about 1 for a policy like either of two loggers: half the kappa binds."""

    kappa: Annotated[
        float, About("bound of the divergence; without a constraint, the method is its direct twin", above=0)
    ] = 0.25


def _build(estimator: str) -> "Build":
    def build(log: "LearnerLog", settings: RegSettings | WeightedRegSettings, seed: int) -> "Learner":
        from multilogger.components.learners.reg.constraint import ConstrainedLearner
        from multilogger.components.learners.training.objectives import OBJECTIVES

        return ConstrainedLearner(log, OBJECTIVES[estimator], settings, seed)

    return build


NAIVE_REG = Method("naive-reg", "Naive-Reg", Group.CONSTRAINED, RegSettings, _build("naive"), twin="naive")
WEIGHTED_REG = Method(
    "weighted-reg",
    "Weighted-Reg",
    Group.CONSTRAINED,
    WeightedRegSettings,
    _build("weighted"),
    twin="weighted",
)
BALANCED_REG = Method(
    "balanced-reg",
    "Balanced-Reg",
    Group.CONSTRAINED,
    BalancedRegSettings,
    _build("balanced"),
    needs=frozenset({Needs.ALL_PROPENSITIES, Needs.LOGGER_POLICIES}),
    twin="balanced",
)
