"""Stage: a policy -> its losses on test, its estimated risk on validation rows, and its certificates.

The only stage that looks at the test split for a learned policy.
"""

import math
from dataclasses import asdict

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from multilogger.components.bounds import (
    Certificate,
    balanced_certificate,
    naive_certificate,
    weighted_certificate,
)
from multilogger.components.divergences import exact_divergence, harmonic_divergence_bound
from multilogger.components.estimators import Estimate, balanced_risk, lambda_weighted_risk, naive_risk
from multilogger.components.importance import RAW, SELF_NORMALISED
from multilogger.components.logged_batch import LoggedBatch
from multilogger.components.losses import Loss
from multilogger.components.policies import Matrix, Vector, greedy, log_probability
from multilogger.tasks.dataset_files import load_loss, load_test, load_train
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage import StageSettings, stage
from multilogger.tasks.engine.stage_run import StageRun, read_json
from multilogger.tasks.lambda_star import load_shares
from multilogger.tasks.learn import load_learned
from multilogger.tasks.log_files import stream_log
from multilogger.tasks.train_loggers import load_loggers

Z_95 = 1.959963984540054


class EvaluateSettings(StageSettings):
    """How sure a certificate must be."""

    eta: float = Field(default=0.05, gt=0, lt=1, description="chance that a certificate fails")


class Evaluation(BaseModel):
    """What is known of a policy: `exp` and `greedy` on test; estimates and certificates by name."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")
    method: str
    exp: float
    greedy: float
    estimates: dict[str, dict[str, float]]
    certificates: dict[str, dict[str, float]]


@stage("evaluate", version=1)
def evaluate(
    settings: EvaluateSettings,
    data: Artifact,
    loggers: Artifact,
    log: Artifact,
    policy: Artifact,
    shares: Artifact,
    run: StageRun,
) -> None:
    """Score a policy on test, and say what its logs alone would have said."""
    learned, test, contexts = load_learned(policy), load_test(data), load_train(data).x
    test_logits, logits = learned.logits(test.x), learned.logits(contexts)
    loss = load_loss(data)
    batch = _validation_rows(log, logits, loss)
    estimates = estimate_all(batch, load_shares(shares))
    logger_logits = [logger.logits(contexts) for logger in load_loggers(loggers)]
    certificates = certify_all(batch, estimates, load_shares(shares), logits, logger_logits, settings.eta)
    result = Evaluation(
        method=learned.method,
        exp=float(loss.expected(test_logits, test.y).mean()),
        greedy=float(loss.value(greedy(test_logits), test.y).mean()),
        estimates={name: _with_interval(estimate) for name, estimate in estimates.items()},
        certificates={name: _terms(certificate) for name, certificate in certificates.items()},
    )
    run.file("evaluation.json").write_text(result.model_dump_json(indent=2) + "\n", encoding="utf-8")
    run.log_metrics(evaluation_metrics(result, settings.eta))


def load_evaluation(evaluation: Artifact) -> Evaluation:
    return Evaluation.model_validate(read_json(evaluation.folder / "evaluation.json"))


def evaluation_metrics(result: Evaluation, eta: float) -> dict[str, float]:
    """The finite numbers of an evaluation under the same names for every method."""
    metrics = {"exp": result.exp, "greedy": result.greedy}
    metrics |= {f"{name}/{part}": v for name, parts in result.estimates.items() for part, v in parts.items()}
    metrics |= {
        f"certificate-{eta:g}/{name}/{part}": value
        for name, parts in result.certificates.items()
        for part, value in parts.items()
    }
    return {name: value for name, value in metrics.items() if math.isfinite(value)}


def estimate_all(batch: LoggedBatch, shares: Vector) -> dict[str, Estimate]:
    """Every estimator of the paper, raw and self-normalised; lambda* comes from the training rows.

    lambda_j = share_j / n_j with n_j the rows at hand; fixed before they are seen, as Theorem 3.2 wants.
    """
    lambdas = shares / batch.counts
    return {
        "naive": naive_risk(batch, RAW),
        "weighted": lambda_weighted_risk(batch, lambdas, RAW),
        "balanced": balanced_risk(batch, RAW),
        "naive-sn": naive_risk(batch, SELF_NORMALISED),
        "weighted-sn": lambda_weighted_risk(batch, lambdas, SELF_NORMALISED),
        "balanced-sn": balanced_risk(batch, SELF_NORMALISED),
    }


def certify_all(
    batch: LoggedBatch,
    estimates: dict[str, Estimate],
    shares: Vector,
    logits: Matrix,
    logger_logits: list[Matrix],
    eta: float,
) -> dict[str, Certificate]:
    """Theorem 3.2 at lambda*, its corollary and Theorem 6.1, on the rows at hand."""
    divergences = [exact_divergence(logits, other) for other in logger_logits]
    average = harmonic_divergence_bound(logits, logger_logits, batch.counts)
    lambdas, most = shares / batch.counts, batch.max_loss
    return {
        "naive": naive_certificate(estimates["naive"].value, batch.counts, divergences, most, eta),
        "weighted": weighted_certificate(
            estimates["weighted"].value, lambdas, batch.counts, divergences, most, eta
        ),
        "balanced": balanced_certificate(estimates["balanced"].value, batch.rows, average, most, eta),
    }


def _validation_rows(log: Artifact, logits: Matrix, loss: Loss) -> LoggedBatch:
    """The validation side with log h(y|x) of the policy; a quarter of the log, held in memory."""
    batches = list(stream_log(log, validation=True))
    rows = [batch.rows for batch in batches]
    targets = [log_probability(logits[part.context], part.action) for part in rows]
    return LoggedBatch(
        logger=np.concatenate([batch.logger for batch in batches]),
        delta=np.concatenate([part.delta for part in rows]),
        log_propensity=np.concatenate([part.log_propensity for part in rows]),
        log_target=np.concatenate(targets),
        max_loss=loss.largest(logits.shape[1]),
        log_propensities=np.concatenate([part.log_propensities for part in rows]),
    )


def _with_interval(estimate: Estimate) -> dict[str, float]:
    half = Z_95 * estimate.standard_error
    return {
        "value": estimate.value,
        "low": estimate.value - half,
        "high": estimate.value + half,
        "mean_weight": estimate.mean_weight,
        "effective_rows": estimate.effective_rows,
    }


def _terms(certificate: Certificate) -> dict[str, float]:
    wanted = ("empirical_risk", "range_term", "variance_term", "bound")
    return {name: value for name, value in asdict(certificate).items() if name in wanted}
