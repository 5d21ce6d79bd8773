"""The normalised constraint and the printed one say the same."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from multilogger.components.errors import BadInput
from multilogger.components.estimators.constraint import (
    constraint_coefficients,
    constraint_value,
    equivalent_kappa,
    equivalent_rho,
)

COUNTS = np.array([30.0, 10.0])
LAMBDAS = np.array([0.01, 0.07])  # 30 * 0.01 + 10 * 0.07 = 1


def test_coefficients_worked_by_hand() -> None:
    # 30 * 1e-4 = 0.003 and 10 * 49e-4 = 0.049
    assert constraint_coefficients(COUNTS, LAMBDAS) == pytest.approx([3 / 52, 49 / 52])
    assert constraint_value(COUNTS, LAMBDAS, np.array([52.0, 5.2])) == pytest.approx(3 + 4.9)


@pytest.mark.parametrize("kappa", [1e-3, 0.5, 20.0])
@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_both_thresholds_agree_on_both_sides(kappa: float, factor: float) -> None:
    d_f = np.array([0.2, 3.0])
    d_f *= factor * kappa / constraint_value(COUNTS, LAMBDAS, d_f)
    printed = np.sum(COUNTS * LAMBDAS**2 * (d_f + 1))
    meets_printed = printed <= equivalent_rho(kappa, COUNTS, LAMBDAS) / 40**2
    assert meets_printed == (constraint_value(COUNTS, LAMBDAS, d_f) <= kappa) == (factor < 1)


def test_naive_rho_starts_at_n() -> None:
    assert equivalent_rho(0.0, COUNTS, np.full(2, 1 / 40)) == pytest.approx(40.0)
    assert equivalent_rho(1.5, COUNTS, np.full(2, 1 / 40)) == pytest.approx(100.0)


def test_kappa_inverts_rho() -> None:
    assert equivalent_kappa(equivalent_rho(3.0, COUNTS, LAMBDAS), COUNTS, LAMBDAS) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: equivalent_kappa(39.0, COUNTS, np.full(2, 1 / 40)),
            "rho must be at least 40 for these loggers, got 39; "
            "no policy can meet a smaller one, because d_2 is never below 1",
        ),
        (
            lambda: constraint_coefficients(COUNTS, np.ones(3)),
            "one lambda a logger is needed, got 3 for 2 loggers",
        ),
        (
            lambda: constraint_coefficients(COUNTS, np.zeros(2)),
            "lambdas must be at least 0 and not all 0, got [0.0, 0.0]",
        ),
        (
            lambda: constraint_coefficients(COUNTS, np.array([0.1, -0.2])),
            "lambdas must be at least 0 and not all 0, got [0.1, -0.2]",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        call()
