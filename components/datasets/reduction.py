"""Smaller problems of the same kind: a truncated SVD of wide features, the most frequent labels alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.labels import Labels
from multilogger.components.datasets.labelled_data import Features, LabelledData, TrainTest
from multilogger.components.errors import BadInput


@dataclass(frozen=True)
class Reduction:
    """`axes` (k, d): the right singular vectors; `explained` (k,): share of variance of each."""

    axes: NDArray[np.float32]
    explained: NDArray[np.float64]

    def apply(self, x: Features) -> NDArray[np.float32]:
        """Project x (n, d) to (n, k)."""
        return np.ascontiguousarray(x @ self.axes.T, dtype=np.float32)


def fit_reduction(x: Features, dims: int, seed: int) -> Reduction:
    """Fit on train only; randomised solver, its start fixed by `seed`.

    No more dimensions are kept than the matrix has.
    """
    from sklearn.decomposition import TruncatedSVD

    kept = min(dims, *x.shape)
    svd = TruncatedSVD(n_components=kept, algorithm="randomized", random_state=seed).fit(x)
    return Reduction(
        axes=svd.components_.astype(np.float32), explained=svd.explained_variance_ratio_.astype(np.float64)
    )


def keep_frequent_labels(data: TrainTest, count: int) -> TrainTest:
    """Both splits with the `count` labels that have most positives in train, in the order they stood in.

    Of labels with as many positives the first are taken. Features and rows stay as they are.
    """
    if not isinstance(data.train.space, Labels):
        raise BadInput("only label vectors can be kept in part; leave out --set reduce.labels")
    if not 1 <= count <= data.train.space.size:
        raise BadInput(
            f"the labels kept must be at least 1 and at most all {data.train.space.size}, got {count}; "
            "choose fewer with --set reduce.labels, or 0 to keep all"
        )
    positives = data.train.y.sum(axis=0, dtype=np.int64)
    kept = np.sort(np.argsort(-positives, kind="stable")[:count])
    return TrainTest(
        LabelledData.of_labels(data.train.x, np.ascontiguousarray(data.train.y[:, kept])),
        LabelledData.of_labels(data.test.x, np.ascontiguousarray(data.test.y[:, kept])),
    )
