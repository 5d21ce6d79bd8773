"""Where the networks of a loss model begin: at the rates of the log, on top of the best logger, as its copy.

A network that is drawn at random begins with every label as likely as not. With many rare labels that is far
off; all rows then look noisy, those of the sharp loggers most of all, and the fit may never leave.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.space import TorchSpace
from multilogger.components.learners.loss_models.ensemble import LossEnsemble
from multilogger.components.learners.loss_models.settings import Start
from multilogger.components.learners.training.network_learner import COPY_STEPS, clone, shuffled
from multilogger.components.learners.training.settings import WarmStartSettings
from multilogger.components.loggers.linear import WIDEST, least_norm_map
from multilogger.components.policies.blends import REACH, LinearLogits, StartedNetwork
from multilogger.components.policies.policy import Standardisation

COPY_RATE = 3e-3
MOST_CHANCES = 40_000_000  # of all contexts and actions, 320 MB a start
MOST_INPUTS = 250_000_000  # of all contexts, 1 GB for each start with scales of its own


class Plan(NamedTuple):
    """A start, and whether inputs keep their scales but for a common one, in place of unit variance each."""

    start: Start
    common: bool = False

    @property
    def name(self) -> str:
        return f"{self.start}, common scale" if self.common else str(self.start)


class StartingPoint(NamedTuple):
    """What networks may begin from: the best logger's logits on all contexts (m, size), if it is known."""

    standardisation: Standardisation
    space: TorchSpace
    logits: Matrix | None


# Unit variance suits dense features of many kinds; a common scale suits sparse ones, whose rare features
# would be blown up. Which it is shows in the held-out error.
PLANS = (
    Plan(Start.RATES),
    Plan(Start.RATES, common=True),
    Plan(Start.ADD),
    Plan(Start.ADD, common=True),
    Plan(Start.COPY),
)


def plans_of(start: Start, around: StartingPoint) -> tuple[Plan, ...]:
    """What a setting asks for; without a known logger the starts that need none."""
    asked = PLANS if start in (Start.BEST, Start.BLEND) else (Plan(start),)
    known = around.logits is not None
    return tuple(plan for plan in asked if known or plan.start is Start.RATES) or (Plan(Start.RATES),)


def too_large(x: Tensor, size: int) -> bool:
    """Whether memory has no room for several starts: each holds its chances, some their own contexts."""
    return len(x) * size > MOST_CHANCES or x.numel() > MOST_INPUTS


def begin(model: LossEnsemble, plan: Plan, around: StartingPoint) -> None:
    """Give a model that is still to be fitted networks that begin as planned."""
    features, size = model.x.shape[1], model.settings.policy_size
    adds = plan.start is Start.ADD and around.logits is not None
    linear = linear_logits(model.x, around) if adds else None
    scale = common_scale(model.x, around.standardisation) if plan.common else None
    members = []
    for k in range(model.settings.folds):
        network = StartedNetwork(features, around.space.size, size, model.generator, linear is not None)
        if scale is not None:
            network.scale.copy_(scale)
        if linear is not None:
            network.add_to(linear)
            flatten(network, torch.zeros(around.space.size))
        elif model.level is not None:
            flatten(network, model.level)
        if plan.start is Start.COPY and around.logits is not None:
            _copy(network, model, k, around.logits, around.space)
        members.append(network)
    model.replace_members(members)


def flatten(network: StartedNetwork, level: Tensor) -> None:
    """Let a network begin with the same outputs everywhere: (size,)."""
    last = network.layers[-1]
    if isinstance(last, nn.Linear):
        with torch.no_grad():
            last.weight.zero_()
            last.bias.copy_(level)


def _copy(network: StartedNetwork, model: LossEnsemble, k: int, logits: Matrix, space: TorchSpace) -> None:
    """Teach a network the chances of the best logger, at the contexts that member k may see."""
    contexts = torch.unique(model.context[model.seen_by(k)])
    chances = space.probabilities(torch.from_numpy(logits).clamp(-REACH, REACH)).float()[contexts]
    batch = model.settings.batch_of(len(model.x))
    passes = -(-COPY_STEPS // max(1, len(contexts) // batch))
    how = WarmStartSettings(warm_start=passes, warm_start_rate=COPY_RATE)
    clone(network, model.x, lambda: shuffled((contexts, chances), batch, model.generator), space, how)


def common_scale(x: Tensor, standardisation: Standardisation) -> Tensor:
    """What gives standardised inputs their scales back, all together of unit variance: (d,)."""
    scale = torch.from_numpy(standardisation.scale).double()
    variance = x.double().var(dim=0, correction=0) * scale.square()
    level = float(variance.mean()) ** 0.5
    return (scale / level if level > 0 else torch.ones_like(scale)).float()


def linear_logits(x: Tensor, around: StartingPoint) -> LinearLogits | None:
    """The linear map of standardised contexts (m, d) nearest to the best logger's logits."""
    if around.logits is None or min(x.shape) > WIDEST:
        return None
    own = around.standardisation
    mean, scale = own.mean.astype(np.float64), own.scale.astype(np.float64)
    raw = np.hstack([x.double().numpy() * scale + mean, np.ones((len(x), 1))])
    weights = least_norm_map(raw, around.logits)
    slope, level = weights[:-1].T, weights[-1]
    return LinearLogits(
        torch.from_numpy((slope * scale).astype(np.float32)),
        torch.from_numpy((level + slope @ mean).astype(np.float32)),
    )
