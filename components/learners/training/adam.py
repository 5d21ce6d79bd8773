"""Adam's step on a small network, without what torch does around it.

`torch.optim.AdamW.step` looks for hooks, profilers, graphs and devices each time, which takes longer than the
step of a small network itself. The numbers are torch's own, bit for bit.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

BETAS, EPSILON = (0.9, 0.999), 1e-8


class FusedAdam(torch.optim.AdamW):
    """AdamW in one call for all parameters, which all have a gradient; without decay it is Adam.

    m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2,  w <- w - rate [ m' / (sqrt v' + 1e-8) + decay w ],
    with m' and v' the moments over 1 - b1^t and 1 - b2^t.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        rate: float,
        weight_decay: float = 0.0,
        betas: tuple[float, float] = BETAS,
    ) -> None:
        self.parameters: list[Tensor] = list(parameters)
        self.rate, self.decay, self.betas = rate, weight_decay, betas
        super().__init__(self.parameters, rate, betas, EPSILON, weight_decay, fused=True)

    def forget_gradients(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def descend(self, *values: Tensor, factors: Sequence[Tensor] | None = None) -> None:
        """One step down the gradient of a value, or of the sum of several, each times its factor."""
        self.forget_gradients()
        torch.autograd.backward(values, factors)
        self.take_step()

    @torch.no_grad()
    def take_step(self) -> None:
        """One step down the gradients that the parameters have."""
        if len(self.state) < len(self.parameters):
            self.step()  # the first, where torch makes the moments
            return
        moments = [self.state[parameter] for parameter in self.parameters]
        adamw(
            self.parameters,
            [parameter.grad for parameter in self.parameters if parameter.grad is not None],
            [of["exp_avg"] for of in moments],
            [of["exp_avg_sq"] for of in moments],
            [],
            [of["step"] for of in moments],
            fused=True,
            amsgrad=False,
            maximize=False,
            lr=self.rate,
            beta1=self.betas[0],
            beta2=self.betas[1],
            eps=EPSILON,
            weight_decay=self.decay,
        )
