"""Decisions of a policy with what the next log needs of them."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from multilogger.components.actions.arrays import Actions, Vector
from multilogger.components.log.actions import ids_of

if TYPE_CHECKING:
    import pandas as pd

    from multilogger.components.api.policy import Policy


def decisions(policy: "Policy", x: Any, rng: np.random.Generator | int | None) -> "pd.DataFrame":
    """One row per context: action, propensity, log_propensity, sample_id; see `Policy.decide`."""
    import pandas as pd

    rng = np.random.default_rng(rng)
    logits = policy.logits(policy.columns(x))
    action: Actions = policy.space.draw(logits, rng)
    log_propensity: Vector = policy.space.log_probability(logits, action)
    # The bytes of a random UUID: of the generator, so that a seed gives the same ids again.
    ids = [str(UUID(bytes=rng.bytes(16), version=4)) for _ in range(len(logits))]
    return pd.DataFrame(
        {
            "action": ids_of(action, policy.actions, policy.space).tolist(),
            "propensity": np.exp(log_propensity),
            "log_propensity": log_propensity,
            "sample_id": ids,
        },
        index=x.index if isinstance(x, pd.DataFrame) else None,
    )
