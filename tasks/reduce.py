"""Stage: wide sparse features -> a truncated SVD of them, fitted on train; and fewer labels, if asked for."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from multilogger.components.datasets.labelled_data import TrainTest
from multilogger.components.datasets.reduction import fit_reduction, keep_frequent_labels
from multilogger.components.errors import BadInput
from multilogger.tasks.dataset_files import DatasetFacts, load_facts, load_test, load_train, save_dataset
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage import StageSettings, stage
from multilogger.tasks.engine.stage_run import StageRun

LEAST_RATIO = 5  # of features before and after an SVD, for it to pay


class ReduceSettings(StageSettings):
    """How far to reduce."""

    svd_dims: int = Field(default=1000, ge=1, description="dimensions kept; dense data is left as it is")
    svd_from: int = Field(
        default=0,
        ge=0,
        description="features from which sparse data is reduced; 0: five times the dimensions kept",
    )
    svd_seed: int = Field(default=0, ge=0, description="start of the randomised solver")
    labels: int = Field(default=0, ge=0, description="labels kept, those with most positives; 0 keeps all")

    def check_actions(self, actions: str) -> None:
        """Refuse to leave labels out where there are none."""
        if self.labels and actions != "labels":
            raise BadInput(
                f"reduce.labels keeps some of the labels, got {self.labels} where actions are {actions}; "
                "leave it out"
            )

    def identity(self) -> dict[str, Any]:
        """As of any stage, but results from before there was a setting are still theirs."""
        later = ("labels", "svd_from")
        return {name: value for name, value in super().identity().items() if name not in later or value}

    @property
    def least_features(self) -> int:
        """Of how many features on sparse data is reduced.

        Choice: an SVD that keeps more than a fifth of the features costs more than it saves. It mixes rare
        features into all dimensions, and on enron a loss model's policy errs a fourth more after it.
        """
        return self.svd_from or max(LEAST_RATIO * self.svd_dims, self.svd_dims + 1)


def narrow_data(settings: ReduceSettings, inputs: Mapping[str, Artifact]) -> str | None:
    """Only wide sparse data is reduced, and data with labels to leave out."""
    facts = load_facts(inputs["data"])
    if _is_wide(facts, settings) or settings.labels not in (0, facts.labels):
        return None
    shape = "sparse" if facts.sparse else "dense"
    return f"{facts.features} {shape} features need no reduction to {settings.svd_dims}"


def _is_wide(facts: DatasetFacts, settings: ReduceSettings) -> bool:
    wide = facts.features > settings.svd_dims and facts.features >= settings.least_features
    return facts.sparse and wide


@stage("reduce", version=1, skip=narrow_data)
def reduce(settings: ReduceSettings, data: Artifact, run: StageRun) -> None:
    """Fit a truncated SVD on train, apply it to both splits, and log the variance it keeps."""
    facts, both = load_facts(data), TrainTest(load_train(data), load_test(data))
    if settings.labels:
        both = keep_frequent_labels(both, settings.labels)
    if _is_wide(facts, settings):
        both = _decomposed(both, settings, run)
    save_dataset(run, facts.name, both.train, both.test, facts.loss)


def _decomposed(data: TrainTest, settings: ReduceSettings, run: StageRun) -> TrainTest:
    from safetensors.numpy import save_file

    train, test = data.train, data.test
    with run.progress("singular value decomposition", 3) as advance:
        reduction = fit_reduction(train.x, settings.svd_dims, settings.svd_seed)
        advance()
        reduced_train = replace(train, x=reduction.apply(train.x))
        advance()
        reduced_test = replace(test, x=reduction.apply(test.x))
        advance()
    save_file({"axes": np.ascontiguousarray(reduction.axes)}, run.file("svd.safetensors"))
    kept = np.cumsum(reduction.explained)
    run.log_curve("explained_variance", kept, first_step=1)
    plot_explained_variance(kept, run.file("explained_variance.png"))
    return TrainTest(reduced_train, reduced_test)


def plot_explained_variance(kept: NDArray[np.float64], path: Path) -> None:
    """Share of variance kept against the number of dimensions."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(xlabel="dimensions kept", ylabel="variance explained", ylim=(0, 1))
    axes.plot(np.arange(1, len(kept) + 1), kept)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120, metadata={"Software": None})
