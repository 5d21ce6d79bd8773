"""Truncated SVD of wide sparse features (latent semantic analysis, section 5.1.1)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.errors import BadInput
from multilogger.components.labelled_data import Features


@dataclass(frozen=True)
class Reduction:
    """`axes` (k, d): the right singular vectors; `explained` (k,): share of variance of each."""

    axes: NDArray[np.float32]
    explained: NDArray[np.float64]

    def apply(self, x: Features) -> NDArray[np.float32]:
        """Project x (n, d) to (n, k)."""
        return np.ascontiguousarray(x @ self.axes.T, dtype=np.float32)


def fit_reduction(x: Features, dims: int, seed: int) -> Reduction:
    """Fit on train only; randomised solver, its start fixed by `seed`."""
    from sklearn.decomposition import TruncatedSVD

    if dims >= min(x.shape):
        raise BadInput(
            f"cannot keep {dims} dimensions of a {x.shape[0]} x {x.shape[1]} matrix; "
            f"choose fewer with --set svd_dims={min(x.shape) - 1} or less"
        )
    svd = TruncatedSVD(n_components=dims, algorithm="randomized", random_state=seed).fit(x)
    return Reduction(
        axes=svd.components_.astype(np.float32), explained=svd.explained_variance_ratio_.astype(np.float64)
    )
