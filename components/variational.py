"""The variational lower bound of D_f(h||h_j; P(x)) that a discriminator T maximises (section 4.1).

Deviation: the paper has f(t) = t^2 - 1 with conjugate t^2/4 + 1. We use f(t) = (t - 1)^2 with conjugate
t^2/4 + t: the same divergence under T -> T + 2, but T = 0 then gives F = 0, so that a fresh T starts at the
smallest divergence there is and not below it.
"""

from torch import Tensor

from multilogger.components.errors import BadInput
from multilogger.components.networks import Discriminator


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
    """F of equation (5), from T at actions of the policy (m,) and at logged actions (k,).

    F = E_{x, y ~ h} T(x, y) - E_{x, y ~ h_j} f*(T(x, y)), each a mean over a mini-batch
    """
    if t_policy.numel() == 0 or t_logger.numel() == 0:
        raise BadInput(
            f"F needs actions of the policy and of the logger, got {t_policy.numel()} and {t_logger.numel()}"
        )
    return t_policy.mean() - f_star(t_logger).mean()


def variational_objective(
    discriminator: Discriminator, x_policy: Tensor, y_policy: Tensor, x_logger: Tensor, y_logger: Tensor
) -> Tensor:
    """F(theta, w^j) on a mini-batch (Algorithm 2, steps 2 to 5): T ascends it, the policy descends it.

    Contexts are (m, d) and (k, d), actions (m, q) and (k, q); gradients reach the policy through `y_policy`,
    a relaxed sample.

    Choice: both halves pass through T in one call. With BatchNorm two calls would normalise each half by its
    own statistics, T would be two different functions, and F no lower bound.
    """
    values = discriminator.of_both((x_policy, y_policy), (x_logger, y_logger))
    return variational_value(values[: len(x_policy)], values[len(x_policy) :])
