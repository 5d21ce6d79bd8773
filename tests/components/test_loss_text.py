"""What a loss is, in words."""

import pytest

from multilogger.components.loss_text import loss_text


@pytest.mark.parametrize(
    ("low_high", "name", "largest", "said"),
    [
        (None, "reward", None, "expected loss, lower is better"),
        ((0.0, 1.0), "click", None, "expected loss = 1 - click, lower is better"),
        ((-1.0, 4.0), "stars", None, "expected loss = 4 - stars, lower is better"),
        ((-1.0, 4.0), "stars", 1.0, "expected loss = (4 - stars) / 5, lower is better"),
        ((-1.0, 4.0), "stars", 5.0, "expected loss = 4 - stars, lower is better"),
    ],
)
def test_the_words(low_high: tuple[float, float] | None, name: str, largest: float, said: str) -> None:
    assert loss_text(low_high, name, largest) == said
