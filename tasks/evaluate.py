"""Stage: a policy -> its losses on test, its estimated risk on validation rows, and its certificates.

The only stage that looks at the test split for a learned policy.
"""

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.estimators.bounds import (
    Certificate,
    balanced_certificate,
    naive_certificate,
    weighted_certificate,
)
from multilogger.components.estimators.divergences import average_divergence, exact_divergence
from multilogger.components.estimators.ips import Estimate, equal_estimate, estimate
from multilogger.components.estimators.moments import LoggerMoments
from multilogger.components.estimators.weights import importance_weights
from multilogger.tasks.dataset_files import load_loss, load_test
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage import StageSettings, stage
from multilogger.tasks.engine.stage_run import StageRun, read_json
from multilogger.tasks.lambda_star import load_shares
from multilogger.tasks.learn import load_learned
from multilogger.tasks.log_files import bandit_log_used, open_learner_log
from multilogger.tasks.policy_checks import JudgedLogits, Sight, judged_logits

if TYPE_CHECKING:
    from multilogger.components.log.disk import StreamedLog
    from multilogger.components.policies.policy import LearnedPolicy

Z_95 = 1.959963984540054


class EvaluateSettings(StageSettings):
    """How sure a certificate must be."""

    eta: float = Field(default=0.05, gt=0, lt=1, description="chance that a certificate fails")


class Evaluation(BaseModel):
    """What is known of a policy: `exp` and `greedy` on test; estimates and certificates by name.

    `sight` says what the policy has seen of the validation rows that the latter are of.
    """

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")
    method: str
    exp: float
    greedy: float
    estimates: dict[str, dict[str, float]]
    certificates: dict[str, dict[str, float]]
    sight: Sight = Sight.NONE


# 3: a policy that learned from validation rows is judged there by its parts that did not.
# 4: a time after the policy's log counts as its end.
@stage("evaluate", version=4, dataset=bandit_log_used)
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
    learned, test, loss = load_learned(policy), load_test(data), load_loss(data)
    rows_on_disk = open_learner_log(data, loggers, log)
    test_logits = learned.logits(test.x)
    judged, rows = judge_validation(rows_on_disk, policy, learned)
    here = contexts_of(judged.logits)
    logits = judged.logits[here]
    estimates = estimate_all(rows, load_shares(shares))
    certificates = certify_all(
        learned.space,
        rows.own.counts,
        estimates,
        load_shares(shares),
        logits,
        tuple(table[here] for table in rows_on_disk.logger_logits),
        loss.largest(logits.shape[1]),
        settings.eta,
    )
    result = Evaluation(
        method=learned.method,
        exp=float(loss.expected(test_logits, test.y).mean()),
        greedy=float(loss.value(learned.space.greedy(test_logits), test.y).mean()),
        estimates={name: with_interval(found) for name, found in estimates.items()},
        certificates={name: _terms(certificate) for name, certificate in certificates.items()},
        sight=judged.sight,
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


class ValidationMoments(NamedTuple):
    """What one pass leaves of the validation rows: of weights h/h_j, and of h/h_avg."""

    own: LoggerMoments
    average: LoggerMoments


class ValidationVerdict(NamedTuple):
    """The logits by which validation rows judge a policy, and what the rows say of them."""

    judged: JudgedLogits
    rows: ValidationMoments


def judge_validation(log: "StreamedLog", policy: Artifact, learned: "LearnedPolicy") -> ValidationVerdict:
    """The validation rows under a policy, or under what it is where it has not seen them."""
    judged = judged_logits(policy, learned, log.x)
    rows = measure_validation(log, judged.logits)
    if rows.own.counts.all():
        return ValidationVerdict(judged, rows)
    # Of a small log the contexts that may judge can lack the rows of a logger.
    whole = JudgedLogits(learned.logits(log.x), Sight.ALL)
    return ValidationVerdict(whole, measure_validation(log, whole.logits))


def contexts_of(logits: Matrix) -> NDArray[np.bool_]:
    """The contexts that may judge: (m,)."""
    return np.asarray(~np.isnan(logits).any(axis=1))


def measure_validation(log: "StreamedLog", logits: Matrix) -> ValidationMoments:
    """The validation rows under a policy by its logits on contexts (m, q); rows are never held.

    Rows of contexts without logits are left out.
    """
    from multilogger.components.log.disk import PolicyTable

    here = contexts_of(logits)
    policy = PolicyTable.of(log.space, np.where(here[:, None], logits, 0.0))
    own, average = (LoggerMoments(log.loggers, log.validation.mean_loss) for _ in range(2))
    for chunk in log.chunks(validation=True):
        kept = here[chunk.context]
        target, delta = chunk.under(policy).log_target[kept], chunk.delta[kept]
        own.add(chunk.logger, importance_weights(target, chunk.log_propensity[kept]), delta)
        average.add(chunk.logger, importance_weights(target, chunk.log_average[kept]), delta)
    return ValidationMoments(own, average)


def estimate_all(rows: ValidationMoments, shares: Vector) -> dict[str, Estimate]:
    """Every estimator of the paper, raw and self-normalised; lambda* comes from the training rows.

    lambda_j = share_j / n_j with n_j the rows at hand; fixed before they are seen, as Theorem 3.2 wants.
    """
    estimates = {}
    for suffix, normalised in (("", False), ("-sn", True)):
        estimates[f"naive{suffix}"] = equal_estimate(rows.own, normalised)
        estimates[f"weighted{suffix}"] = estimate(rows.own, shares / rows.own.counts, normalised)
        estimates[f"balanced{suffix}"] = equal_estimate(rows.average, normalised)
    return estimates


def certify_all(
    space: ActionSpace,
    counts: Vector,
    estimates: dict[str, Estimate],
    shares: Vector,
    logits: Matrix,
    logger_logits: tuple[Matrix, ...],
    most: float,
    eta: float,
) -> dict[str, Certificate]:
    """Theorem 3.2 at lambda*, its corollary and Theorem 6.1, for n_j rows and losses of at most `most`."""
    divergences = [exact_divergence(space, logits, other) for other in logger_logits]
    average = average_divergence(space, logits, logger_logits, counts)
    return {
        "naive": naive_certificate(estimates["naive"].value, counts, divergences, most, eta),
        "weighted": weighted_certificate(
            estimates["weighted"].value, shares / counts, counts, divergences, most, eta
        ),
        "balanced": balanced_certificate(estimates["balanced"].value, int(counts.sum()), average, most, eta),
    }


def with_interval(estimate: Estimate) -> dict[str, float]:
    """An estimate as the evaluation keeps it."""
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
