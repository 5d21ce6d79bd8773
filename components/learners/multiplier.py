"""The dual variable of a constraint g <= 0, by the method of multipliers (augmented Lagrangian).

L(theta, mu) = R + [ max(0, mu + r g)^2 - mu^2 ] / (2 r),  and after each round  mu <- max(0, mu + r g).

The gradient of L is that of R + max(0, mu + r g) g with the factor held. It is no fixed penalty: mu moves
until g is 0, or stays at 0 where the constraint never binds, and leaves R alone.
"""

from dataclasses import dataclass

from torch import Tensor

LARGEST_EXCESS = 1.0  # g counts as no more: a start far outside must not wind the multiplier up


@dataclass(frozen=True)
class Multiplier:
    """mu >= 0 and the rate r at which it moves."""

    value: float
    rate: float

    def after(self, excess: float) -> "Multiplier":
        """The multiplier after a round that ended at g = `excess`."""
        step = max(-LARGEST_EXCESS, min(LARGEST_EXCESS, excess))
        return Multiplier(max(0.0, self.value + self.rate * step), self.rate)

    def lagrangian(self, risk: Tensor, excess: Tensor) -> Tensor:
        """L at a risk and a constraint value g, both scalars; a line takes over where the pull is bounded."""
        inside = excess.clamp_max(LARGEST_EXCESS)
        pull = self.pull(excess)
        return risk + (pull.square() - self.value**2) / (2.0 * self.rate) + pull * (excess - inside)

    def pull(self, excess: Tensor) -> Tensor:
        """max(0, mu + r g), the factor of the gradient of g in that of L."""
        return (self.value + self.rate * excess.clamp_max(LARGEST_EXCESS)).clamp_min(0.0)

    def descended(self, risk: Tensor, excess: Tensor) -> Tensor:
        """L / (1 + pull), whose gradient is a mean of those of R and g.

        Choice: the direction is that of L. Undivided, the large gradients of a policy far outside would stay
        in Adam's second moment and slow all that follows.
        """
        return self.lagrangian(risk, excess) / (1.0 + self.pull(excess.detach()))
