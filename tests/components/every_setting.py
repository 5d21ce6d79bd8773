"""The settings of all methods in one, for tests that run every method alike."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from multilogger.components.learners import learn as learning
from multilogger.components.learners.additive_ips.method import AdditiveIpsSettings
from multilogger.components.learners.auto.method import AutoSettings
from multilogger.components.learners.dr.method import DrSettings
from multilogger.components.learners.exact.method import MultiplierSettings, WeightedExactSettings
from multilogger.components.learners.full_information.method import FullInformationSettings
from multilogger.components.learners.learn import Learned
from multilogger.components.learners.loss_models.settings import Start
from multilogger.components.learners.methods import METHODS, reads
from multilogger.components.learners.reg.method import WeightedRegSettings
from multilogger.components.learners.smooth.method import IxSettings, LsSettings
from multilogger.components.learners.training.loop import OnEpoch
from multilogger.components.learners.training.objectives import Rules, rules_of
from multilogger.components.learners.training.settings import Settings, settings_about
from multilogger.components.learners.wcrm.method import WcrmSettings
from multilogger.components.log.disk import LearnerLog

LABEL_METHODS = [name for name, method in METHODS.items() if "labels" in method.spaces]
ONE_OF_METHODS = [name for name, method in METHODS.items() if "one-of" in method.spaces]


@dataclass(frozen=True)
class EverySetting(
    WeightedRegSettings,
    MultiplierSettings,
    WcrmSettings,
    DrSettings,
    FullInformationSettings,
    AutoSettings,
    LsSettings,
    IxSettings,
    AdditiveIpsSettings,
):
    """A method takes of it what it reads."""

    hidden: tuple[int, ...] = (10,)
    batch_norm: bool = True
    standardise: bool = False
    risk_rate: float = 1e-4
    weight_decay: float = 0.0
    epochs: int = 300
    patience: int = 50
    kappa: float = 10.0
    regulariser_rate: float = 1e-4
    discriminator_rate: float = 2.5e-4
    discriminator_batch_norm: bool = True
    inner_iterations: int = 5
    wcrm_clips: tuple[float, ...] = (10.0, 30.0, 100.0)
    wcrm_variances: tuple[float, ...] = (0.1, 1.0)
    wcrm_l2s: tuple[float, ...] = (1e-3, 1e-2, 1e-1)
    input_dropout: float = 0.0
    policy_rate: float = 3e-4
    start: Start = Start.SCRATCH
    fit_all: bool = False
    ensemble: bool = False
    contest: bool = False
    context_batch: int = 128
    hidden_dropout: float = 0.0

    def __post_init__(self) -> None:
        """Methods check what they take."""

    def of(self, method: str) -> Settings:
        """The settings of a method."""
        kind = METHODS[method].settings
        return kind(**{name: getattr(self, name) for name in settings_about(kind)})

    def exact(self) -> WeightedExactSettings:
        found = self.of("weighted-exact")
        assert isinstance(found, WeightedExactSettings)
        return found

    @property
    def rules(self) -> Rules:
        return rules_of(self, self.kappa, self.constraint_floor)

    def rules_of(self, method: str) -> Rules:
        """What a method goes by; one without a constraint has no kappa."""
        kappa = self.kappa if reads(method, "kappa") else math.nan
        floor = self.constraint_floor if reads(method, "constraint_floor") else 0.0
        return rules_of(self.of(method), kappa, floor)


def learn(
    method: str,
    log: LearnerLog,
    settings: EverySetting,
    seed: int,
    on_epoch: OnEpoch | None = None,
    checkpoint: Path | None = None,
    say: Callable[[str], None] | None = None,
) -> Learned:
    """`learn` with what the method reads of the settings."""
    return learning.learn(method, log, settings.of(method), seed, on_epoch, checkpoint, say)
