"""Keys of contexts are numbered in the order in which they come, whether or not two are the same."""

import numpy as np
import pytest

from multilogger.components.long_log import records


@pytest.mark.parametrize(
    ("keys", "numbers"),
    [
        ([9, 4, 7, 1], [0, 1, 2, 3]),
        ([9, 9, 7, 9], [0, 0, 1, 0]),
        ([9, 4, 7, 4], [0, 1, 2, 1]),  # the first two differ
        ([2**64 - 1, 5, 2**64 - 1, 0], [0, 1, 0, 2]),
        ([3], [0]),
    ],
)
def test_numbers_of_contexts(keys: list[int], numbers: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "FIRST_KEYS", 2)
    assert records._numbers(np.array(keys, dtype=np.uint64)).tolist() == numbers
