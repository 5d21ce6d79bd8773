"""The torch policies against the numpy ones, and their gradients against differences."""

import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from multilogger.components.actions import label_losses, labels, torch_labels
from multilogger.components.errors import BadInput


def draw_logits(seed: int, scale: float = 1.5) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(6, 4, generator=generator, dtype=torch.float64)


TRUTH = torch.tensor([[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 1]])


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_numpy_and_torch_agree(scale: float) -> None:
    h, h_j = draw_logits(1, scale), draw_logits(2, scale)
    y = TRUTH.numpy().astype(np.uint8)
    pairs = [
        (torch_labels.marginals(h), labels.marginals(h.numpy())),
        (torch_labels.log_probability(h, TRUTH), labels.log_probability(h.numpy(), y)),
        (torch_labels.expected_hamming(h, TRUTH), label_losses.expected_hamming(h.numpy(), y)),
        (torch_labels.log_d2(h, h_j), labels.log_d2(h.numpy(), h_j.numpy())),
        (
            torch_labels.log_probability_grouped(h, TRUTH.expand(6, 6, 4).to(h.dtype)),
            labels.log_probability_table(h.numpy(), y),
        ),
        (
            torch_labels.expected_label_sum(h, h_j, h),
            label_losses.expected_label_sum(h.numpy(), h_j.numpy(), h.numpy()),
        ),
        (torch_labels.expected_neighbours(h), label_losses.expected_neighbours(h.numpy())),
        (
            torch_labels.logits_of(torch_labels.marginals(h), 1e-6),
            labels.logits_of(labels.marginals(h.numpy()), 1e-6),
        ),
        (
            torch_labels.cross_entropy(h, TRUTH.to(h.dtype)),
            np.array(-labels.log_probability(h.numpy(), y).mean() / 4),
        ),
    ]
    for ours, theirs in pairs:
        assert np.isfinite(theirs).all()
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "quantity",
    [
        lambda h: torch_labels.log_probability(h, TRUTH),
        lambda h: torch_labels.expected_hamming(h, TRUTH),
        lambda h: torch_labels.log_d2(h, draw_logits(2)),
        lambda h: torch_labels.log_d2(draw_logits(2), h),
        lambda h: torch_labels.relaxed_sample(h, 0.7, torch.Generator().manual_seed(5)),
    ],
    ids=["log_probability", "expected_hamming", "log_d2", "log_d2 of the logger", "relaxed_sample"],
)
def test_gradients(quantity: Callable[[Tensor], Tensor]) -> None:
    assert torch.autograd.gradcheck(quantity, (draw_logits(1).requires_grad_(),))


def test_gradient_of_log_d2_vanishes_at_the_logger_and_stays_finite_far_from_it() -> None:
    h = draw_logits(1).requires_grad_()
    (at_logger,) = torch.autograd.grad(torch_labels.log_d2(h, h.detach()).sum(), h)
    assert at_logger.abs().max() < 1e-14
    (far,) = torch.autograd.grad(torch_labels.log_d2(300 * h, -300 * h.detach()).sum(), h)
    assert torch.isfinite(far).all()


def test_samples_follow_the_marginals_and_the_generator() -> None:
    h = torch.tensor([[-2.0, 0.0, 1.0]], dtype=torch.float64).expand(20_000, 3)
    y = torch_labels.sample(h, torch.Generator().manual_seed(0))
    assert torch.equal(y, torch_labels.sample(h, torch.Generator().manual_seed(0)))
    assert not torch.equal(y, torch_labels.sample(h, torch.Generator().manual_seed(1)))
    assert set(y.flatten().tolist()) == {0.0, 1.0}
    torch.testing.assert_close(y.mean(dim=0), torch.sigmoid(h[0]), atol=0.012, rtol=0.0)


def test_whole_actions_of_relaxed_ones_have_the_policys_distribution() -> None:
    h = torch.tensor([[0.0, 1.0, -2.0]]).expand(20_000, 3)
    for tau in (0.5, 5.0):
        y = torch_labels.whole(torch_labels.relaxed_sample(h, tau, torch.Generator().manual_seed(3)))
        assert set(y.flatten().tolist()) == {0.0, 1.0}
        torch.testing.assert_close(y.mean(dim=0), torch_labels.marginals(h[0]), atol=0.015, rtol=0)


def test_relaxed_samples_tend_to_bernoulli_as_tau_falls() -> None:
    h = torch.tensor([[-2.0, 0.0, 1.0]]).expand(20_000, 3)
    p = torch.sigmoid(h[0])
    distance_to_bits = []
    for tau in (2.0, 0.5, 0.1, 0.01):
        y = torch_labels.relaxed_sample(h, tau, torch.Generator().manual_seed(3))
        assert ((y >= 0) & (y <= 1)).all()
        torch.testing.assert_close((y > 0.5).float().mean(dim=0), p, atol=0.012, rtol=0.0)
        distance_to_bits.append(float((y - y.round()).abs().mean()))
    assert distance_to_bits == sorted(distance_to_bits, reverse=True)
    assert distance_to_bits[0] > 0.15
    assert distance_to_bits[-1] < 0.005
    torch.testing.assert_close(y.mean(dim=0), p, atol=0.012, rtol=0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: torch_labels.relaxed_sample(torch.zeros(1, 2), 0.0, torch.Generator()),
            "the temperature tau must be above 0, got 0.0; the paper tries 0.5 to 5",
        ),
        (
            lambda: torch_labels.log_probability(torch.zeros(2, 3), torch.zeros(2, 4)),
            "both arguments must have the same rows and labels, got (2, 3) and (2, 4); "
            "were they made from the same contexts?",
        ),
        (
            lambda: torch_labels.log_d2(torch.zeros(2, 3), torch.zeros(1, 3)),
            "both arguments must have the same rows and labels, got (2, 3) and (1, 3); "
            "were they made from the same contexts?",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        call()


def test_rows_that_share_contexts() -> None:
    rng = np.random.default_rng(3)
    logits = torch.from_numpy(rng.normal(scale=6.0, size=(5, 4)))
    context = torch.from_numpy(rng.integers(5, size=40))
    y = torch.from_numpy(rng.integers(2, size=(40, 4))).double()
    torch.testing.assert_close(
        torch_labels.log_probability_at(logits, context, y),
        torch_labels.log_probability(logits[context], y),
    )
    numbers = labels.log_probability_at(logits.numpy(), context.numpy(), y.numpy().astype(np.uint8))
    np.testing.assert_allclose(numbers, torch_labels.log_probability(logits[context], y).numpy(), atol=1e-12)


def test_a_sure_policy_has_no_probability_above_1() -> None:
    logits = np.full((1, 30), 40.0)
    value = labels.log_probability_at(logits, np.zeros(1, dtype=np.int64), np.ones((1, 30), dtype=np.uint8))
    assert -1e-12 < value[0] <= 0.0


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_all_loggers_at_once(scale: float) -> None:
    rng = np.random.default_rng(4)
    logits = torch.from_numpy(rng.normal(scale=scale, size=(20, 6)))
    tables = [rng.normal(scale=scale, size=(20, 6)) for _ in range(3)]
    each = torch_labels.KnownLabelLoggers.of(tables).log_d2(logits)
    for j, table in enumerate(tables):
        torch.testing.assert_close(
            each[:, j], torch_labels.log_d2(logits, torch.from_numpy(table)), rtol=1e-10, atol=1e-10
        )
