"""Stage: train data -> the logging policies h_1..h_J, and the CRF fitted on all of train."""

from typing import Any

import numpy as np
from pydantic import Field

from multilogger.components.datasets.labelled_data import LabelledData
from multilogger.components.datasets.losses import Loss
from multilogger.components.loggers.crf import crf_fits, fit_crf
from multilogger.components.loggers.linear import LinearPolicy, load_policies, random_share, save_policies
from multilogger.components.names import logger_name
from multilogger.tasks.dataset_files import load_loss, load_test, load_train
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage import FloatList, PositiveFloat, StageSettings, stage
from multilogger.tasks.engine.stage_run import StageRun, read_json

POLICY_FILE = "policies.safetensors"


class TrainLoggersSettings(StageSettings):
    """One logger an alpha, all from one fit on a share of train."""

    seed: int = Field(default=0, ge=0, description="draws the share of train")
    alphas: FloatList = Field(
        default=(0.05, 2.0), description="one logger each; larger is more deterministic"
    )
    fraction: float = Field(
        default=0.2, gt=0, le=1, description="share of train that the loggers are fitted on"
    )
    standardise: bool | None = Field(
        default=None,
        description="fit them to features of mean 0 and variance 1; default: for one-of actions alone",
    )
    C: PositiveFloat = Field(default=0.1, description="inverse L2 strength of the loggers")
    crf_C: PositiveFloat = Field(
        default=0.3, description="inverse L2 strength of the CRF fitted on all of train"
    )

    def identity(self) -> dict[str, Any]:
        """As of any stage, but results from before there was a choice of scale are still theirs."""
        return {
            name: value
            for name, value in super().identity().items()
            if (name, value) != ("standardise", None)
        }


@stage("train-loggers", version=1)
def train_loggers(settings: TrainLoggersSettings, data: Artifact, run: StageRun) -> None:
    """Fit the loggers and the full-train CRF, and log the expected loss of each on test."""
    train, test = load_train(data), load_test(data)
    rows = random_share(train.rows, settings.fraction, np.random.default_rng(settings.seed))
    scaled = not train.space.action_shape if settings.standardise is None else settings.standardise
    with run.progress("fitting loggers", 2 * crf_fits(train)) as advance:
        weights = fit_crf(train.take(rows), settings.C, advance, scaled)
        crf = LinearPolicy(fit_crf(train, settings.crf_C, advance, scaled))
    policies = {logger_name(j): LinearPolicy(weights, a) for j, a in enumerate(settings.alphas)} | {
        "crf": crf
    }
    save_policies(run.file(POLICY_FILE), policies)
    scores = {name: _test_losses(policy, test, load_loss(data)) for name, policy in policies.items()}
    run.save_json("scores.json", scores)
    run.log_metrics({f"{kind}/{name}": v for name, both in scores.items() for kind, v in both.items()})


def load_loggers(loggers: Artifact) -> list[LinearPolicy]:
    """h_1..h_J in order; none where they are not known, as of a person's own log."""
    if not (loggers.folder / POLICY_FILE).is_file():
        return []
    policies = load_policies(loggers.folder / POLICY_FILE)
    return [policies[logger_name(j)] for j in range(len(policies) - 1)]


def load_scores(loggers: Artifact) -> dict[str, dict[str, float]]:
    """Losses on test by policy: `exp` (expected loss) and `greedy`."""
    scores: dict[str, dict[str, float]] = read_json(loggers.folder / "scores.json")
    return scores


def _test_losses(policy: LinearPolicy, test: LabelledData, loss: Loss) -> dict[str, float]:
    logits = policy.logits(test.x)
    return {
        "exp": float(loss.expected(logits, test.y).mean()),
        "greedy": float(loss.value(test.space.greedy(logits), test.y).mean()),
    }
