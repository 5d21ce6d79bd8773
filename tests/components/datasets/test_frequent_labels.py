import re

import numpy as np
import pytest

from multilogger.components.datasets.labelled_data import LabelledData, TrainTest
from multilogger.components.datasets.reduction import keep_frequent_labels
from multilogger.components.errors import BadInput

TRAIN = np.array([[1, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]], dtype=np.uint8)  # 1, 1, 3 and 3 positives
TEST = np.array([[0, 1, 0, 1], [1, 1, 0, 0]], dtype=np.uint8)


def split(y: np.ndarray) -> LabelledData:
    return LabelledData.of_labels(np.arange(2.0 * len(y), dtype=np.float32).reshape(-1, 2), y)


@pytest.mark.parametrize(("count", "kept"), [(1, [2]), (2, [2, 3]), (3, [0, 2, 3]), (4, [0, 1, 2, 3])])
def test_labels_with_most_positives_in_train_stay_in_order(count: int, kept: list[int]) -> None:
    """Labels 0 and 1 have one positive each, so the first of them comes first."""
    data = TrainTest(split(TRAIN), split(TEST))
    smaller = keep_frequent_labels(data, count)
    np.testing.assert_array_equal(smaller.train.y, TRAIN[:, kept])
    np.testing.assert_array_equal(smaller.test.y, TEST[:, kept])
    np.testing.assert_array_equal(smaller.train.x, data.train.x)
    np.testing.assert_array_equal(smaller.test.x, data.test.x)


def test_no_label_kept_is_empty_while_another_is_left_out() -> None:
    rare = np.array([[0, 1, 0], [0, 1, 1]], dtype=np.uint8)
    assert keep_frequent_labels(TrainTest(split(rare), split(rare)), 2).train.y.sum(axis=0).min() == 1


@pytest.mark.parametrize("count", [0, 5])
def test_refused_number_of_labels(count: int) -> None:
    message = (
        f"the labels kept must be at least 1 and at most all 4, got {count}; "
        "choose fewer with --set reduce.labels, or 0 to keep all"
    )
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        keep_frequent_labels(TrainTest(split(TRAIN), split(TEST)), count)
