"""Rows that a policy was learned from are known again; equal rows that are not the same are not."""

from dataclasses import replace

import numpy as np
import pandas as pd

import multilogger as ml
from multilogger.components.log.same_rows import keys_of_rows, learned_before
from tests.tasks.own_log.shop import shop_frame


def read(frame: pd.DataFrame, *features: str) -> ml.BanditLog:
    return ml.BanditLog.from_pandas(
        frame, action="item_id", reward="click", propensity="pscore", logger="policy", features=features
    )


def test_the_same_rows_are_found_in_any_order_and_company(rng: np.random.Generator) -> None:
    log = read(shop_frame(600), "user_age", "at")
    half = log.take(rng.permutation(600)[:300])
    learned = keys_of_rows(half)
    assert "learned from 300 of these 600 rows" in str(learned_before(log, learned))
    assert "learned from 300 of these 300 rows" in str(learned_before(half, learned))
    assert learned_before(log, None) is None
    assert learned_before(replace(log, loss=1.0 - log.loss), learned) is None


def test_other_rows_are_not_taken_for_them() -> None:
    """Rows of few kinds are equal by chance; those of many kinds at most in a share of 1/e."""
    for kinds, rows in ((4, 2000), (500, 400), (2000, 300)):
        rng = np.random.default_rng(kinds)
        first, second = (
            read(shop_frame(rows, seed).assign(kind=rng.integers(0, kinds, rows)), "kind") for seed in (0, 1)
        )
        assert learned_before(second, keys_of_rows(first)) is None
