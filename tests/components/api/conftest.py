"""A small log with everything that a log can have, and a frame of it."""

import numpy as np
import pandas as pd
import pytest

import multilogger as ml


@pytest.fixture(scope="session")
def replayed() -> ml.BanditLog:
    """Two loggers of unequal length on 300 contexts of the simulated dataset."""
    train = ml.datasets.load_dataset("pairwise").train
    return ml.datasets.replay(
        train.take(np.arange(300)), loss="crowding", alphas=(0.1, 1.0), passes=(2, 1), seed=3
    )


@pytest.fixture(scope="session")
def frame(replayed: ml.BanditLog) -> pd.DataFrame:
    """Its rows with a feature of words beside the numbers."""
    x = np.asarray(replayed.x)[replayed.context]
    assert replayed.log_propensities is not None
    return pd.DataFrame(
        {
            "id": [f"c{number:03}" for number in replayed.context],
            "who": np.where(replayed.logger == 0, "old", "young"),
            "act": list(replayed.action),
            "cost": replayed.loss,
            "click": 6.0 - replayed.loss,
            "pscore": np.exp(replayed.log_propensity),
            "p_old": np.exp(replayed.log_propensities[:, 0]),
            "p_young": np.exp(replayed.log_propensities[:, 1]),
            "every": list(np.exp(replayed.log_propensities)),
            "age": x[:, 0].astype(np.float64),
            "height": x[:, 1].astype(np.float64),
            "country": np.where(x[:, 2] > 0, "de", "at"),
            "day": np.random.default_rng(0).permutation(len(x)),
            "odds": np.full(len(x), 1.5),
            **{f"label_{i}": replayed.action[:, i] for i in range(6)},
        }
    )
