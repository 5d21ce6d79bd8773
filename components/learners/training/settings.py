"""Settings of training: groups of them, from which every method composes its own, and their checks.

A group is a frozen dataclass of fields. A method's settings class inherits the groups that it reads, so that
its fields are what a person may type for it, and nothing else is. Rates are Adam's (section 5.1.2).
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Annotated, Any, TypeVar, get_type_hints

from multilogger.components.learners.training.about import MOST_DECAY, MOST_RATE, About
from multilogger.components.policies.network_size import NetworkSize


class LossShift(StrEnum):
    """What is subtracted from delta in the objective; reported risks always use delta itself.

    A literal IPS objective with delta >= 0 falls when the policy merely avoids the logged actions. `poem`
    subtracts the largest loss, so that every logged action attracts; `baseline` subtracts the mean loss of
    the better logger, so that actions better than it attract and the others repel; `running` subtracts the
    self-normalised risk of the current policy on the training split, recomputed with lambda* once per epoch.
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
class Settings:
    """What every method that learns reads."""

    standardise: Annotated[bool, About("scale inputs to mean 0 and variance 1")] = True
    checkpoint_every: Annotated[
        int, About("epochs between checkpoints; 0 for none", least=0, keyed=False)
    ] = 10
    # In the key: rows from disk come in another order than rows in memory.
    memory_rows: Annotated[
        int, About("rows above which the log is streamed from disk; then as many are held", least=1)
    ] = 5_000_000

    def __post_init__(self) -> None:
        for name, (about, kind) in _known(type(self)).items():
            about.check(name, getattr(self, name), kind)

    @property
    def planned_epochs(self) -> int:
        """How many epochs a method makes of a log, unless it stops early; one if no class says more."""
        return 1


@dataclass(frozen=True)
class PessimismSettings(Settings):
    """How epochs or policies are compared on validation rows."""

    pessimism: Annotated[
        float, About("standard errors added to validation risks before they are compared", least=0)
    ] = 1.0


@dataclass(frozen=True)
class GuardSettings(PessimismSettings):
    """Which epochs may be chosen at all: those that the log can judge."""

    least_mean_weight: Annotated[
        float, About("least mean weight of a chosen epoch's better-supported logger", above=0, below=1)
    ] = 0.5
    most_mean_weight: Annotated[
        float, About("largest mean weight of a chosen epoch's better-supported logger", above=1)
    ] = 2.0
    least_effective_rows: Annotated[
        float, About("least effective validation rows of a chosen epoch's better-supported logger", least=0)
    ] = 0.0


@dataclass(frozen=True)
class NetworkSettings(Settings):
    """A network policy, and its training by Adam."""

    hidden: Annotated[
        tuple[int, ...], About("nodes of each hidden layer of the policy", least=1, most=100_000)
    ] = (128,)
    batch_norm: Annotated[bool, About("BatchNorm after each hidden layer of the policy")] = False
    risk_rate: Annotated[
        float, About("Adam's rate for the risk (Algorithm 1, step 4)", above=0, most=MOST_RATE)
    ] = 3e-3
    weight_decay: Annotated[float, About("Adam's weight decay", least=0, most=MOST_DECAY)] = 0.0
    epochs: Annotated[int, About("epochs, at most: what stands between two validations", least=1)] = 60
    patience: Annotated[int, About("epochs without a better score that end the training", least=1)] = 30

    @property
    def policy_size(self) -> NetworkSize:
        return NetworkSize(self.hidden, self.batch_norm)

    @property
    def planned_epochs(self) -> int:
        return self.epochs


@dataclass(frozen=True)
class BatchSettings(Settings):
    """Mini-batches of rows."""

    batch_size: Annotated[int, About("rows of each logger a step", least=1)] = 500


@dataclass(frozen=True)
class ClipSettings(Settings):
    """A cut of importance weights."""

    clip: Annotated[float, About("cut of the weights", above=0)] = 30.0


@dataclass(frozen=True)
class WeightSettings(ClipSettings):
    """The weighted losses that an objective is made of."""

    loss_shift: Annotated[LossShift, About("subtracted from losses: none, poem, baseline, running")] = (
        LossShift.BASELINE
    )
    shift_share: Annotated[float, About("share of the loss shift that is subtracted", least=0, most=1)] = 1.0
    weights: Annotated[Weights, About("h/h_j: raw, clip, self-normalised")] = Weights.CLIP

    @property
    def weight_clip(self) -> float:
        """The cut of weights in the objective; infinite for raw weights."""
        return math.inf if self.weights is Weights.RAW else self.clip


@dataclass(frozen=True)
class LambdaSettings(Settings):
    """Logger weights lambda*."""

    lambda_floor: Annotated[float, About("least share n_j lambda_j of a logger", least=0, below=1)] = 0.0
    freeze_lambda: Annotated[bool, About("keep lambda_j at 1/n")] = False


WARM_START = About(
    "passes before the first epoch in which the policy copies the best logger; -1: enough "
    "of them, if a uniform start has fewer than 10 effective rows of that logger",
    least=-1,
)


@dataclass(frozen=True)
class WarmStartSettings(Settings):
    """A start from a copy of the best logger."""

    warm_start: Annotated[int, WARM_START] = 0
    warm_start_rate: Annotated[
        float, About("first rate of the passes of a warm start", above=0, most=MOST_RATE)
    ] = 3e-3


@dataclass(frozen=True)
class DescentSettings(NetworkSettings, WarmStartSettings, BatchSettings):
    """A network that descends in mini-batches of rows."""

    passes_per_epoch: Annotated[int, About("passes over the log in an epoch", least=1)] = 1

    @property
    def planned_epochs(self) -> int:
        return self.epochs + (self.warm_start != 0)


@dataclass(frozen=True)
class RiskSettings(DescentSettings, WeightSettings, GuardSettings):
    """What is descended is an estimated risk."""


S = TypeVar("S", bound=Settings)
_KNOWN: dict[type[Settings], dict[str, tuple[About, Any]]] = {}


def _known(kind: type[Settings]) -> dict[str, tuple[About, Any]]:
    """Meaning and type of every setting of a class, worked out once: cells are made by the thousand."""
    if kind not in _KNOWN:
        hints, kinds = get_type_hints(kind, include_extras=True), get_type_hints(kind)
        names = [field.name for field in fields(kind)]
        _KNOWN[kind] = {name: (hints[name].__metadata__[0], kinds[name]) for name in names}
    return _KNOWN[kind]


def settings_about(kind: type[Settings]) -> dict[str, About]:
    """Every setting of a class by name."""
    return {name: about for name, (about, _) in _known(kind).items()}


def plain_settings(settings: Settings) -> dict[str, Any]:
    """The settings as JSON values, by name, in alphabetical order."""
    values = asdict(settings)
    return {name: list(v) if isinstance(v, tuple) else v for name, v in sorted(values.items())}


def keyed_settings(settings: Settings) -> dict[str, Any]:
    """Those that a result depends on."""
    about, usual = settings_about(type(settings)), {f.name: f.default for f in fields(settings)}
    return {
        name: value
        for name, value in plain_settings(settings).items()
        if about[name].keyed and not (about[name].later and value == usual[name])
    }


def read_of(kind: type[Settings], values: Mapping[str, Any]) -> dict[str, Any]:
    """Of values for several methods, those that this one reads."""
    return {name: value for name, value in values.items() if name in settings_about(kind)}


def changed(settings: S, values: Mapping[str, Any]) -> S:
    """The settings with those of the values that they have; what they do not have is left out."""
    return replace(settings, **read_of(type(settings), values))
