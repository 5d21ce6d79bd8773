"""Sums over the rows at each context, against the rows themselves."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from multilogger.components.learners.loss_models.additive_rows import ContextMoments, shortest_type
from multilogger.components.log.memory import TrainingLog
from multilogger.components.log.reading import open_streamed_log


@pytest.mark.parametrize(("passes", "kind"), [((20, 3), torch.int8), ((200, 3), torch.int16)])
def test_products_are_those_of_the_rows(
    make_log: Callable[..., TrainingLog],
    write_log: Callable[..., Path],
    tmp_path: Path,
    passes: tuple[int, int],
    kind: torch.dtype,
) -> None:
    log = make_log(contexts=6, passes=passes)
    moments = ContextMoments(open_streamed_log(write_log(log, tmp_path), log.x))
    assert moments.pairs.dtype == kind
    part = log.part(validation=False)
    groups = torch.tensor([4, 0, 3])
    found = moments.products(groups)
    for j in range(2):
        for place, context in enumerate(moments.context[groups].tolist()):
            z = 1.0 - 2.0 * part.action[(part.logger == j) & (part.context == context)]
            np.testing.assert_array_equal(found[j, place].numpy(), z.T @ z)


def test_numbers_are_as_short_as_the_counts_allow() -> None:
    assert [shortest_type(n) for n in (127, 128, 32767, 32768, 2**31)] == [
        torch.int8,
        torch.int16,
        torch.int16,
        torch.int32,
        torch.int64,
    ]
