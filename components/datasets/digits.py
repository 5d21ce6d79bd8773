"""The embedded dataset: scikit-learn's 1,797 images of 8 x 8 pixels, ten one-hot labels."""

import numpy as np

from multilogger.components.datasets.labelled_data import LabelledData, TrainTest

SPLIT_SEED = 20190804  # fixed: the split is part of the dataset, not of an experiment
TEST_ROWS = 540


def load_digits_split() -> TrainTest:
    """Pixels scaled to [0, 1], rows shuffled once with a fixed seed, 1257 train and 540 test."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.random.default_rng(SPLIT_SEED).permutation(len(bunch.target))
    x = (bunch.data[order] / 16.0).astype(np.float32)
    y = np.eye(10, dtype=np.uint8)[bunch.target[order]]
    return TrainTest(
        train=LabelledData.of_labels(x[TEST_ROWS:], y[TEST_ROWS:]),
        test=LabelledData.of_labels(x[:TEST_ROWS], y[:TEST_ROWS]),
    )
