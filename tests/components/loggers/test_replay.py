import numpy as np
import pytest
from scipy import stats

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.label_losses import hamming
from multilogger.components.actions.labels import Labels, marginals
from multilogger.components.log.columns import find_columns
from multilogger.components.log.disk import to_rows
from multilogger.components.log.files import ColumnBatch
from multilogger.components.log.schema import LogOrigin, LogRows, log_schema, to_table
from multilogger.components.loggers.replay import ReplayPlan, SplitBy, replay_pass, validation_rows


def plan(seed: int = 3, batch_rows: int = 64, split_by: SplitBy = SplitBy.ROW) -> ReplayPlan:
    return ReplayPlan(seed, 0.25, split_by, batch_rows)


def together(batches: list[LogRows]) -> LogRows:
    return LogRows(
        **{name: np.concatenate([getattr(b, name) for b in batches]) for name in LogRows.__dataclass_fields__}
    )


def replay_all(
    logits: list[Matrix],
    truth: np.ndarray[tuple[int, int], np.dtype[np.uint8]],
    j: int,
    r: int,
    p: ReplayPlan,
) -> LogRows:
    return together(list(replay_pass(Labels(truth.shape[1]), logits, truth, j, r, p)))


def problem(
    rng: np.random.Generator, rows: int = 200, labels: int = 6
) -> tuple[list[Matrix], np.ndarray[tuple[int, int], np.dtype[np.uint8]]]:
    base = rng.normal(size=(rows, labels))
    return [0.05 * base, 2.0 * base], (rng.random((rows, labels)) < 0.4).astype(np.uint8)


def test_label_frequencies_match_the_logger(rng: np.random.Generator) -> None:
    """Chi-square of label counts over passes against the logger's probabilities, for every (x, l) cell."""
    logits, truth = problem(rng, rows=40)
    passes = 400
    for j in (0, 1):
        counts = sum(replay_all(logits, truth, j, r, plan()).action.astype(float) for r in range(passes))
        p = marginals(logits[j])
        cells = passes * np.minimum(p, 1 - p) >= 5
        statistic = ((counts - passes * p) ** 2 / (passes * p * (1 - p)))[cells].sum()
        assert 0.001 < stats.chi2(cells.sum()).cdf(statistic) < 0.999


def test_a_wrong_logger_fails_the_same_test(rng: np.random.Generator) -> None:
    logits, truth = problem(rng, rows=40)
    counts = sum(replay_all(logits, truth, 1, r, plan()).action.astype(float) for r in range(400))
    p = marginals(logits[0])
    statistic = ((counts - 400 * p) ** 2 / (400 * p * (1 - p))).sum()
    assert stats.chi2(p.size).sf(statistic) < 1e-9


def test_propensities_are_the_products_of_the_policy(rng: np.random.Generator) -> None:
    logits, truth = problem(rng)
    rows = replay_all(logits, truth, 1, 0, plan())
    for k in (0, 1):
        p = marginals(logits[k])
        product = np.where(rows.action == 1, p, 1 - p).prod(axis=1)
        np.testing.assert_allclose(np.exp(rows.log_propensities[:, k]), product, rtol=1e-12)
    np.testing.assert_array_equal(rows.log_propensity, rows.log_propensities[:, 1])
    np.testing.assert_array_equal(rows.delta, hamming(rows.action, truth))


@pytest.mark.parametrize("batch_rows", [1, 7, 200, 1000])
def test_batch_size_changes_nothing(rng: np.random.Generator, batch_rows: int) -> None:
    logits, truth = problem(rng)
    one, other = (replay_all(logits, truth, 0, 2, plan(batch_rows=b)) for b in (64, batch_rows))
    for name in LogRows.__dataclass_fields__:
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


def test_passes_loggers_and_seeds_have_streams_of_their_own(rng: np.random.Generator) -> None:
    base = rng.normal(size=(300, 6))
    logits, truth = [base, base], np.zeros((300, 6), dtype=np.uint8)
    actions = [
        replay_all(logits, truth, j, r, plan(seed)).action.tobytes()
        for j in (0, 1)
        for r in (0, 1)
        for seed in (0, 1)
    ]
    assert len(set(actions)) == 8


def test_a_quarter_of_every_pass_is_kept_aside() -> None:
    first, second = (validation_rows(plan(), 1500, 0, r) for r in (0, 1))
    assert first.sum() == second.sum() == 375
    assert (first != second).any()


def test_split_by_context_keeps_a_context_on_one_side() -> None:
    by_context = plan(split_by=SplitBy.CONTEXT)
    sides = [validation_rows(by_context, 1500, j, r) for j in (0, 1) for r in (0, 1)]
    assert all((side == sides[0]).all() for side in sides)
    assert sides[0].sum() == 375


def test_rows_survive_arrow(rng: np.random.Generator) -> None:
    logits, truth = problem(rng)
    rows = replay_all(logits, truth, 0, 0, plan())
    schema = log_schema(Labels(6), 2, LogOrigin("yeast", 3, 0, 0.05, 1))
    table = to_table(rows, schema)
    columns = find_columns([*table.column_names, "logger"], contexts_given=True)
    back = to_rows(ColumnBatch("log", np.arange(len(table)), table.to_batches()[0]), columns, Labels(6))
    for name in LogRows.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(back, name), getattr(rows, name))
    assert table.schema.metadata == {
        b"dataset": b"yeast", b"seed": b"3", b"logger": b"0", b"alpha": b"0.05", b"pass": b"1",
    }  # fmt: skip
    assert all(field.metadata[b"meaning"] for field in table.schema)
    assert table.schema.field("delta").metadata[b"meaning"] == b"loss of the action"
    wrong = log_schema(Labels(6), 2, loss="hamming").field("delta").metadata[b"meaning"]
    assert wrong == b"loss of the action: number of wrong labels"
