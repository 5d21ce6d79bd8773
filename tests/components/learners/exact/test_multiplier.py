import pytest
import torch

from multilogger.components.learners.exact.multiplier import Multiplier
from tests.components.learners.exact.lagrangian import descended, lagrangian


def test_rises_outside_and_falls_to_zero_inside() -> None:
    mu = Multiplier(0.0, rate=0.5)
    assert mu.after(0.4).value == pytest.approx(0.2)
    assert mu.after(0.4).after(-0.1).value == pytest.approx(0.15)
    assert mu.after(-3.0).value == 0.0


def test_one_update_is_bounded() -> None:
    assert Multiplier(0.0, rate=0.5).after(20.0).value == pytest.approx(0.5)
    assert Multiplier(2.0, rate=0.5).after(-20.0).value == pytest.approx(1.5)


def test_slack_constraint_leaves_the_risk_alone() -> None:
    risk = torch.tensor(2.0, requires_grad=True)
    excess = torch.tensor(-0.5, requires_grad=True)
    mu = Multiplier(0.0, rate=1.0)
    value = lagrangian(mu, risk, excess)
    assert torch.autograd.grad(value, [risk, excess]) == (torch.tensor(1.0), torch.tensor(0.0))
    assert value == 2.0
    assert [float(factor) for factor in mu.factors(excess.detach())] == [1.0, 0.0]


@pytest.mark.parametrize(("excess", "pull"), [(0.3, 0.2 + 2.0 * 0.3), (9.0, 0.2 + 2.0 * 1.0)])
def test_gradients(excess: float, pull: float) -> None:
    """With the pull bounded far outside."""
    risk = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    g = torch.tensor(excess, dtype=torch.float64, requires_grad=True)
    mu = Multiplier(0.2, rate=2.0)
    slopes = torch.autograd.grad(lagrangian(mu, risk, g), [risk, g])
    assert [slope.item() for slope in slopes] == pytest.approx([1.0, pull])
    slopes = torch.autograd.grad(descended(mu, risk, g), [risk, g])
    assert [slope.item() for slope in slopes] == pytest.approx([1 / (1 + pull), pull / (1 + pull)])


@pytest.mark.parametrize("value", [0.0, 0.37, 41.3])
def test_factors_are_the_gradient_to_the_last_bit(value: float) -> None:
    """In float32, where the rate is a power of two, as it is unless a user says otherwise."""
    mu = Multiplier(value, rate=1.0)
    for excess in torch.linspace(-3.0, 3.0, 501).tolist():
        risk = torch.tensor(0.3, requires_grad=True)
        g = torch.tensor(excess, requires_grad=True)
        assert mu.factors(g.detach()) == torch.autograd.grad(descended(mu, risk, g), [risk, g])


def test_solves_a_problem_worked_by_hand() -> None:
    """min (t - 3)^2 subject to t <= 1: t = 1, mu = 4."""
    mu, t = Multiplier(0.0, rate=2.0), 0.0
    for _ in range(25):
        for _ in range(12):
            point = torch.tensor(t, dtype=torch.float64, requires_grad=True)
            (slope,) = torch.autograd.grad(lagrangian(mu, (point - 3.0) ** 2, point - 1.0), point)
            t -= 0.2 * float(slope)
        mu = mu.after(t - 1.0)
    assert t == pytest.approx(1.0, abs=1e-3)
    assert mu.value == pytest.approx(4.0, abs=1e-2)
