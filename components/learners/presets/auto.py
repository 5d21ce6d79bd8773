"""Preset `auto`: what follows from the log, not from the name of a dataset.

It has the rows of `tuned` that name no dataset, and rules of its own.
Chosen by out-of-fold squared error on the logs of emotions, birds, enron and simulated sparse data, one seed
(100), the dropout of inputs also on scene and yeast, two seeds (100, 101); it saw no test data.
"""

from multilogger.components.learners.loss_models.settings import MOST_EPOCHS, Start
from multilogger.components.learners.presets import tuned
from multilogger.components.learners.presets.table import (
    CONSTRAINED,
    DIRECT,
    EXACT,
    LOSS_MODELS,
    SMOOTHED,
    WCRM,
    Row,
)

LABELS = ("labels",)

# Several starts and scales, blended by held-out error; batches and epochs from the number of contexts; all
# rows, as the folds of contexts keep what is held out honest; dropout of nodes, as most logs are small.
FROM_THE_LOG = {
    "start": Start.BLEND,
    "most_epochs": MOST_EPOCHS,
    "fit_all": True,
    "context_batch": 0,
    "input_dropout": 0.4,
    "hidden_dropout": 0.3,
}

# A copy of the best logger, where a uniform start would have next to no weight on its rows.
WARM = {"warm_start": -1, "warm_start_rate": 1e-2}

AUTO_ROWS = (
    *(row for row in (*tuned.PAPER_ROWS, *tuned.OWN_ROWS) if not row.datasets),
    Row((*WCRM, *DIRECT, *CONSTRAINED, *EXACT, *SMOOTHED), WARM, spaces=LABELS),
    Row(LOSS_MODELS, FROM_THE_LOG | {"hidden": (256,), "patience": 15}, spaces=LABELS),
    Row(("additive", "additive-soft"), {"epochs": 0}, spaces=LABELS),
    # Validation is of whole contexts: what they say would be lost to the loss model.
    Row(("auto", *LOSS_MODELS), {"fit_all": True}, spaces=("one-of",)),
    # One start alone had found nothing after a few epochs where features are binary or rows are few.
    Row(
        ("auto", "dm"),
        {"start": Start.BLEND, "patience": 15, "epochs": 0, "most_epochs": MOST_EPOCHS},
        spaces=("one-of",),
    ),
    Row(("dr",), {"model_epochs": 0, "patience": 10}, spaces=LABELS),
)
