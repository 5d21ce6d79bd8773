"""The divergence constraint of section 4, in a form whose threshold means something.

As printed, sum_j n_j lambda_j^2 d_2(h||h_j) <= rho / n^2. Because d_2 >= 1 and sum_j n_j lambda_j^2 >= 1/n,
no rho below n can ever be met.

Deviation: we state sum_j c_j D_f(h||h_j) <= kappa with sum_j c_j = 1, and give the equivalent rho.
"""

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput


def constraint_coefficients(counts: Vector, lambdas: Vector) -> Vector:
    """c_j = n_j lambda_j^2 / sum_k n_k lambda_k^2, which sum to 1: (J,).

    The printed n_j lambda_j^2 are about 1/n and would put gradients near Adam's epsilon.
    """
    terms = _terms(counts, lambdas)
    return np.asarray(terms / terms.sum(), dtype=np.float64)


def constraint_value(counts: Vector, lambdas: Vector, d_f: Vector) -> float:
    """sum_j c_j D_f(h||h_j), to be kept at or below kappa."""
    return float(constraint_coefficients(counts, lambdas) @ d_f)


def equivalent_rho(kappa: float, counts: Vector, lambdas: Vector) -> float:
    """The printed threshold that says the same as kappa.

    rho = n^2 (1 + kappa) sum_k n_k lambda_k^2, which is n (1 + kappa) for the naive lambda_j = 1/n
    """
    return float(np.sum(counts) ** 2 * (1.0 + kappa) * _terms(counts, lambdas).sum())


def equivalent_kappa(rho: float, counts: Vector, lambdas: Vector) -> float:
    """The kappa that says the same as a printed threshold rho; the inverse of `equivalent_rho`."""
    least = equivalent_rho(0.0, counts, lambdas)
    if not rho >= least:
        raise BadInput(
            f"rho must be at least {least:g} for these loggers, got {rho:g}; "
            "no policy can meet a smaller one, because d_2 is never below 1"
        )
    return rho / least - 1.0


def _terms(counts: Vector, lambdas: Vector) -> Vector:
    if counts.shape != lambdas.shape:
        raise BadInput(f"one lambda a logger is needed, got {len(lambdas)} for {len(counts)} loggers")
    terms: Vector = counts * np.square(lambdas)
    if not (lambdas >= 0).all() or not terms.sum() > 0:
        raise BadInput(f"lambdas must be at least 0 and not all 0, got {lambdas.tolist()}")
    return terms
