"""What the paper leaves open, one change at a time from a preset: the cells of `reproduce choices`."""

from typing import Any

from multilogger.components.errors import BadInput
from multilogger.components.learners.presets.tuned import NEVER_BINDS

Choices = dict[str, dict[str, dict[str, Any]]]
"""Settings by method and name of the choice; `default` is the preset itself."""

# From ours: of every learner's training, shown on `weighted`, and of the constraint, on `weighted-reg`.
OF_OURS: Choices = {
    "weighted": {
        "default": {},
        "loss_shift=none": {"learn.loss_shift": "none"},
        "loss_shift=poem": {"learn.loss_shift": "poem"},
        "loss_shift=running": {"learn.loss_shift": "running"},
        "weights=raw": {"learn.weights": "raw"},
        "weights=self-normalised": {"learn.weights": "self-normalised"},
        "standardise=false": {"learn.standardise": False},
        "batch_norm=true": {"learn.batch_norm": True},
        "freeze_lambda=true": {"learn.freeze_lambda": True},
        "pessimism=0": {"learn.pessimism": 0.0},
        "split_by=context": {"replay.split_by": "context"},
        "hidden=10": {"learn.hidden": "10"},
        "C=0.1": {"train-loggers.C": 0.1},
        "preset=paper": {"learn.preset": "paper"},
    },
    "weighted-reg": {
        "default": {},
        "kappa=1000000": {"learn.kappa": NEVER_BINDS},
        "divergence=exact": {"learn.divergence": "exact"},
        "warm_up_steps=0": {"learn.warm_up_steps": 0},
        "moving_average=0": {"learn.moving_average": 0.0},
        "inner_iterations=5": {"learn.inner_iterations": 5},
        "regulariser_rate=0.0001": {"learn.regulariser_rate": 1e-4},
    },
}

# From the printed settings: what of all that is not printed brings the paper's own figures nearest.
UNPRINTED: dict[str, dict[str, Any]] = {
    "default": {},
    "standardise=true": {"learn.standardise": True},
    "loss_shift=baseline": {"learn.loss_shift": "baseline"},
    "loss_shift=poem": {"learn.loss_shift": "poem"},
    "weights=self-normalised": {"learn.weights": "self-normalised"},
    "risk_rate=0.001": {"learn.risk_rate": 1e-3},
    "batch_norm=false": {"learn.batch_norm": False},
    "hidden=128": {"learn.hidden": "128"},
}
OF_THE_PAPER: Choices = dict.fromkeys(("naive", "naive-reg", "weighted", "weighted-reg"), UNPRINTED)

CHOICES: dict[str, Choices] = {"paper": OF_THE_PAPER, "tuned": OF_OURS}
_CHANGES = [change for own in CHOICES.values() for changes in own.values() for change in changes.values()]
VARIED_BY_CHOICES = tuple(sorted({name for change in _CHANGES for name in change}))
"""Settings that these experiments themselves change from cell to cell."""


def choices_of(preset: str) -> Choices:
    """The choices that are measured from a preset."""
    if preset not in CHOICES:
        known = " and ".join(CHOICES)
        raise BadInput(f"choices are changes of the presets {known}, got {preset}; name one of these")
    return CHOICES[preset]
