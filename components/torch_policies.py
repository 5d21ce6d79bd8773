"""The policies of `policies.py` in torch: the same quantities, differentiable in the logits.

h(y|x) = prod_l p_l(x)^y_l (1 - p_l(x))^(1 - y_l), with p_l the sigmoid of logit l. Logits are (n, q).
Sampling draws from the generator that is passed in, never from torch's global one.
"""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from multilogger.components.errors import BadInput


def marginals(logits: Tensor) -> Tensor:
    """p_l(x), the probability of each label: (n, q)."""
    return torch.sigmoid(logits)


def log_probability(logits: Tensor, y: Tensor) -> Tensor:
    """log h(y|x) of each row: (n,)."""
    _check_shape(logits, y)
    signs = 2.0 * y.to(logits.dtype) - 1.0
    return logsigmoid(signs * logits).sum(dim=1)


def sample(logits: Tensor, generator: torch.Generator) -> Tensor:
    """y ~ h(.|x), as numbers 0 and 1 of the logits' type, with no gradient: (n, q)."""
    return (_uniforms(logits, generator) < marginals(logits.detach())).to(logits.dtype)


def relaxed_sample(logits: Tensor, tau: float, generator: torch.Generator) -> Tensor:
    """A differentiable stand-in for y ~ h(.|x), the Gumbel-softmax sample of section 4.2: (n, q) in (0, 1).

    y_l = sigmoid((logit_l + logistic noise) / tau)

    Of two classes the softmax is a sigmoid, and the difference of two Gumbel numbers is logistic, so one
    noise a label suffices (binary concrete). For every tau, y_l > 1/2 with probability p_l exactly; as
    tau falls y_l tends to 0 or 1.
    """
    if not tau > 0:
        raise BadInput(f"the temperature tau must be above 0, got {tau}; the paper tries 0.5 to 5")
    # Uniform numbers may be exactly 0, whose logit is not finite.
    u = _uniforms(logits, generator).clamp_min(torch.finfo(logits.dtype).tiny)
    return torch.sigmoid((logits + torch.log(u) - torch.log1p(-u)) / tau)


def expected_hamming(logits: Tensor, truth: Tensor) -> Tensor:
    """E_{y ~ h(.|x)} delta(x, y) of each row: (n,).

    sum_l p_l (1 - y*_l) + (1 - p_l) y*_l
    """
    _check_shape(logits, truth)
    p = marginals(logits)
    return torch.where(truth == 1, 1.0 - p, p).sum(dim=1)


def log_d2(logits: Tensor, logger_logits: Tensor) -> Tensor:
    """log d_2(h||h_j) of each row in closed form: (n,).

    sum_l log [ p_l^2 / q_l + (1 - p_l)^2 / (1 - q_l) ], with p and q the marginals of h and h_j
    """
    _check_shape(logits, logger_logits)
    one = 2.0 * logsigmoid(logits) - logsigmoid(logger_logits)
    zero = 2.0 * logsigmoid(-logits) - logsigmoid(-logger_logits)
    return torch.logaddexp(one, zero).sum(dim=1)


def _uniforms(like: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(like.shape, generator=generator, dtype=like.dtype, device=like.device)


def _check_shape(left: Tensor, right: Tensor) -> None:
    if left.shape != right.shape:
        raise BadInput(
            "both arguments must have the same rows and labels, got "
            f"{tuple(left.shape)} and {tuple(right.shape)}; were they made from the same contexts?"
        )
