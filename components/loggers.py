"""Logging policies: one logistic regression a label, sharpened or flattened by alpha (section 5.1.1).

The paper calls this a CRF; with no edges between labels it is logistic regression label by label,
h^w(y|x) proportional to exp(alpha w' phi(x, y)).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multilogger.components.errors import BadInput
from multilogger.components.labelled_data import Features, LabelledData, append_constant
from multilogger.components.policies import Matrix, logits_of

BLOCK_ROWS = 4096  # logits are always taken in these blocks, so that their bits never depend on a batch size


@dataclass(frozen=True)
class LinearPolicy:
    """Logits = alpha (x, 1) weights': `weights` (q, d + 1), the last column being the bias."""

    weights: Matrix
    alpha: float = 1.0

    def logits(self, x: Features) -> Matrix:
        """Logits of every row of x (n, d): (n, q)."""
        if x.shape[1] + 1 != self.weights.shape[1]:
            raise BadInput(
                f"the policy expects {self.weights.shape[1] - 1} features, got {x.shape[1]}; "
                "use the dataset it was fitted on"
            )
        blocks = [
            append_constant(x[start : start + BLOCK_ROWS]) @ self.weights.T
            for start in range(0, x.shape[0], BLOCK_ROWS)
        ]
        return self.alpha * np.concatenate(blocks).astype(np.float64)


def fit_crf(data: LabelledData, C: float, on_label: Callable[[], None] = lambda: None) -> Matrix:
    """Weights (q, d + 1) of one L2-regularised logistic regression a label.

    Choice: a constant 1 column instead of an intercept, so that the bias is regularised and scaled
    by alpha as every other weight is; with it the paper's logger rows are met to 1 %.
    `on_label` is called after each label.
    """
    x = append_constant(data.x)
    weights = np.empty((data.labels, x.shape[1]), dtype=np.float64)
    for label in range(data.labels):
        weights[label] = _fit_label(x, data.y[:, label], C)
        on_label()
    return weights


def _fit_label(x: Features, y: NDArray[np.uint8], C: float) -> NDArray[np.float64]:
    """Weights (d + 1,) of one label; a label seen in one class only gets the smoothed rate as its bias."""
    from sklearn.linear_model import LogisticRegression

    positives = int(y.sum())
    if positives in (0, len(y)):
        constant = np.zeros(x.shape[1])
        constant[-1:] = logits_of(np.array([(positives + 1.0) / (len(y) + 2.0)]))
        return constant
    model = LogisticRegression(C=C, fit_intercept=False, max_iter=5000)
    return np.asarray(model.fit(x, y).coef_[0], dtype=np.float64)


def sample_rows(rows: int, fraction: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """The rows of a random share of train, in ascending order."""
    count = max(1, round(fraction * rows))
    return np.sort(rng.permutation(rows)[:count])


def save_policies(path: Path, policies: dict[str, LinearPolicy]) -> None:
    """Write named linear policies to one safetensors file."""
    from safetensors.numpy import save_file

    tensors = {f"{name}/weights": np.ascontiguousarray(policy.weights) for name, policy in policies.items()}
    tensors |= {f"{name}/alpha": np.array([policy.alpha]) for name, policy in policies.items()}
    save_file(tensors, path)


def load_policies(path: Path) -> dict[str, LinearPolicy]:
    """Read what `save_policies` wrote, by name."""
    from safetensors.numpy import load_file

    tensors = load_file(path)
    names = sorted({key.rsplit("/", 1)[0] for key in tensors})
    return {
        name: LinearPolicy(tensors[f"{name}/weights"], float(tensors[f"{name}/alpha"][0])) for name in names
    }
