"""Every number of training, with the paper's value as the default where the paper prints one."""

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from multilogger.components.errors import BadInput
from multilogger.components.losses import find_loss
from multilogger.components.network_size import NetworkSize


class LossShift(StrEnum):
    """What is subtracted from delta in the objective; reported risks always use delta itself.

    A literal IPS objective with delta >= 0 falls when the policy merely avoids the logged actions. `poem`
    subtracts the largest loss, so that every logged action attracts; `baseline` subtracts the mean loss of
    the better logger, so that actions better than it attract and the others repel; `running` subtracts the
    self-normalised risk of the current policy on the training split, recomputed with lambda* once an epoch.
    """

    NONE = "none"
    POEM = "poem"
    BASELINE = "baseline"
    RUNNING = "running"


class Weights(StrEnum):
    """h/h_j as it is, cut at `clip`, or (after that cut) divided by its mean over the mini-batch."""

    RAW = "raw"
    CLIP = "clip"
    SELF_NORMALISED = "self-normalised"


class DivergenceKind(StrEnum):
    """Which divergence the constraint holds down: the discriminator's estimate, or the closed form."""

    VARIATIONAL = "variational"
    EXACT = "exact"


class Regression(StrEnum):
    """The loss model of dr: one that adds up over labels, or that with a free-form correction."""

    ADDITIVE = "additive"
    FREE = "free"


@dataclass(frozen=True)
class LearnerSettings:
    """Settings of all methods; a method reads those that concern it.

    Rates are Adam's: `risk_rate` of Algorithm 1 step 4, `regulariser_rate` and `discriminator_rate` of
    Algorithm 2 steps 4 and 5 (section 5.1.2). `batch_size` rows are drawn from each logger a step.
    `patience` epochs without a better validation risk end the training.
    """

    hidden: tuple[int, ...] = (10,)
    batch_norm: bool = True
    standardise: bool = False
    loss_shift: LossShift = LossShift.BASELINE
    weights: Weights = Weights.CLIP
    clip: float = 30.0
    risk_rate: float = 1e-4
    weight_decay: float = 0.0
    batch_size: int = 500
    epochs: int = 300
    patience: int = 50
    # passes in which the policy copies the best logger before the first epoch, and their first rate
    warm_start: int = 0
    warm_start_rate: float = 3e-3
    # lambda*, for the weighted methods: the least share n_j lambda_j of a logger, and whether to keep 1/n
    lambda_floor: float = 0.0
    freeze_lambda: bool = False
    # the constraint of section 4, for the -reg methods
    divergence: DivergenceKind = DivergenceKind.VARIATIONAL
    kappa: float = 10.0
    tau: float = 1.0
    regulariser_rate: float = 1e-4
    discriminator_rate: float = 2.5e-4
    discriminator_hidden: tuple[int, ...] = (59,)
    discriminator_batch_norm: bool = True
    inner_iterations: int = 5
    warm_up_steps: int = 200
    minimum_steps: int = 1
    moving_average: float = 0.9
    # the -exact methods: how many epochs descend the risk alone, the rate of the multiplier after them, and
    # by how much of kappa the chosen epoch may exceed it
    warm_up_epochs: int = 10
    multiplier_rate: float = 1.0
    constraint_tolerance: float = 0.05
    # WCRM: the grid that validation chooses from; for each point, L-BFGS in rounds with lambda* fixed in each
    wcrm_clips: tuple[float, ...] = (10.0, 30.0, 100.0)
    wcrm_variances: tuple[float, ...] = (0.1, 1.0)
    wcrm_l2s: tuple[float, ...] = (1e-3, 1e-2, 1e-1)
    wcrm_rounds: int = 5
    wcrm_iterations: int = 20
    # the additive loss model of additive and dr: networks, each blind to one fold of the contexts; contexts a
    # step; the share of inputs left out of each; the least variance that a row's loss is taken to have; what
    # dr multiplies the additive model's logits by at its start
    folds: int = 5
    context_batch: int = 128
    input_dropout: float = 0.0
    working_noise: float = 0.02
    sharpness: float = 3.0
    # dr: its loss model, the epochs of that and the nodes of a free-form correction; whether rows are weighed
    # by h/h_j and lambda*, or balanced; the rate of the policy, which starts from the additive one
    regression: Regression = Regression.ADDITIVE
    model_epochs: int = 50
    correction_hidden: int = 64
    dr_weighted: bool = False
    policy_rate: float = 3e-4
    # the dataset's loss, which full-information minimises; the others know it from the logged losses alone
    loss: str = "hamming"
    # model selection: the mean weight S that the better-supported logger must have on the validation split
    least_mean_weight: float = 0.5
    most_mean_weight: float = 2.0
    # and how many standard errors are added to a validation risk before risks are compared
    pessimism: float = 1.0
    checkpoint_every: int = 10
    # rows above which the log is read from disk as a method learns, and the rows then held to shuffle them
    memory_rows: int = 5_000_000

    def __post_init__(self) -> None:
        _check_positive(self)
        _check_ranges(self)
        NetworkSize(self.hidden)
        NetworkSize(self.discriminator_hidden)

    @property
    def policy_size(self) -> NetworkSize:
        return NetworkSize(self.hidden, self.batch_norm)

    @property
    def discriminator_size(self) -> NetworkSize:
        return NetworkSize(self.discriminator_hidden, self.discriminator_batch_norm)

    @property
    def weight_clip(self) -> float:
        """The cut of weights in the objective; infinite for raw weights."""
        return math.inf if self.weights is Weights.RAW else self.clip


def newer_and_unused(settings: LearnerSettings) -> frozenset[str]:
    """Settings that came after the first results were kept, and are off: these results are still theirs."""
    return frozenset() if settings.warm_start else frozenset({"warm_start", "warm_start_rate"})


def recorded_settings(settings: LearnerSettings) -> dict[str, Any]:
    """The settings as files and keys have them, by name."""
    unused = newer_and_unused(settings)
    return {name: value for name, value in asdict(settings).items() if name not in unused}


def _check_positive(settings: LearnerSettings) -> None:
    for name in (
        "clip",
        "risk_rate",
        "warm_start_rate",
        "regulariser_rate",
        "discriminator_rate",
        "tau",
        "kappa",
        "working_noise",
        "sharpness",
        "policy_rate",
        "multiplier_rate",
    ):
        value = getattr(settings, name)
        if not value > 0:
            raise BadInput(f"{name} must be above 0, got {value}")
    for name in (
        "batch_size",
        "epochs",
        "patience",
        "inner_iterations",
        "minimum_steps",
        "wcrm_rounds",
        "wcrm_iterations",
        "context_batch",
        "model_epochs",
        "correction_hidden",
        "memory_rows",
    ):
        count = getattr(settings, name)
        if count < 1:
            raise BadInput(f"{name} must be at least 1, got {count}")
    for name in (
        "weight_decay",
        "warm_start",
        "warm_up_steps",
        "warm_up_epochs",
        "checkpoint_every",
        "pessimism",
        "constraint_tolerance",
    ):
        value = getattr(settings, name)
        if value < 0:
            raise BadInput(f"{name} must be at least 0, got {value}")


def _check_ranges(settings: LearnerSettings) -> None:
    find_loss(settings.loss)
    if settings.folds < 2:
        raise BadInput(f"folds must be at least 2, got {settings.folds}; none would be left to judge")
    for name in ("lambda_floor", "moving_average", "input_dropout"):
        value = getattr(settings, name)
        if not 0 <= value < 1:
            raise BadInput(f"{name} must be at least 0 and below 1, got {value}")
    for name in ("wcrm_clips", "wcrm_variances", "wcrm_l2s"):
        values = getattr(settings, name)
        if not values or any(value < 0 for value in values):
            raise BadInput(f"{name} needs one or more numbers of at least 0, got {values}")
    if not 0 < settings.least_mean_weight < 1 < settings.most_mean_weight:
        raise BadInput(
            "the guard of model selection must hold a mean weight of 1 between its ends, got "
            f"{settings.least_mean_weight} to {settings.most_mean_weight}"
        )
