"""Weights that add up over labels: the pseudo-inverse estimator (Swaminathan et al. 2017), several loggers.

Not in the paper. Where the loss adds up over labels, delta(x, y) = a(x) + sum_l b_l(x) y_l plus noise, and
logger j draws labels independently with chances p_jl(x), then for any policy with marginals h_l(x)

E[ delta W ] = R(h; x),  W = a_j(x) + sum_l k_jl(x) (y_l - p_jl(x)),

the mean taken over loggers with shares s_j = n_j/n and their actions, whenever sum_j s_j a_j = 1 and, for
every label, sum_j s_j k_jl p_jl (1 - p_jl) = h_l - sum_j s_j a_j p_jl: y_l - p_jl has mean 0 under logger j
and is uncorrelated with every label but its own. The variance of W is a sum over labels, where that of h/h_j
is a product.

- of each logger by itself, a_j = 1 and k_jl = (h_l - p_jl) / (p_jl (1 - p_jl)), which is
  W = 1 + sum_l (h_l/h_jl - 1);
- balanced, those of the least E[W^2] at each context. With v_l = sum_j s_j p_jl (1 - p_jl) and b_j = s_j a_j
  they are k_l = sum_j b_j (h_l - p_jl) / v_l, the same for all loggers, and b = Q^-1 1 / (1' Q^-1 1),
  Q_jk = [j = k] / s_j + sum_l (h_l - p_jl) (h_l - p_kl) / v_l. Marginals of h_avg in the place of p_jl would
  not do: h_avg is a mixture of products, under which labels are dependent.

Weights may be negative. A sum needs no log domain; what is near 0 is a variance p (1 - p), which is taken
from logits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.labels import marginals
from multilogger.components.estimators.logged_batch import Loggers

SMALLEST_VARIANCE = 1e-200  # of a label that a logger never varies: its square still has an inverse


@dataclass(frozen=True)
class AdditiveWeights:
    """The a_j (J, m) and k_jl (J, m, q) of a policy on m contexts, and the loggers' logits (J, m, q).

    `second_moment` (J,) is E_j[W^2] over the contexts, in closed form. An observed variance misleads: rare
    large weights are not seen.
    """

    bases: Matrix
    slopes: NDArray[np.float64]
    logger_logits: NDArray[np.float64]
    second_moment: Vector

    def of(self, context: NDArray[np.int64], logger: Loggers, action: Actions) -> Vector:
        """W of rows: (n,)."""
        z = self.logger_logits[logger, context]
        centred = np.where(action == 1, marginals(-z), -marginals(z))
        added = np.einsum("nq,nq->n", self.slopes[logger, context], centred)
        return np.asarray(self.bases[logger, context] + added, dtype=np.float64)


def own_additive_weights(logits: Matrix, logger_logits: Sequence[Matrix]) -> AdditiveWeights:
    """W = 1 + sum_l (h_l/h_jl - 1) of a policy by its logits (m, q), for each logger by itself."""
    tables = np.stack(logger_logits)
    variance = label_variances(tables)
    slopes = (marginals(logits) - marginals(tables)) / variance
    return _weights(np.ones(tables.shape[:2]), slopes, tables, variance)


def balanced_additive_weights(
    logits: Matrix, logger_logits: Sequence[Matrix], counts: Vector
) -> AdditiveWeights:
    """The weights of least E[W^2] for loggers with n_j rows each."""
    tables, shares = np.stack(logger_logits), counts / counts.sum()
    variance = label_variances(tables)
    pooled = np.tensordot(shares, variance, 1)
    off = marginals(logits) - marginals(tables)
    quadratic = np.einsum("jml,kml,ml->mjk", off, off, 1.0 / pooled) + np.diag(1.0 / shares)
    bases = _least_combination(quadratic)
    slopes = np.einsum("mj,jml->ml", bases, off) / pooled
    return _weights(bases.T / shares[:, None], np.broadcast_to(slopes, tables.shape), tables, variance)


def _least_combination(quadratic: NDArray[np.float64]) -> Matrix:
    """The b (m, J) of sum 1 that make b' Q b least, from Q (m, J, J); rows are scaled, Q spans 1e200."""
    scale = 1.0 / np.sqrt(np.einsum("mjj->mj", quadratic))
    unit = quadratic * scale[:, :, None] * scale[:, None, :]
    # Loggers that are the same leave Q regular, because of 1/s_j; the ridge is for rounding alone.
    ridge = 1e-12 * np.eye(quadratic.shape[1])
    found = np.linalg.solve(unit + ridge, scale[:, :, None])[:, :, 0] * scale
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def label_variances(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """p (1 - p), without loss of digits where p is near 1."""
    return np.asarray(np.maximum(marginals(logits) * marginals(-logits), SMALLEST_VARIANCE))


def support_shares(weights: AdditiveWeights, counts: Vector) -> Vector:
    """n_j lambda_j in proportion to n_j / E_j[W^2]: (J,).

    lambda* for losses of equal size, with the variance that the policies predict instead of the observed one.
    """
    precision = counts / weights.second_moment
    return np.asarray(precision / precision.sum())


def _weights(
    bases: Matrix, slopes: NDArray[np.float64], tables: NDArray[np.float64], variance: NDArray[np.float64]
) -> AdditiveWeights:
    """E_j[W^2] = a_j^2 + sum_l k_jl^2 p_jl (1 - p_jl), in the mean over contexts."""
    with np.errstate(over="ignore"):
        moment = (np.square(bases) + (np.square(slopes) * variance).sum(axis=2)).mean(axis=1)
    return AdditiveWeights(bases, np.asarray(slopes), tables, np.asarray(moment))
