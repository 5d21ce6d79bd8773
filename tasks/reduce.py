"""Stage: wide sparse features -> a truncated SVD of them, fitted on train."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from multilogger.components.labelled_data import LabelledData
from multilogger.components.reduction import fit_reduction
from multilogger.tasks.dataset_files import load_facts, load_test, load_train, save_dataset
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage import StageSettings, stage
from multilogger.tasks.engine.stage_run import StageRun


class ReduceSettings(StageSettings):
    """How far to reduce."""

    svd_dims: int = Field(
        default=1000, ge=1, description="dimensions kept; narrower or dense data is left as it is"
    )
    svd_seed: int = Field(default=0, ge=0, description="start of the randomised solver")


def narrow_data(settings: ReduceSettings, inputs: Mapping[str, Artifact]) -> str | None:
    """Only sparse data wider than `svd_dims` is reduced."""
    facts = load_facts(inputs["data"])
    if facts.sparse and facts.features > settings.svd_dims:
        return None
    shape = "sparse" if facts.sparse else "dense"
    return f"{facts.features} {shape} features need no reduction to {settings.svd_dims}"


@stage("reduce", version=1, skip=narrow_data)
def reduce(settings: ReduceSettings, data: Artifact, run: StageRun) -> None:
    """Fit a truncated SVD on train, apply it to both splits, and log the variance it keeps."""
    from safetensors.numpy import save_file

    train, test = load_train(data), load_test(data)
    with run.progress("singular value decomposition", 3) as advance:
        reduction = fit_reduction(train.x, settings.svd_dims, settings.svd_seed)
        advance()
        reduced_train = LabelledData(reduction.apply(train.x), train.y)
        advance()
        reduced_test = LabelledData(reduction.apply(test.x), test.y)
        advance()
    facts = load_facts(data)
    save_dataset(run, facts.name, reduced_train, reduced_test, facts.loss)
    save_file({"axes": np.ascontiguousarray(reduction.axes)}, run.file("svd.safetensors"))
    kept = np.cumsum(reduction.explained)
    run.log_curve("explained_variance", kept, first_step=1)
    plot_explained_variance(kept, run.file("explained_variance.png"))


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
