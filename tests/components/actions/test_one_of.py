import numpy as np
import pytest
import torch

from multilogger.components.actions import torch_one_of
from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.one_of import (
    OneOf,
    blocks,
    bounded,
    draw,
    expected_by_action,
    greedy,
    log_average,
    log_d2,
    log_max_ratio,
    log_normaliser,
    log_probability,
    log_probability_at,
    log_probability_of_all,
    log_probability_slope,
    probabilities,
    sharpened,
)
from multilogger.components.errors import BadInput

K = 4
SPACE = OneOf(K)


@pytest.fixture
def logits(rng: np.random.Generator) -> Matrix:
    return rng.normal(scale=2.0, size=(6, K))


@pytest.fixture
def others(rng: np.random.Generator) -> list[Matrix]:
    return [rng.normal(size=(6, K)), rng.normal(scale=3.0, size=(6, K))]


def test_values_by_hand() -> None:
    z = np.log(np.array([[1.0, 2.0, 1.0, 4.0]]))
    np.testing.assert_allclose(probabilities(z), [[0.125, 0.25, 0.125, 0.5]])
    np.testing.assert_allclose(log_probability(z, np.array([3])), [np.log(0.5)])
    assert greedy(z).tolist() == [3]
    uniform = np.zeros((1, K))
    # sum_a h^2 / (1/4) = 4 (1/64 + 1/16 + 1/64 + 1/4)
    np.testing.assert_allclose(np.exp(log_d2(z, uniform)), [1.375])
    np.testing.assert_allclose(np.exp(log_max_ratio(z, uniform)), [2.0])
    np.testing.assert_allclose(expected_by_action(z, np.array([[0.0, 1.0, 2.0, 3.0]])), [2.0])


def test_chances_of_all_actions_add_up_to_one(logits: Matrix) -> None:
    every = [np.exp(log_probability(logits, np.full(len(logits), a))) for a in range(K)]
    np.testing.assert_allclose(np.sum(every, axis=0), 1.0)
    np.testing.assert_allclose(np.stack(every, axis=1), probabilities(logits))
    np.testing.assert_allclose(np.exp(log_probability_of_all(logits)), probabilities(logits))


def test_divergences_are_sums_over_actions(logits: Matrix, others: list[Matrix]) -> None:
    h, h_j = probabilities(logits), probabilities(others[0])
    np.testing.assert_allclose(np.exp(log_d2(logits, others[0])), (h**2 / h_j).sum(axis=1))
    np.testing.assert_allclose(np.exp(log_max_ratio(logits, others[0])), (h / h_j).max(axis=1))
    np.testing.assert_allclose(log_d2(logits, logits), 0.0, atol=1e-15)
    assert (log_d2(logits, logits) >= 0).all()


def test_average_of_loggers_is_a_policy(logits: Matrix, others: list[Matrix]) -> None:
    counts = np.array([3.0, 1.0])
    h_avg = 0.75 * probabilities(others[0]) + 0.25 * probabilities(others[1])
    np.testing.assert_allclose(np.exp(log_average(others, counts)), h_avg)
    (table,), rows = SPACE.averaged(others, counts)
    assert rows.tolist() == [4.0]
    exact = (probabilities(logits) ** 2 / h_avg).sum(axis=1)
    np.testing.assert_allclose(np.exp(log_d2(logits, table)), exact)


def test_blocks_do_not_change_a_figure(
    logits: Matrix, others: list[Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    def figures() -> list[Matrix]:
        rng = np.random.default_rng(0)
        values = np.arange(6.0 * K).reshape(6, K)
        return [
            log_d2(logits, others[0]),
            log_max_ratio(logits, others[0]),
            log_average(others, np.ones(2)),
            draw(logits, rng).astype(np.float64),
            expected_by_action(logits, values),
            log_normaliser(logits),
        ]

    whole = figures()
    monkeypatch.setattr("multilogger.components.actions.one_of.BLOCK_NUMBERS", 2 * K)
    assert len(blocks(logits)) == 3
    for one, other in zip(whole, figures(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_draws_have_the_policys_chances() -> None:
    z = np.log(np.array([[0.1, 0.2, 0.3, 0.4]]))
    drawn = draw(np.repeat(z, 20_000, axis=0), np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(drawn) / 20_000, [0.1, 0.2, 0.3, 0.4], atol=0.015)


def test_slope_is_that_of_the_log_probability(logits: Matrix) -> None:
    y, step = np.array([0, 1, 2, 3, 0, 1]), 1e-6
    slope = log_probability_slope(probabilities(logits), y)
    for a in range(K):
        moved = logits.copy()
        moved[:, a] += step
        difference = (log_probability(moved, y) - log_probability(logits, y)) / step
        np.testing.assert_allclose(slope[:, a], difference, atol=1e-5)


@pytest.mark.parametrize("sharpness", [1.0, 3.0, 1e4])
def test_sharpened_policies_are_never_quite_sure(sharpness: float) -> None:
    p = np.array([[0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 0.0, 1.0]])
    sharp = probabilities(sharpened(p, sharpness))
    assert sharp.max() <= 1 - 0.8e-6
    assert (sharp.argmax(axis=1) == 3).all()
    expected = p[0] ** sharpness / (p[0] ** sharpness).sum() if sharpness < 10 else [0, 0, 0, 1]
    np.testing.assert_allclose(sharp[0], expected, atol=1e-5)


def test_which_numbers_are_actions() -> None:
    assert SPACE.is_action(np.array([0, 3, 4, -1, 1.5])).tolist() == [True, True, False, False, False]
    assert SPACE.same(np.array([0, 1]), np.array([0, 2])).tolist() == [True, False]


def test_column_of_a_file_holds_the_numbers() -> None:
    column = SPACE.to_arrow(np.array([3, 0]))
    assert column.type == SPACE.arrow_type
    assert SPACE.of_arrow(column).tolist() == [3, 0]


def test_bad_shapes(logits: Matrix) -> None:
    with pytest.raises(BadInput, match="policy and actions must have the same rows, got 6 and 2"):
        log_probability(logits, np.array([0, 1]))
    with pytest.raises(BadInput, match=r"same rows and actions, got \(6, 4\) and \(6, 3\)"):
        log_d2(logits, logits[:, :3])


def test_torch_says_the_same(logits: Matrix, others: list[Matrix]) -> None:
    z, y, context = torch.from_numpy(logits), np.array([0, 1, 2, 3, 0, 1]), np.array([5, 0, 0, 2])
    space, action = SPACE.torch, torch.from_numpy(y)
    np.testing.assert_allclose(space.log_probability(z, action), log_probability(logits, y))
    for same in (space.log_probability_at, space.log_probability_of_rows):
        found = same(z, torch.from_numpy(context), action[:4])
        np.testing.assert_allclose(found, log_probability_at(logits, context, y[:4]))
    grouped = space.log_probability_grouped(z, action[:, None].repeat(1, 2))
    np.testing.assert_allclose(grouped[:, 1], log_probability(logits, y))
    np.testing.assert_allclose(space.probabilities(z), probabilities(logits))
    p = probabilities(logits)
    np.testing.assert_allclose(
        space.sharpened(torch.from_numpy(p), torch.tensor(2.0)), sharpened(p, 2.0), rtol=1e-6
    )
    np.testing.assert_allclose(space.bounded(9 * z), bounded(9 * logits))
    loggers = space.known_loggers(others)
    columns = np.stack([log_d2(logits, other) for other in others], axis=1)
    np.testing.assert_allclose(loggers.log_d2(z), columns)
    np.testing.assert_allclose(loggers.at(torch.tensor([4, 1])).log_d2(z[[4, 1]]), columns[[4, 1]])
    assert loggers.count == 2
    np.testing.assert_array_equal(loggers.logits_of(1), others[1])


def test_cross_entropy_takes_actions_and_chances() -> None:
    z, y = torch.tensor([[0.0, 1.0, 2.0, 3.0]]), torch.tensor([1])
    by_action = SPACE.torch.cross_entropy(z, y)
    by_chances = SPACE.torch.cross_entropy(z, SPACE.torch.encoded(y))
    torch.testing.assert_close(by_action, by_chances)
    torch.testing.assert_close(by_action, -torch_one_of.log_probability(z, y)[0])


@pytest.mark.parametrize("tau", [0.5, 1.0, 5.0])
def test_relaxed_samples_stand_for_actions_of_the_policy(tau: float) -> None:
    """The Gumbel-softmax formula of section 4.2: the largest number is that of a with probability h_a."""
    z = torch.log(torch.tensor([[0.1, 0.2, 0.3, 0.4]])).repeat(20_000, 1)
    y = torch_one_of.relaxed_sample(z, tau, torch.Generator().manual_seed(0))
    torch.testing.assert_close(y.sum(dim=1), torch.ones(20_000))
    whole = SPACE.torch.whole(y)
    assert set(whole.flatten().tolist()) == {0.0, 1.0}
    torch.testing.assert_close(whole.mean(dim=0), torch.tensor([0.1, 0.2, 0.3, 0.4]), atol=0.015, rtol=0)


def test_relaxed_sample_is_the_printed_formula() -> None:
    z = torch.tensor([[0.5, -1.0, 2.0, 0.0]], dtype=torch.float64)
    u = torch.rand((1, K), generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    g = -torch.log(-torch.log(u))
    log_pi = torch.log_softmax(z, dim=1)
    expected = torch.exp((log_pi + g) / 0.7) / torch.exp((log_pi + g) / 0.7).sum()
    found = torch_one_of.relaxed_sample(z, 0.7, torch.Generator().manual_seed(3))
    torch.testing.assert_close(found, expected)


def test_relaxed_samples_carry_gradients_and_whole_ones_do_not() -> None:
    z = torch.zeros((2, K), requires_grad=True)
    y = torch_one_of.relaxed_sample(z, 1.0, torch.Generator().manual_seed(0))
    y[:, 0].sum().backward()  # type: ignore[no-untyped-call]
    assert z.grad is not None
    assert float(z.grad.abs().sum()) > 0
    assert not SPACE.torch.whole(y).requires_grad
    with pytest.raises(BadInput, match="the temperature tau must be above 0, got 0"):
        torch_one_of.relaxed_sample(z, 0.0, torch.Generator())
