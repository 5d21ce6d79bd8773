"""The variational lower bound of D_f(h||h_j; P(x)) that a discriminator T maximises (section 4.1).

Deviation: the paper has f(t) = t^2 - 1 with conjugate t^2/4 + 1. We use f(t) = (t - 1)^2 with conjugate
t^2/4 + t: the same divergence under T -> T + 2, but T = 0 then gives F = 0, so that a fresh T starts at the
smallest divergence there is and not below it.
"""

from torch import Tensor

from multilogger.components.errors import BadInput


def f(t: Tensor) -> Tensor:
    """f(t) = (t - 1)^2, the generator of D_f = d_2 - 1."""
    return (t - 1.0) ** 2


def f_star(t: Tensor) -> Tensor:
    """f*(t) = sup_u [u t - f(u)] = t^2/4 + t, reached at u = 1 + t/2."""
    return 0.25 * t**2 + t


def best_discriminator(ratio: Tensor) -> Tensor:
    """T* = f'(h/h_j) = 2 (h/h_j - 1), at which F equals D_f."""
    return 2.0 * (ratio - 1.0)


def variational_value(t_policy: Tensor, t_logger: Tensor) -> Tensor:
    """F of equation (5), from T at actions of the policy (..., m) and at logged actions (..., k): (...).

    F = E_{x, y ~ h} T(x, y) - E_{x, y ~ h_j} f*(T(x, y)), each a mean over a mini-batch
    """
    if t_policy.numel() == 0 or t_logger.numel() == 0:
        raise BadInput(
            f"F needs actions of the policy and of the logger, got {t_policy.numel()} and {t_logger.numel()}"
        )
    return t_policy.mean(dim=-1) - f_star(t_logger).mean(dim=-1)
