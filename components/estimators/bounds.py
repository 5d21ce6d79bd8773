"""Generalisation bounds (Theorem 3.2, its corollary, Theorem 6.1), term by term, and their constraint.

R(h) <= empirical risk + range term + variance term, with probability at least 1 - eta.
The theorems hold for raw weights (neither clipped nor self-normalised) and a policy fixed before the log.

Deviation: d_2(.; P(x)) and M_j are taken over the contexts at hand, not over the unknown P(x).

The constraint of section 4 keeps the variance term down: sum_j n_j lambda_j^2 d_2(h||h_j) <= rho / n^2, as
printed. Because d_2 >= 1 and sum_j n_j lambda_j^2 >= 1/n, no rho below n can ever be met.

Deviation: we state sum_j c_j D_f(h||h_j) <= kappa with sum_j c_j = 1, and give the equivalent rho.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.divergences import PolicyDivergence, exp_or_inf


@dataclass(frozen=True)
class Certificate:
    """An upper bound of R(h) that holds with probability 1 - `eta`, and what it is made of.

    bound = empirical_risk + range_term + variance_term.
    `log_range` is log M_lambda (log M_avg / n for the balanced one) and `log_moment` is
    log sum_j n_j lambda_j^2 d_2(h||h_j); terms past the end of float64 are infinite.
    """

    theorem: str
    eta: float
    max_loss: float
    empirical_risk: float
    range_term: float
    variance_term: float
    bound: float
    log_range: float
    log_moment: float


def weighted_certificate(
    empirical_risk: float,
    lambdas: Vector,
    counts: Vector,
    divergences: Sequence[PolicyDivergence],
    max_loss: float,
    eta: float,
) -> Certificate:
    """Theorem 3.2, for lambdas that do not depend on the log.

    R <= R_lambda + 2 L M_lambda log(1/eta) / 3 + L sqrt(2 sum_j n_j lambda_j^2 d_2(h||h_j; P(x)) log(1/eta)),
    M_lambda = max_j lambda_j M_j
    """
    return _lambda_certificate("Theorem 3.2", empirical_risk, lambdas, counts, divergences, max_loss, eta)


def naive_certificate(
    empirical_risk: float,
    counts: Vector,
    divergences: Sequence[PolicyDivergence],
    max_loss: float,
    eta: float,
) -> Certificate:
    """Corollary 3.3, which is Theorem 3.2 at lambda_j = 1/n.

    R <= R_naive + 2 L max_j M_j log(1/eta) / (3n) + L sqrt(2 sum_j n_j d_2(h||h_j; P(x)) log(1/eta) / n^2)
    """
    lambdas = np.full(len(counts), 1.0 / np.sum(counts))
    return _lambda_certificate("Corollary 3.3", empirical_risk, lambdas, counts, divergences, max_loss, eta)


def balanced_certificate(
    empirical_risk: float, rows: int, divergence: PolicyDivergence, max_loss: float, eta: float
) -> Certificate:
    """Theorem 6.1; `divergence` is that of h from h_avg, enumerated or its upper bound.

    R <= R_bal + 2 L M_avg log(1/eta) / (3n) + L sqrt(2 d_2(h||h_avg; P(x)) log(1/eta) / n)
    """
    log_range = divergence.log_max_ratio - math.log(rows)
    log_moment = divergence.log_d2 - math.log(rows)
    return _certificate("Theorem 6.1", empirical_risk, log_range, log_moment, max_loss, eta)


def _lambda_certificate(
    theorem: str,
    empirical_risk: float,
    lambdas: Vector,
    counts: Vector,
    divergences: Sequence[PolicyDivergence],
    max_loss: float,
    eta: float,
) -> Certificate:
    if not len(lambdas) == len(counts) == len(divergences):
        raise BadInput(
            "a bound needs one lambda, one count and one divergence a logger, got "
            f"{len(lambdas)}, {len(counts)} and {len(divergences)}"
        )
    used = lambdas > 0  # a logger of weight 0 is not in the estimate, whatever its divergence
    log_lambda = np.log(lambdas[used])
    log_d2 = np.array([d.log_d2 for d in divergences])[used]
    log_m = np.array([d.log_max_ratio for d in divergences])[used]
    log_range = float((log_lambda + log_m).max())
    log_moment = float(np.logaddexp.reduce(np.log(counts[used]) + 2.0 * log_lambda + log_d2))
    return _certificate(theorem, empirical_risk, log_range, log_moment, max_loss, eta)


def _certificate(
    theorem: str, empirical_risk: float, log_range: float, log_moment: float, max_loss: float, eta: float
) -> Certificate:
    if not 0 < eta < 1:
        raise BadInput(f"eta is the chance that the bound fails and must lie between 0 and 1, got {eta}")
    log_inverse = math.log(1.0 / eta)
    range_term = 2.0 / 3.0 * max_loss * log_inverse * exp_or_inf(log_range)
    variance_term = max_loss * math.sqrt(2.0 * log_inverse) * exp_or_inf(0.5 * log_moment)
    return Certificate(
        theorem=theorem,
        eta=eta,
        max_loss=max_loss,
        empirical_risk=empirical_risk,
        range_term=range_term,
        variance_term=variance_term,
        bound=empirical_risk + range_term + variance_term,
        log_range=log_range,
        log_moment=log_moment,
    )


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


def _terms(counts: Vector, lambdas: Vector) -> Vector:
    if counts.shape != lambdas.shape:
        raise BadInput(f"one lambda per logger is needed, got {len(lambdas)} for {len(counts)} loggers")
    terms: Vector = counts * np.square(lambdas)
    if not (lambdas >= 0).all() or not terms.sum() > 0:
        raise BadInput(f"lambdas must be at least 0 and not all 0, got {lambdas.tolist()}")
    return terms
