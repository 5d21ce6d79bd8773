"""The augmented Lagrangian itself; learners need its gradient alone."""

from torch import Tensor

from multilogger.components.learners.exact.multiplier import LARGEST_EXCESS, Multiplier


def lagrangian(mu: Multiplier, risk: Tensor, excess: Tensor) -> Tensor:
    """L at a risk and a constraint value g, both scalars; a line takes over where the pull is bounded."""
    inside = excess.clamp_max(LARGEST_EXCESS)
    pull = mu.pull(excess)
    return risk + (pull.square() - mu.value**2) / (2.0 * mu.rate) + pull * (excess - inside)


def descended(mu: Multiplier, risk: Tensor, excess: Tensor) -> Tensor:
    """L / (1 + pull), with the pull held."""
    return lagrangian(mu, risk, excess) / (1.0 + mu.pull(excess.detach()))
