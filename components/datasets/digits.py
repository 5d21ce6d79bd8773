"""Embedded: scikit-learn's 1,797 images of 8 x 8 pixels, with ten one-hot labels or one of ten classes."""

import numpy as np

from multilogger.components.actions.one_of import OneOf
from multilogger.components.datasets.labelled_data import LabelledData, TrainTest

SPLIT_SEED = 20190804  # fixed: the split is part of the dataset, not of an experiment
TEST_ROWS = 540
CLASSES = 10


def load_digits_split() -> TrainTest:
    """The split of `load_digits_classes` with one-hot labels."""
    both = load_digits_classes()
    one_hot = np.eye(CLASSES, dtype=np.uint8)
    return TrainTest(
        train=LabelledData.of_labels(both.train.x, one_hot[both.train.y]),
        test=LabelledData.of_labels(both.test.x, one_hot[both.test.y]),
    )


def load_digits_classes() -> TrainTest:
    """Pixels scaled to [0, 1], rows shuffled once with a fixed seed, 1257 train and 540 test."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.random.default_rng(SPLIT_SEED).permutation(len(bunch.target))
    x = (bunch.data[order] / 16.0).astype(np.float32)
    y = bunch.target[order].astype(np.int64)
    return TrainTest(
        train=LabelledData(x[TEST_ROWS:], y[TEST_ROWS:], OneOf(CLASSES)),
        test=LabelledData(x[:TEST_ROWS], y[:TEST_ROWS], OneOf(CLASSES)),
    )
