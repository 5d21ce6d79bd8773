"""What newcomers get wrong: each is refused in one line that says what to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import multilogger as ml
from tests.components.api.test_bandit_log import COLUMNS, assert_same

Call = Callable[[ml.BanditLog], object]
SEED = "seed must be a whole number of at least 0, got "


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(ml.BadInput) as caught:
        call()
    return str(caught.value)


def rewarded(rows: int = 40, **changed: Any) -> ml.BanditLog:
    """Rewards from 4 to 10 of three labels: the largest loss exceeds the number of labels."""
    rng = np.random.default_rng(0)
    arguments: dict[str, Any] = {
        "x": rng.normal(size=(rows, 5)),
        "action": rng.integers(0, 2, (rows, 3)),
        "reward": np.linspace(4, 10, rows),
        "propensity": np.full(rows, 0.125),
        "logger": np.where(np.arange(rows) % 2 == 0, "old", "young"),
    }
    return ml.BanditLog.from_arrays(**(arguments | changed))


@pytest.mark.parametrize(
    "changed", [{}, {"reward_range": (0, 20)}, {"reward": None, "loss": np.arange(40), "max_loss": 50.0}]
)
def test_losses_above_the_number_of_labels_come_back(changed: dict[str, Any], tmp_path: Path) -> None:
    log = rewarded(**changed)
    log.to_parquet(tmp_path / "log.parquet")
    assert_same(log, ml.BanditLog.from_parquet(tmp_path / "log.parquet"))
    assert ml.BanditLog.from_parquet(tmp_path / "log.parquet", logger="logger").max_loss == log.max_loss


@pytest.mark.parametrize(
    "x", [np.full((2, 12), np.nan), np.full((2, 12), np.inf), sparse.csr_array(np.full((2, 12), np.nan))]
)
def test_features_that_are_no_numbers_have_no_probability(x: Any, replayed: ml.BanditLog) -> None:
    policy = replayed.logger_policies[0]
    for call in (policy.predict_proba, policy.predict, policy.sample):
        found = refused(lambda call=call: call(x))  # type: ignore[misc]
        assert found == "the array, row 0: a feature is missing, NaN or infinite; fill it in"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alphas": (-1,)}, "alphas must be numbers above 0, one per logger, got (-1,)"),
        ({"alphas": (1.0, "a")}, "alphas must be numbers above 0, one per logger, got (1.0, 'a')"),
        (
            {"passes": 2.5},
            "passes must be a whole number, 1 or more, for each of the 2 loggers, got [2.5, 2.5]",
        ),
        ({"split_by": "foo"}, "split_by must be one of row, context, got 'foo'"),
        ({"seed": -1}, SEED + "-1"),
    ],
)
def test_replays(settings: dict[str, Any], message: str) -> None:
    assert refused(lambda: ml.datasets.load_replay("digits", **settings)) == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda log: ml.Weighted(seed=-1).fit(log), SEED + "-1"),
        (lambda log: ml.Weighted(seed="a").fit(log), SEED + "'a'"),
        (lambda log: ml.Weighted(seed=None).fit(log), SEED + "None"),
        (lambda log: ml.Weighted(seed=1.5).fit(log), SEED + "1.5"),
        (lambda log: log.split(seed=-1), SEED + "-1"),
        (lambda log: ml.evaluate(log.logger_policies[0], log, seed=-1), SEED + "-1"),
        (
            lambda log: ml.Weighted(validation_fraction="x").fit(log),
            "validation_fraction must be a number between 0 and 1, got 'x'; it is a share of the log",
        ),
        (
            lambda log: log.split(test="0.3"),
            "test must be a number between 0 and 1, got '0.3'; it is a share of the log",
        ),
        (
            lambda log: ml.evaluate(log.logger_policies[0], log, bootstrap="x"),
            "bootstrap needs at least 100 resamples, got 'x'",
        ),
        (
            lambda log: ml.evaluate(log.logger_policies[0], log, clip="x"),
            "clip must be a number above 0, got 'x'",
        ),
    ],
)
def test_seeds_and_numbers(call: Call, message: str, replayed: ml.BanditLog) -> None:
    assert refused(lambda: call(replayed)) == message


def test_one_feature_needs_no_list(frame: pd.DataFrame) -> None:
    one, listed = (
        ml.BanditLog.from_pandas(frame, **(COLUMNS | {"features": features})) for features in ("age", ["age"])
    )
    assert_same(one, listed)
