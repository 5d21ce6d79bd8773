"""A small log as a shop would have it: words for actions, three loggers, a reward, features of all kinds."""

import numpy as np
import pandas as pd

from multilogger.components.actions.arrays import Matrix

ITEMS = np.array(["jam", "pie", "tea"])
COLUMNS = {
    "action": "item_id",
    "reward": "click",
    "propensity": "pscore",
    "logger": "policy",
    "features": "user_*,at",
}


def shop_frame(rows: int = 600, seed: int = 0) -> pd.DataFrame:
    """Rows of three loggers; `p_<logger>` are the propensities under each."""
    rng = np.random.default_rng(seed)
    age, country = rng.normal(size=rows), rng.choice(["de", "fr"], rows)
    taste = np.stack([age, (country == "fr") * 2.0, np.zeros(rows)], axis=1)
    policy = rng.choice(["new", "old", "random"], rows)
    sharpness = {"new": 1.0, "old": -0.5, "random": 0.0}
    chances = {name: _softmax(taste * sharp) for name, sharp in sharpness.items()}
    own = np.stack([chances[name][i] for i, name in enumerate(policy)])
    action = (own.cumsum(axis=1) < rng.random(rows)[:, None]).sum(axis=1)
    each = np.arange(rows)
    click = rng.random(rows) < 1.0 / (1.0 + np.exp(1.0 - taste[each, action]))
    frame = pd.DataFrame(
        {
            "user_age": np.where(rng.random(rows) < 0.1, np.nan, age),
            "user_country": country,
            "user_member": rng.random(rows) < 0.5,
            "at": pd.Timestamp("2026-01-01") + pd.to_timedelta(each, unit="min"),
            "item_id": ITEMS[action],
            "click": click.astype(int),
            "pscore": own[each, action],
            "policy": policy,
        }
    )
    return frame.assign(**{f"p_{name}": chances[name][each, action] for name in sharpness})


def _softmax(logits: Matrix) -> Matrix:
    odds = np.exp(logits)
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
