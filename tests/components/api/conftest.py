"""A small log with everything that a log can have, and a frame of it."""

import numpy as np
import pandas as pd
import pytest

import multilogger as ml
from multilogger.components.actions.one_of import OneOf
from multilogger.components.datasets.labelled_data import LabelledData

OFFERS = ("jam", "rum", "tea", "zinc")
NUMBERS = (2, 7, 10, 30)


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


@pytest.fixture(scope="session")
def one_of() -> ml.BanditLog:
    """Two loggers that choose one of four actions on 300 contexts; the largest of four sums is right."""
    x = np.asarray(ml.datasets.load_dataset("pairwise").train.x)[:300]
    right = (x @ np.random.default_rng(1).normal(size=(x.shape[1], 4))).argmax(axis=1)
    return ml.datasets.replay(LabelledData(x, right, OneOf(4)), alphas=(0.1, 2.0), passes=(2, 1), seed=3)


@pytest.fixture(scope="session")
def offers(one_of: ml.BanditLog) -> pd.DataFrame:
    """Its rows, with actions called by words, by numbers and by categories."""
    x = np.asarray(one_of.x)[one_of.context]
    assert one_of.log_propensities is not None
    assert one_of.truth is not None
    return pd.DataFrame(
        {
            "id": one_of.context,
            "who": np.where(one_of.logger == 0, "old", "young"),
            "offer": np.array(OFFERS)[one_of.action],
            "number": np.array(NUMBERS)[one_of.action],
            "kind": pd.Categorical(np.array(OFFERS)[one_of.action], categories=[*OFFERS[::-1], "unused"]),
            "is_tea": one_of.action == 2,
            "best": np.array(OFFERS)[one_of.truth[one_of.context]],
            "click": 1.0 - one_of.loss,
            "cost": one_of.loss,
            "pscore": np.exp(one_of.log_propensity),
            "every": list(np.exp(one_of.log_propensities)),
            **{f"x{i}": x[:, i].astype(np.float64) for i in range(x.shape[1])},
        }
    )
