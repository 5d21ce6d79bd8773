"""The loss model of one-of-K actions."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from multilogger.components.actions.space import GREEDY
from multilogger.components.learners.loss_models.choice import ChoiceModel, ContestedModel, choice_model
from multilogger.components.learners.loss_models.form import ChoiceForm, log_loss
from multilogger.components.learners.loss_models.pair_sums import PairSums, RightActions
from tests.components.conftest import make_training_log
from tests.components.every_setting import EverySetting

SETTINGS = EverySetting(hidden=(8,), batch_norm=False, risk_rate=1e-2, context_batch=32, epochs=5, folds=2)


def pairs_of(rows: list[tuple[int, int, float]], actions: int = 3) -> PairSums:
    context, action, delta = (np.array(column) for column in zip(*rows, strict=True))
    return PairSums.of([(context, action, delta.astype(np.float64))], actions)


def test_pairs_sum_up_rows_in_any_lots(monkeypatch: pytest.MonkeyPatch) -> None:
    part = make_training_log(actions="one-of").part(validation=False)
    columns = part.context, part.action, part.delta
    whole = PairSums.of([columns], 3)
    assert whole.count.sum() == len(part.delta)
    assert whole.loss.sum() == pytest.approx(part.delta.sum())
    at = (whole.context == part.context[0]) & (whole.action == part.action[0])
    rows = (part.context == part.context[0]) & (part.action == part.action[0])
    assert (whole.count[at].item(), whole.loss[at].item()) == (rows.sum(), part.delta[rows].sum())
    monkeypatch.setattr("multilogger.components.learners.loss_models.pair_sums.MERGED_PAIRS", 50)
    lots = [
        tuple(column[start : start + 37] for column in columns) for start in range(0, len(part.delta), 37)
    ]
    for one, other in zip(vars(whole).values(), vars(PairSums.of(lots, 3)).values(), strict=True):  # type: ignore[arg-type]
        np.testing.assert_array_equal(one, other)


def test_score_is_the_log_loss_of_the_rows() -> None:
    part = make_training_log(actions="one-of").part(validation=False)
    p = np.random.default_rng(0).uniform(0.1, 0.9, size=(150, 3))
    by_row = ChoiceForm().scores(p, part.context, part.action, part.delta)
    pairs = PairSums.of([(part.context, part.action, part.delta)], 3)
    assert pairs.total_score(p) == pytest.approx(by_row.sum())
    np.testing.assert_allclose(
        log_loss(np.array([0.25]), np.array([1.0]), np.array([2.0])), -np.log(0.25 * 0.75**2)
    )


ONE_EACH = [(c, a, float(a != c % 3)) for c in range(60) for a in range(3)]


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        (ONE_EACH, RightActions.ONE),
        ([*ONE_EACH, (0, 1, 0.0)], RightActions.ANY),  # right and wrong
        ([*ONE_EACH, (60, 0, 0.0), (60, 1, 0.0)], RightActions.ANY),  # two right ones
        ([*ONE_EACH, (60, 0, 0.3)], RightActions.ANY),  # neither right nor wrong
        ([(c, 0, float(c % 2)) for c in range(100)], RightActions.UNKNOWN),  # one row each
    ],
)
def test_rows_tell_how_many_actions_are_right(rows: list[tuple[int, int, float]], kind: RightActions) -> None:
    pairs = pairs_of(rows)
    assert pairs.right_actions() is kind
    x = torch.zeros((int(pairs.context.max()) + 1, 2))
    model = choice_model(x, pairs, 3, SETTINGS, torch.Generator().manual_seed(0))
    if kind is RightActions.UNKNOWN:
        assert isinstance(model, ContestedModel)
    else:
        assert isinstance(model, ChoiceModel)
        assert model.independent is (kind is RightActions.ANY)


def test_likelihood_of_a_context_by_hand() -> None:
    """Action 2 was right; at another context 0 and 1 were wrong; at a third one nothing but 1, wrong."""
    pairs = pairs_of([(0, 2, 0.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 1.0), (2, 1, 1.0)])
    model = ChoiceModel(torch.zeros((3, 2)), pairs, 3, SETTINGS, torch.Generator().manual_seed(0))
    outputs = torch.log(torch.tensor([[0.2, 0.3, 0.5]])).repeat(3, 1).requires_grad_()
    loss = model.batch_loss(0, torch.arange(3), outputs)
    assert loss.item() == pytest.approx(-np.log(0.5 * 0.5 * 0.7) / 3, rel=1e-5)
    loss.backward()  # type: ignore[no-untyped-call]
    assert outputs.grad is not None
    assert torch.isfinite(outputs.grad).all()


def test_independent_likelihood_by_hand() -> None:
    pairs = pairs_of([(0, 2, 0.0), (0, 2, 1.0), (0, 1, 0.25)])
    model = ChoiceModel(
        torch.zeros((1, 2)), pairs, 3, SETTINGS, torch.Generator().manual_seed(0), independent=True
    )
    p = torch.tensor([0.2, 0.3, 0.6])
    loss = model.batch_loss(0, torch.arange(1), torch.logit(p)[None])
    expected = -(np.log(0.6) + np.log(0.4) + 0.75 * np.log(0.3) + 0.25 * np.log(0.7)) / 3
    assert float(loss) == pytest.approx(expected, rel=1e-5)


def test_contest_is_won_by_the_lower_held_out_loss() -> None:
    """Single rows of two actions that are right independently: a softmax would have them add up to 1."""
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(600, 2)).astype(np.float32))
    action = rng.integers(2, size=600)
    pairs = PairSums.of([(np.arange(600), action, (rng.random(600) > 0.9).astype(np.float64))], 2)
    model = choice_model(x, pairs, 2, replace(SETTINGS, epochs=20), torch.Generator().manual_seed(0))
    assert isinstance(model, ContestedModel)
    network = model.network(model.members, 1.0)
    for _ in range(20):
        model.run_epoch()
    assert model.winner.independent
    model.fill(network)
    chances = network.probabilities(x).detach().numpy().mean(axis=0)
    np.testing.assert_allclose(chances, [0.9, 0.9], atol=0.06)
    state = model.state()
    other = choice_model(x, pairs, 2, replace(SETTINGS, epochs=20), torch.Generator().manual_seed(0))
    other.restore(state)
    np.testing.assert_array_equal(other.out_of_fold(), model.out_of_fold())


@pytest.mark.parametrize("independent", [False, True])
def test_an_action_that_nobody_took_has_no_chance(independent: bool) -> None:
    """Though rewards are rare, and all that was tried at a context may be wrong."""
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(200, 2)).astype(np.float32))
    context, action = np.repeat(np.arange(200), 2), rng.integers(3, size=400)
    pairs = PairSums.of([(context, action, (rng.random(400) > 0.1).astype(np.float64))], 5)
    model = ChoiceModel(x, pairs, 5, SETTINGS, torch.Generator().manual_seed(0), independent=independent)
    if independent:
        assert abs(model.member(0)[:, :3].mean().item() - 0.1) < 0.1
    for _ in range(5):
        model.run_epoch()
    assert model.out_of_fold()[:, 3:].max() < 1e-6
    network = model.network(model.members, GREEDY)
    assert set(network(x).argmax(dim=1).tolist()) <= {0, 1, 2}
    np.testing.assert_array_equal(model.out_of_fold(network), model.out_of_fold())
