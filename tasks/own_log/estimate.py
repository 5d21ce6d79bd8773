"""Stage: a policy -> what a person's own held-out rows say of it, beside the loggers themselves.

The only stage that looks at the test rows of an imported log. No true labels exist: every number is an
estimate, with its interval.
"""

import math
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from multilogger.components.actions.arrays import Matrix
from multilogger.components.estimators.checks import LEAST_LEVEL, MOST_LEVEL
from multilogger.components.evaluation.context_logits import Blocks, ContextLogits
from multilogger.components.evaluation.evaluation import PolicyEvaluation, Request, evaluate_policy
from multilogger.components.evaluation.intervals import LEAST_ASKED, MOST_ASKED
from multilogger.components.evaluation.score_log import Scored, score_log
from multilogger.components.evaluation.tables import estimate_line
from multilogger.components.log.files import BATCH_ROWS, open_log_files
from multilogger.components.log.memory import densify
from multilogger.components.own_log.against_loggers import HEADLINE, AgainstLoggers, against_loggers
from multilogger.components.own_log.context_files import read_contexts
from multilogger.components.own_log.write_log import CONTEXT_FOLDER, LOG_FOLDER, TEST_FOLDER
from multilogger.tasks.dataset_files import DatasetFacts, load_facts
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage import StageSettings, stage
from multilogger.tasks.engine.stage_run import StageRun, read_json
from multilogger.tasks.evaluate import Evaluation, estimate_all, judge_validation, with_interval
from multilogger.tasks.lambda_star import load_shares
from multilogger.tasks.learn import load_learned
from multilogger.tasks.log_files import bandit_log_used, open_learner_log
from multilogger.tasks.replay import load_summary

if TYPE_CHECKING:
    from multilogger.components.policies.policy import LearnedPolicy

HELD_OUT = "held_out.json"


class EstimateSettings(StageSettings):
    """How intervals are made."""

    bootstrap: int = Field(default=1000, ge=LEAST_ASKED, le=MOST_ASKED, description="resamples of contexts")
    level: float = Field(default=0.95, ge=LEAST_LEVEL, le=MOST_LEVEL, description="level of the intervals")
    bootstrap_seed: int = Field(default=0, ge=0, description="draws resamples and folds")


class WithInterval(BaseModel):
    """A number and its interval; null where there is none."""

    model_config = ConfigDict(frozen=True)
    value: float | None
    low: float | None
    high: float | None


class HeldOut(BaseModel):
    """What test rows say, losses in [0, 1] or [0, labels] as learned from; see `max_loss` for their unit.

    `trusted` says whether the log covers the policy well enough for any estimate; `estimates` has all of them
    by name, `policy` the one that compares policies. `best` is the logger with the least mean loss on the
    other rows, `difference` the policy's risk minus its; `differences` has the same for every logger.
    """

    model_config = ConfigDict(frozen=True)
    method: str
    rows: int
    contexts: int
    level: float
    policy: WithInterval
    loggers: dict[str, WithInterval]
    best: str
    difference: WithInterval
    differences: dict[str, WithInterval] = {}
    trusted: bool
    sentence: str
    warnings: tuple[str, ...]
    mean_weight: float
    effective_rows: float
    estimates: dict[str, dict[str, float | None]]
    max_loss: float
    reward_range: tuple[float, float] | None
    largest_loss: float


# 2: of more than 4,096 contexts, random blocks are resampled. 3: the difference to every logger.
# 4: a policy that learned from validation rows is judged there by its parts that did not.
# 5: where events are few, wider intervals, those of differences too.
@stage("estimate", version=5, dataset=bandit_log_used)
def estimate_policy(
    settings: EstimateSettings,
    data: Artifact,
    loggers: Artifact,
    log: Artifact,
    policy: Artifact,
    shares: Artifact,
    run: StageRun,
) -> None:
    """Estimate a policy's risk on held-out rows, its difference to the best logger, and validation risks."""
    import torch

    torch.set_num_threads(1)  # sums in another order would change the last bits
    learned = load_learned(policy)
    rows = open_learner_log(data, loggers, log, policies=False)
    judged, moments = judge_validation(rows, policy, learned)
    validation = estimate_all(moments, load_shares(shares))
    held_out = _held_out(settings, learned, data, log)
    result = Evaluation(
        method=learned.method,
        exp=math.nan if held_out.policy.value is None else held_out.policy.value,
        greedy=math.nan,
        estimates={name: with_interval(found) for name, found in validation.items()},
        certificates={},
        sight=judged.sight,
    )
    run.file("evaluation.json").write_text(result.model_dump_json(indent=2) + "\n", encoding="utf-8")
    run.file(HELD_OUT).write_text(held_out.model_dump_json(indent=2) + "\n", encoding="utf-8")
    run.log_metrics(held_out_metrics(held_out))


def load_held_out(estimate: Artifact) -> HeldOut:
    return HeldOut.model_validate(read_json(estimate.folder / HELD_OUT))


def held_out_metrics(found: HeldOut) -> dict[str, float]:
    """The finite numbers, under the same names for every method."""
    named: dict[str, float | None] = {
        "test_risk": found.policy.value,
        "test_low": found.policy.low,
        "test_high": found.policy.high,
        "difference": found.difference.value,
        "difference_low": found.difference.low,
        "difference_high": found.difference.high,
        "test_mean_weight": found.mean_weight,
        "test_effective_rows": found.effective_rows,
        "trusted": float(found.trusted),
    }
    for name, parts in found.estimates.items():
        named |= {f"{name}/{part}": value for part, value in parts.items()}
    return {name: value for name, value in named.items() if value is not None and math.isfinite(value)}


def _held_out(settings: EstimateSettings, learned: "LearnedPolicy", data: Artifact, log: Artifact) -> HeldOut:
    facts = load_facts(data)
    rng = np.random.default_rng(settings.bootstrap_seed)
    scored = _scored(learned, data, log, facts.loggers, rng)
    request = Request(settings.level, settings.bootstrap)
    result = evaluate_policy(scored.log, scored.model, request, rng)
    losses = [part["mean_delta"] for part in load_summary(log).values()]
    # Choice: the best logger is chosen by the other rows, so that luck on test does not choose it.
    compared = against_loggers(
        scored.log, int(np.argmin(losses)), settings.bootstrap, settings.level, rng.spawn(1)[0]
    )
    return _report(learned, result, compared, facts, settings.level)


def _scored(
    learned: "LearnedPolicy", data: Artifact, log: Artifact, names: tuple[str, ...], rng: np.random.Generator
) -> Scored:
    x = read_contexts(data.folder / TEST_FOLDER / CONTEXT_FOLDER)

    def blocks() -> Blocks:
        for start in range(0, x.shape[0], BATCH_ROWS):
            yield densify(x[start : start + BATCH_ROWS])

    logits: Matrix = learned.logits(x)
    contexts = ContextLogits(learned.space, logits, {row: row for row in range(x.shape[0])}, blocks)
    files = open_log_files(log.folder / TEST_FOLDER / LOG_FOLDER, contexts_given=True)
    scored = score_log(files, learned, rng, contexts)
    return replace(scored, log=replace(scored.log, names=names))


def _report(
    learned: "LearnedPolicy",
    result: PolicyEvaluation,
    compared: AgainstLoggers,
    facts: DatasetFacts,
    level: float,
) -> HeldOut:
    names = facts.loggers
    lines = {row.name: estimate_line(row) for row in result.estimates}
    headline = next(row for row in result.estimates if row.name == HEADLINE)
    return HeldOut(
        method=learned.method,
        rows=result.rows,
        contexts=result.contexts,
        level=level,
        policy=_range(asdict(compared.policy)),
        loggers={name: _range(asdict(one)) for name, one in zip(names, compared.loggers, strict=True)},
        best=names[compared.best],
        difference=_range(asdict(compared.differences[compared.best])),
        differences={
            name: _range(asdict(one)) for name, one in zip(names, compared.differences, strict=True)
        },
        trusted=result.recommendation.estimator is not None,
        sentence=result.recommendation.sentence,
        warnings=result.warnings,
        mean_weight=headline.mean_weight,
        effective_rows=headline.effective_rows,
        estimates={
            name: {part: _finite(value) for part, value in line.items() if not isinstance(value, str)}
            for name, line in lines.items()
        },
        max_loss=facts.max_loss,
        reward_range=facts.reward_range,
        largest_loss=learned.space.largest_loss,
    )


def _range(parts: dict[str, float]) -> WithInterval:
    return WithInterval(**{name: _finite(value) for name, value in parts.items()})


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
