"""What `learn` leaves and says about the additive assumption, on a real run folder."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from multilogger.components.actions.labels import Labels
from multilogger.components.actions.torch_labels import TorchLabels
from multilogger.components.datasets.losses import CROWDING, HAMMING, Loss
from multilogger.components.policies.policy import LearnedPolicy
from multilogger.tasks.engine.artifact import Artifact, manifest_of
from multilogger.tasks.engine.progress import SilentBar, watched_by
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.policy_checks import additivity_p_value, check_additivity
from tests.components.learners.loss_models.test_additivity import LABELS, make_log


class Listener:
    """A watcher that remembers what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def bar(self, doing: str, total: float | None) -> SilentBar:
        return SilentBar()

    def done(self, line: str) -> None:
        return None

    def say(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture
def listener() -> Iterator[Listener]:
    watcher = Listener()
    with watched_by(watcher):
        yield watcher


def uninformed() -> LearnedPolicy:
    """An ensemble that gives every label the same chance."""
    import torch

    from multilogger.components.policies.network_size import NetworkSize
    from multilogger.components.policies.networks import EnsembleNetwork, PolicyNetwork
    from multilogger.components.policies.policy import Standardisation

    size = NetworkSize((), batch_norm=False)
    member = PolicyNetwork(3, LABELS, size, torch.Generator())
    with torch.no_grad():
        for parameter in member.parameters():
            parameter.zero_()
    return LearnedPolicy(
        EnsembleNetwork([member], TorchLabels()),
        size,
        Standardisation.none(3),
        Labels(LABELS),
        "additive",
        0,
        {},
    )


@pytest.mark.parametrize(("loss", "rejected"), [(HAMMING, False), (CROWDING, True)])
def test_result_is_kept_logged_and_said(
    loss: Loss, rejected: bool, tmp_path: Path, listener: Listener
) -> None:
    run = StageRun(tmp_path)
    check_additivity(uninformed(), make_log(0, loss, contexts=1500), run)
    kept = json.loads((tmp_path / "additivity.json").read_text())
    assert kept["rejected"] is rejected
    metrics = {point.name: point.value for point in run.metrics}
    assert metrics["additivity/p_value"] == kept["p_value"]
    assert np.isfinite(metrics["additivity/gain"])
    policy = Artifact(stage="learn", key="k", path=".", files=manifest_of(tmp_path), run_id="", root=tmp_path)
    assert additivity_p_value(policy) == kept["p_value"]
    assert additivity_p_value(policy.model_copy(update={"files": {}})) is None
    assert len(listener.lines) == (1 if rejected else 0)
    if rejected:
        assert listener.lines[0].startswith("the loss does not add up over labels (p = ")
        assert listener.lines[0].endswith("use --method dr")
