"""What a loss is, for who gave rewards: the legend of every table that shows losses."""

LOWER = "lower is better"


def loss_text(
    reward_range: tuple[float, float] | None, name: str = "reward", largest: float | None = None
) -> str:
    """`expected loss = 1 - click`; `largest` is the largest loss, if losses were scaled to another one."""
    if reward_range is None:
        return f"expected loss, {LOWER}"
    low, high = reward_range
    made, scale = f"{high:g} - {name}", (high - low) / largest if largest else 1.0
    return f"expected loss = {made if scale == 1 else f'({made}) / {scale:g}'}, {LOWER}"
