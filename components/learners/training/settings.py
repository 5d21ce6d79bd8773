"""Every number of training, with the paper's value as the default where the paper prints one."""

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated, Any, get_type_hints

from multilogger.components.datasets.losses import find_loss
from multilogger.components.errors import BadInput
from multilogger.components.policies.network_size import NetworkSize


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


@dataclass(frozen=True)
class LearnerSettings:
    """Settings of all methods; a method reads those that concern it.

    Each is annotated with its meaning and, if not all methods read it, with the beginnings and endings of the
    names of those that do, or after "not" of those that do not. Rates are Adam's (section 5.1.2).
    """

    hidden: Annotated[tuple[int, ...], "nodes of each hidden layer of the policy", "not", "wcrm"] = (10,)
    batch_norm: Annotated[bool, "BatchNorm after each of these layers", "not", "wcrm"] = True
    standardise: Annotated[bool, "scale inputs to mean 0 and variance 1"] = False
    loss_shift: Annotated[
        LossShift,
        "subtracted from losses: none, poem, baseline, running",
        "not",
        "additive",
        "dr",
        "full-information",
    ] = LossShift.BASELINE
    shift_share: Annotated[
        float, "share of that shift that is subtracted", "not", "additive", "dr", "full-information"
    ] = 1.0
    weights: Annotated[
        Weights, "h/h_j: raw, clip, self-normalised", "not", "additive", "dr", "full-information"
    ] = Weights.CLIP
    clip: Annotated[float, "cut of the weights", "not", "full-information"] = 30.0
    risk_rate: Annotated[float, "Adam's rate for the risk (Algorithm 1, step 4)", "not", "wcrm"] = 1e-4
    weight_decay: Annotated[float, "Adam's weight decay", "not", "wcrm"] = 0.0
    batch_size: Annotated[int, "rows of each logger a step"] = 500
    epochs: Annotated[int, "epochs, at most: what stands between two validations", "not", "wcrm"] = 300
    passes_per_epoch: Annotated[
        int, "passes over the log in an epoch", "not", "wcrm", "additive", "dr", "full-information"
    ] = 1
    patience: Annotated[int, "epochs without a better score that end the training", "not", "wcrm"] = 50
    warm_start: Annotated[
        int,
        "passes before the first epoch in which the policy copies the best logger",
        "not",
        "additive",
        "dr",
        "full-information",
    ] = 0
    warm_start_rate: Annotated[float, "their first rate", "not", "additive", "dr", "full-information"] = 3e-3
    lambda_floor: Annotated[float, "least share n_j lambda_j of a logger", "weighted", "wcrm"] = 0.0
    freeze_lambda: Annotated[bool, "keep lambda_j at 1/n", "weighted", "wcrm"] = False
    divergence: Annotated[DivergenceKind, "variational or exact", "-reg"] = DivergenceKind.VARIATIONAL
    kappa: Annotated[
        float, "bound of the divergence; -exact: of its excess over the least one", "-reg", "-exact"
    ] = 10.0
    constraint_floor: Annotated[
        float, "least share n_j lambda_j of a logger in the constraint", "weighted-reg"
    ] = 0.0
    tau: Annotated[float, "temperature of the relaxed samples", "-reg"] = 1.0
    regulariser_rate: Annotated[float, "rate of the policy (Algorithm 2, step 4)", "-reg"] = 1e-4
    discriminator_rate: Annotated[float, "rate of the discriminator (Algorithm 2, step 5)", "-reg"] = 2.5e-4
    discriminator_hidden: Annotated[tuple[int, ...], "hidden layers of the discriminator", "-reg"] = (59,)
    discriminator_batch_norm: Annotated[bool, "BatchNorm after each of these layers", "-reg"] = True
    inner_iterations: Annotated[int, "rounds of Algorithm 2 a step, at most", "-reg"] = 5
    warm_up_steps: Annotated[int, "steps of the discriminator before the first epoch", "-reg"] = 200
    minimum_steps: Annotated[int, "rounds even where the constraint holds", "-reg"] = 1
    moving_average: Annotated[float, "what the average of divergences keeps of its past", "-reg"] = 0.9
    warm_up_epochs: Annotated[int, "epochs that descend the risk alone", "-exact"] = 10
    multiplier_rate: Annotated[float, "rate of the multiplier after them", "-exact"] = 1.0
    constraint_tolerance: Annotated[
        float, "share by which 1 + the divergence of the chosen epoch may exceed its bound", "-exact"
    ] = 0.05
    wcrm_clips: Annotated[tuple[float, ...], "cuts of the weights to try; 0 for POEM's own", "wcrm"] = (
        10.0,
        30.0,
        100.0,
    )
    wcrm_variances: Annotated[tuple[float, ...], "penalties of the variance to try", "wcrm"] = (0.1, 1.0)
    wcrm_l2s: Annotated[tuple[float, ...], "L2 penalties to try", "wcrm"] = (1e-3, 1e-2, 1e-1)
    wcrm_rounds: Annotated[int, "rounds of L-BFGS a choice, lambda* fixed in each", "wcrm"] = 5
    wcrm_iterations: Annotated[int, "iterations a round, at most", "wcrm"] = 20
    folds: Annotated[int, "networks, each blind to one fold of the contexts", "additive", "dr"] = 5
    context_batch: Annotated[int, "contexts a step", "additive", "dr"] = 128
    input_dropout: Annotated[float, "share of inputs left out at random", "additive", "dr"] = 0.0
    working_noise: Annotated[float, "least variance of a row's loss", "additive", "dr"] = 0.02
    sharpness: Annotated[float, "what the additive logits are multiplied by at its start", "dr"] = 3.0
    model_epochs: Annotated[int, "epochs of the loss model", "dr"] = 50
    policy_rate: Annotated[float, "rate of the policy, which starts from the additive one", "dr"] = 3e-4
    loss: Annotated[str, "what an action costs; the dataset says it", "full-information"] = "hamming"
    least_mean_weight: Annotated[float, "least mean weight of a chosen epoch's better-supported logger"] = 0.5
    most_mean_weight: Annotated[float, "largest mean weight of that logger in a chosen epoch"] = 2.0
    least_effective_rows: Annotated[float, "least effective validation rows of that logger"] = 0.0
    pessimism: Annotated[float, "standard errors added to validation risks before they are compared"] = 1.0
    checkpoint_every: Annotated[int, "epochs between checkpoints; 0 for none"] = 10
    memory_rows: Annotated[int, "rows above which the log is streamed from disk; then as many are held"] = (
        5_000_000
    )

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


_NOTES: dict[str, tuple[str, ...]] = {
    name: hint.__metadata__ for name, hint in get_type_hints(LearnerSettings, include_extras=True).items()
}
READERS: dict[str, tuple[str, ...]] = {name: notes[1:] for name, notes in _NOTES.items()}
"""Who reads each setting, as it is annotated; nothing: every method that learns."""


def readers_text(name: str) -> str:
    """The readers of a setting for a person."""
    readers = READERS[name]
    shown = [f"{part} methods" if part.startswith("-") else part for part in readers if part != "not"]
    return f"all but {', '.join(shown)}" if readers[:1] == ("not",) else ", ".join(shown)


MEANINGS: dict[str, str] = {
    name: f"{readers_text(name)}: {meaning}" if readers else meaning
    for name, (meaning, *readers) in _NOTES.items()
}
"""What each setting means, by name."""


def newer_and_unused(settings: LearnerSettings) -> frozenset[str]:
    """Settings that came after the first results were kept, and are off: these results are still theirs."""
    unused = set() if settings.warm_start else {"warm_start", "warm_start_rate"}
    unused |= {name for name in ("passes_per_epoch", "shift_share") if getattr(settings, name) == 1}
    unused |= {name for name in ("least_effective_rows", "constraint_floor") if not getattr(settings, name)}
    return frozenset(unused)


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
        "passes_per_epoch",
        "patience",
        "inner_iterations",
        "minimum_steps",
        "wcrm_rounds",
        "wcrm_iterations",
        "context_batch",
        "model_epochs",
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
        "least_effective_rows",
        "constraint_tolerance",
    ):
        value = getattr(settings, name)
        if value < 0:
            raise BadInput(f"{name} must be at least 0, got {value}")


def _check_ranges(settings: LearnerSettings) -> None:
    find_loss(settings.loss)
    if settings.folds < 2:
        raise BadInput(f"folds must be at least 2, got {settings.folds}; none would be left to judge")
    for name in ("lambda_floor", "constraint_floor", "moving_average", "input_dropout"):
        value = getattr(settings, name)
        if not 0 <= value < 1:
            raise BadInput(f"{name} must be at least 0 and below 1, got {value}")
    if not 0 <= settings.shift_share <= 1:
        raise BadInput(f"shift_share must be at least 0 and at most 1, got {settings.shift_share}")
    for name in ("wcrm_clips", "wcrm_variances", "wcrm_l2s"):
        values = getattr(settings, name)
        if not values or any(value < 0 for value in values):
            raise BadInput(f"{name} needs one or more numbers of at least 0, got {values}")
    if not 0 < settings.least_mean_weight < 1 < settings.most_mean_weight:
        raise BadInput(
            "the guard of model selection must hold a mean weight of 1 between its ends, got "
            f"{settings.least_mean_weight} to {settings.most_mean_weight}"
        )
