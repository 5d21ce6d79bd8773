"""Chances that are kept for many passes have the bits of those made anew."""

import numpy as np
import pytest

from multilogger.components.actions.known_contexts import log_chances
from multilogger.components.actions.labels import Labels
from multilogger.components.actions.one_of import OneOf
from multilogger.components.actions.space import ActionSpace


@pytest.mark.parametrize("space", [Labels(1), Labels(10), Labels(103), OneOf(7)])
@pytest.mark.parametrize("uses", [1, 8])
def test_the_same_bits(space: ActionSpace, uses: int) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=9.0, size=(300, space.size))
    logits[0] = 0.0
    chances = log_chances(space, logits, uses)
    for here in (slice(0, 300), slice(7, 120)):
        action = space.draw(logits[here], rng)
        np.testing.assert_array_equal(chances(here, action), space.log_probability(logits[here], action))
