import math

import numpy as np
import pytest
import torch

from multilogger.components.actions.labels import LARGEST_LOGIT, sharpened
from multilogger.components.actions.space import GREEDY
from multilogger.components.actions.torch_labels import TorchLabels
from multilogger.components.actions.torch_one_of import TorchOneOf
from multilogger.components.policies import networks
from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import EnsembleNetwork, PolicyNetwork

X = torch.randn(20, 4, generator=torch.Generator().manual_seed(1))


def make_members(count: int = 3) -> list[PolicyNetwork]:
    generator = torch.Generator().manual_seed(0)
    return [PolicyNetwork(4, 2, NetworkSize((5,), batch_norm=False), generator) for _ in range(count)]


def test_probabilities_are_averaged_not_logits() -> None:
    members = make_members()
    expected = sum(torch.sigmoid(member(X)) for member in members) / 3
    torch.testing.assert_close(torch.sigmoid(EnsembleNetwork(members, TorchLabels())(X)), expected)


def test_sharpness_scales_the_logits() -> None:
    ensemble = EnsembleNetwork(make_members(), TorchLabels())
    soft = ensemble(X)
    ensemble.sharpen(3.0)
    torch.testing.assert_close(ensemble(X), 3.0 * soft)


def test_greedy_takes_the_likelier_side_and_stays_finite() -> None:
    ensemble = EnsembleNetwork(make_members(), TorchLabels(), GREEDY)
    with torch.no_grad():
        logits, p = ensemble(X), ensemble.probabilities(X)
    assert torch.equal(logits > 0, p > 0.5)
    assert float(logits.abs().max()) == LARGEST_LOGIT
    assert float(torch.sigmoid(-logits.abs()).max()) == pytest.approx(1 / (1 + math.exp(14)), rel=1e-3)


def test_probabilities_that_round_to_one_keep_finite_logits() -> None:
    ensemble = EnsembleNetwork(make_members(1), TorchLabels())
    with torch.no_grad():
        list(ensemble.parameters())[-1].fill_(1e4)
    assert torch.isfinite(ensemble(X)).all()


def test_probabilities_from_elsewhere_are_sharpened_alike() -> None:
    ensemble = EnsembleNetwork(make_members(), TorchLabels(), 3.0)
    with torch.no_grad():
        p, logits = ensemble.probabilities(X).double().numpy(), ensemble(X).double().numpy()
    np.testing.assert_allclose(sharpened(p, 3.0), logits, atol=1e-4)
    assert abs(sharpened(np.array([[0.0, 1.0]]), GREEDY)).max() == LARGEST_LOGIT


def test_sharpness_is_part_of_the_state() -> None:
    ensemble, other = (
        EnsembleNetwork(make_members(), TorchLabels(), 5.0),
        EnsembleNetwork(make_members(), TorchLabels()),
    )
    other.load_state_dict(ensemble.state_dict())
    assert float(other.sharpness) == 5.0


def test_lots_of_rows_do_not_change_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    members = [PolicyNetwork(3, 5, NetworkSize((4,), False), generator) for _ in range(3)]
    ensemble = EnsembleNetwork(members, TorchOneOf(5))
    x = torch.randn(11, 3, generator=generator)
    whole = ensemble.probabilities(x)
    monkeypatch.setattr(networks, "BLOCK_NUMBERS", 20)  # four rows at a time
    torch.testing.assert_close(ensemble.probabilities(x), whole)
    assert ensemble.probabilities(x[:0]).shape == (0, 5)
