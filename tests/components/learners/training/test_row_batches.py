import numpy as np
import torch

from multilogger.components.learners.training.row_batches import MOST_ROWS, PaddedGroups


def test_rows_stand_with_their_context() -> None:
    rows = PaddedGroups.of(np.array([3, 1, 3, 0, 3]))
    assert rows.context.tolist() == [0, 1, 3]
    column = torch.tensor([10.0, 11.0, 12.0, 13.0, 14.0])
    assert rows.gather(column).tolist() == [[13.0, 0.0, 0.0], [11.0, 0.0, 0.0], [10.0, 12.0, 14.0]]
    assert rows.present.sum(dim=1).tolist() == [1.0, 1.0, 3.0]
    table = torch.stack([column, -column], dim=1)
    assert rows.gather(table)[2].tolist() == [[10.0, -10.0], [12.0, -12.0], [14.0, -14.0]]


def test_a_context_of_many_rows_makes_several_groups() -> None:
    context = np.array([5] * (2 * MOST_ROWS + 3) + [6])
    rows = PaddedGroups.of(context)
    assert rows.context.tolist() == [5, 5, 5, 6]
    assert rows.present.sum(dim=1).tolist() == [16.0, 16.0, 3.0, 1.0]
    kept = rows.row[rows.present > 0]
    assert sorted(kept.tolist()) == list(range(len(context)))
