"""What measures and objectives go by, whichever settings a method has."""

import math
from dataclasses import dataclass

from multilogger.components.learners.training.record import FINITE_CLIP
from multilogger.components.learners.training.settings import (
    ClipSettings,
    LambdaSettings,
    LossShift,
    Settings,
    WeightSettings,
)


@dataclass(frozen=True)
class Rules:
    """The numbers of a method's settings, and neutral ones for what it does not have."""

    least_mean_weight: float
    most_mean_weight: float
    least_effective_rows: float
    pessimism: float
    weight_clip: float = FINITE_CLIP
    loss_shift: LossShift = LossShift.NONE
    shift_share: float = 1.0
    lambda_floor: float = 0.0
    freeze_lambda: bool = False
    kappa: float = math.nan
    constraint_floor: float = 0.0


def rules_of(settings: Settings, kappa: float = math.nan, constraint_floor: float = 0.0) -> Rules:
    """Of a method; one with a constraint says its kappa and floor."""
    weights = settings if isinstance(settings, WeightSettings) else None
    lambdas = settings if isinstance(settings, LambdaSettings) else LambdaSettings()
    clip = settings.clip if isinstance(settings, ClipSettings) else FINITE_CLIP
    return Rules(
        least_mean_weight=settings.least_mean_weight,
        most_mean_weight=settings.most_mean_weight,
        least_effective_rows=settings.least_effective_rows,
        pessimism=settings.pessimism,
        weight_clip=weights.weight_clip if weights else clip,
        loss_shift=weights.loss_shift if weights else LossShift.NONE,
        shift_share=weights.shift_share if weights else 1.0,
        lambda_floor=lambdas.lambda_floor,
        freeze_lambda=lambdas.freeze_lambda,
        kappa=kappa,
        constraint_floor=constraint_floor,
    )
