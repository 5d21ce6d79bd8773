"""The embedded datasets, which need no download: `digits` and `pairwise`.

`digits`: scikit-learn's 1,797 images of 8 x 8 pixels, with ten one-hot labels or one of ten classes.

`pairwise`, simulated: six labels in a ring, of which no two neighbours are ever true together. With the
crowding loss it is a problem that the additive loss model cannot describe: a logger that takes neighbours
together pays for it, so each label looks costly, though the true ones alone are cheap.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.one_of import OneOf
from multilogger.components.datasets.labelled_data import LabelledData, TrainTest

DIGITS_SEED = 20190804  # fixed: the split is part of the dataset, not of an experiment
DIGITS_TEST_ROWS = 540
CLASSES = 10

PAIRWISE_SEED = 20190805  # fixed: the draws are the dataset, not an experiment
FEATURES, LABELS = 12, 6
TRAIN_ROWS, TEST_ROWS = 1500, 1000
THRESHOLD = 0.3  # a label must score this much, and more than both of its neighbours, to be true
NOISE = 0.3  # what the scores hold beside the features


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
    order = np.random.default_rng(DIGITS_SEED).permutation(len(bunch.target))
    x = (bunch.data[order] / 16.0).astype(np.float32)
    y = bunch.target[order].astype(np.int64)
    return TrainTest(
        train=LabelledData(x[DIGITS_TEST_ROWS:], y[DIGITS_TEST_ROWS:], OneOf(CLASSES)),
        test=LabelledData(x[:DIGITS_TEST_ROWS], y[:DIGITS_TEST_ROWS], OneOf(CLASSES)),
    )


def load_pairwise_split() -> TrainTest:
    """Normal features, labels from noisy linear scores of them; 1500 train and 1000 test."""
    rng = np.random.default_rng(PAIRWISE_SEED)
    slopes = rng.normal(size=(FEATURES, LABELS)) / np.sqrt(FEATURES)
    x = rng.normal(size=(TRAIN_ROWS + TEST_ROWS, FEATURES))
    scores = x @ slopes + NOISE * rng.normal(size=(len(x), LABELS))
    y = local_peaks(scores)
    data = LabelledData.of_labels(x.astype(np.float32), y)
    rows = np.arange(data.rows)
    return TrainTest(train=data.take(rows[:TRAIN_ROWS]), test=data.take(rows[TRAIN_ROWS:]))


def local_peaks(scores: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Labels (n, q) whose score is above the threshold and above both neighbours in the ring."""
    above = (scores > np.roll(scores, 1, axis=1)) & (scores > np.roll(scores, -1, axis=1))
    return (above & (scores > THRESHOLD)).astype(np.uint8)


EMBEDDED: dict[str, Callable[[], TrainTest]] = {
    "digits": load_digits_split,
    "pairwise": load_pairwise_split,
    "digits-one-of": load_digits_classes,
}
