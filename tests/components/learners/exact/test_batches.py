import torch

from multilogger.components.learners.exact.batches import SortedRows
from multilogger.components.log.memory import TrainingLog


def test_an_epoch_holds_every_context_and_every_row_once(log: TrainingLog) -> None:
    part = log.part(validation=False)
    rows = SortedRows.of(part, log.contexts)
    batches = list(rows.batches(7, torch.Generator().manual_seed(0)))
    assert len(batches) == 7
    assert torch.equal(torch.cat([b.contexts for b in batches]).sort().values, torch.arange(log.contexts))
    assert torch.equal(torch.cat([b.rows for b in batches]).sort().values, torch.arange(len(part.delta)))


def test_place_points_to_the_context_of_the_row(log: TrainingLog) -> None:
    part = log.part(validation=False)
    rows = SortedRows.of(part, log.contexts)
    for batch in rows.batches(4, torch.Generator().manual_seed(1)):
        assert torch.equal(batch.contexts[batch.place], torch.from_numpy(part.context)[batch.rows])


def test_contexts_without_rows_come_along(log: TrainingLog) -> None:
    """Their divergence counts, although no action was logged at them."""
    rows = SortedRows.of(log.part(validation=False), log.contexts + 3)
    batches = list(rows.batches(2, torch.Generator().manual_seed(1)))
    assert sum(len(b.contexts) for b in batches) == log.contexts + 3
    assert rows.count[-3:].sum() == 0


def test_as_many_steps_as_the_row_learners_take(log: TrainingLog) -> None:
    part = log.part(validation=False)
    rows = SortedRows.of(part, log.contexts)
    steps = len(rows.rows.batches(64, torch.Generator().manual_seed(0)))
    assert rows.steps(64) == steps
    assert rows.steps(10**9) == 1
