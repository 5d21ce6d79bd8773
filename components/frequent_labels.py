"""A smaller problem of the same kind: a dataset with only its most frequent labels."""

import numpy as np

from multilogger.components.errors import BadInput
from multilogger.components.labelled_data import LabelledData, TrainTest


def keep_frequent_labels(data: TrainTest, count: int) -> TrainTest:
    """Both splits with the `count` labels that have most positives in train, in the order they stood in.

    Of labels with as many positives the first are taken. Features and rows stay as they are.
    """
    if not 1 <= count <= data.train.labels:
        raise BadInput(
            f"the labels kept must be at least 1 and at most all {data.train.labels}, got {count}; "
            "choose fewer with --set reduce.labels, or 0 to keep all"
        )
    positives = data.train.y.sum(axis=0, dtype=np.int64)
    kept = np.sort(np.argsort(-positives, kind="stable")[:count])
    return TrainTest(
        LabelledData(data.train.x, np.ascontiguousarray(data.train.y[:, kept])),
        LabelledData(data.test.x, np.ascontiguousarray(data.test.y[:, kept])),
    )
