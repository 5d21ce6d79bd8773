"""Logging policies: linear ones, sharpened or flattened by alpha (section 5.1.1).

h^w(y|x) proportional to exp(alpha w' phi(x, y)); `crf.py` finds w.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix
from multilogger.components.datasets.labelled_data import Features, append_constant
from multilogger.components.errors import BadInput

BLOCK_ROWS = 4096  # logits are always taken in these blocks, so that their bits never depend on a batch size
WIDEST = 5000  # the shorter side of a least-squares problem; beyond it a logger has no linear form
NEGLIGIBLE = 1e-12  # of the largest singular value


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


def least_norm_map(x: Matrix, logits: Matrix) -> Matrix:
    """The weights of contexts (m, d) whose outputs are nearest to logits (m, q), of least norm: (d, q).

    A regularised linear logger is its own: its weights are a sum of contexts as they came, so that the
    solution of least norm finds them also where there are fewer contexts than features.
    """
    if x.shape[1] > x.shape[0]:
        return np.asarray(x.T @ np.linalg.lstsq(x @ x.T, logits, NEGLIGIBLE)[0])
    norms = np.linalg.norm(x, axis=0)
    norms[norms == 0] = 1.0  # a feature that is always 0 has no say
    unit = x / norms
    return np.asarray(np.linalg.lstsq(unit.T @ unit, unit.T @ logits, NEGLIGIBLE)[0] / norms[:, None])


def random_share(rows: int, fraction: float, rng: np.random.Generator) -> NDArray[np.intp]:
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
