"""The methods `naive-exact`, `weighted-exact` and `balanced-exact`: the constraint in closed form.

Not in the paper. The loggers' policies must be known. kappa counts from the least constraint there is (for
naive a D_f of 64 on digits, 6.5 on Scene, 5 on Yeast, for balanced of 0.9 to 1).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from multilogger.components.learners.ips.method import WeightedSettings
from multilogger.components.learners.training.about import About
from multilogger.components.learners.training.method import Group, Method, Needs
from multilogger.components.learners.training.settings import (
    BatchSettings,
    NetworkSettings,
    RiskSettings,
    Settings,
)

if TYPE_CHECKING:
    from multilogger.components.learners.training.loop import Learner
    from multilogger.components.learners.training.method import Build
    from multilogger.components.log.disk import LearnerLog

KAPPA = About("bound of the divergence's excess over the least one", above=0)


@dataclass(frozen=True)
class MultiplierSettings(Settings):
    """The constraint and its dual variable."""

    kappa: Annotated[float, KAPPA] = 650.0
    warm_up_epochs: Annotated[int, About("first epochs, which descend the risk alone", least=0)] = 10
    multiplier_rate: Annotated[float, About("rate of the multiplier, after the warm-up epochs", above=0)] = (
        1.0
    )
    constraint_tolerance: Annotated[
        float, About("share by which 1 + the divergence of the chosen epoch may exceed its bound", least=0)
    ] = 0.05


@dataclass(frozen=True)
class LargeBatchSettings(NetworkSettings, BatchSettings):
    """Twice the batch of the other methods and half their patience, of little effect on validation."""

    batch_size: Annotated[int, About("rows of each logger a step", least=1)] = 1000
    patience: Annotated[int, About("epochs without a better score that end the training", least=1)] = 15


@dataclass(frozen=True)
class ExactSettings(MultiplierSettings, LargeBatchSettings, RiskSettings):
    """Of naive-exact."""


@dataclass(frozen=True)
class WeightedExactSettings(MultiplierSettings, LargeBatchSettings, WeightedSettings):
    """With lambda*, in the constraint as well."""

    kappa: Annotated[float, KAPPA] = 24.0


@dataclass(frozen=True)
class BalancedExactSettings(ExactSettings):
    """From h_avg."""

    kappa: Annotated[float, KAPPA] = 9.7


def _build(estimator: str) -> "Build":
    def build(log: "LearnerLog", settings: ExactSettings | WeightedExactSettings, seed: int) -> "Learner":
        from multilogger.components.learners.exact.exact import ExactLearner
        from multilogger.components.learners.training.objectives import OBJECTIVES

        return ExactLearner(log, OBJECTIVES[estimator], settings, seed)

    return build


KNOWN = frozenset({Needs.LOGGER_POLICIES})
NAIVE_EXACT = Method(
    "naive-exact", "Naive-Exact", Group.EXACT, ExactSettings, _build("naive"), KNOWN, twin="naive"
)
WEIGHTED_EXACT = Method(
    "weighted-exact",
    "Weighted-Exact",
    Group.EXACT,
    WeightedExactSettings,
    _build("weighted"),
    KNOWN,
    twin="weighted",
)
BALANCED_EXACT = Method(
    "balanced-exact",
    "Balanced-Exact",
    Group.EXACT,
    BalancedExactSettings,
    _build("balanced"),
    KNOWN | {Needs.ALL_PROPENSITIES},
    twin="balanced",
)
