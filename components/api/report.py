"""`evaluate`: what a policy is worth from logs alone, and the report that says so."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from multilogger.components.api.bandit_log import BanditLog
from multilogger.components.api.companions import estimated_note, estimated_shares, require_propensities
from multilogger.components.api.learner import one_thread
from multilogger.components.api.log_files import table_files
from multilogger.components.api.policy import Policy, as_policy
from multilogger.components.api.read_log import Range
from multilogger.components.api.split_log import check_seed, is_number
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import check_level
from multilogger.components.estimators.pessimism import SmoothedRisk
from multilogger.components.evaluation.context_logits import Blocks, ContextLogits
from multilogger.components.evaluation.evaluation import (
    EstimateRow,
    PolicyEvaluation,
    Request,
    evaluate_policy,
)
from multilogger.components.evaluation.intervals import check_replicates
from multilogger.components.evaluation.loss_models.registry import DrModel
from multilogger.components.evaluation.max_weights import (
    MaxWeights,
    check_stated_weight,
    greedy_log_propensity,
    known_max_weights,
)
from multilogger.components.evaluation.score_log import ModelChoice, Scored, score_log
from multilogger.components.evaluation.tables import (
    estimate_line,
    estimate_table,
    evaluation_notes,
    logger_table,
    smoothed_table,
)
from multilogger.components.log.checks import check_loggers
from multilogger.components.log.files import BATCH_ROWS
from multilogger.components.log.memory import densify
from multilogger.components.log.same_rows import learned_before
from multilogger.components.text import html_table, text_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class EvaluationReport:
    """Every estimator of a policy's risk with its intervals, and which of them to trust.

    The risk is the expected loss; for a log of rewards `to_pandas` gives the expected reward, too.
    `estimated_shares` says which share of the rows' own propensities was estimated rather than logged, and
    which of those under every logger.
    """

    policy: str
    result: PolicyEvaluation
    level: float
    notes: tuple[str, ...]
    reward_range: Range | None = None
    estimated_shares: tuple[float, float] = (0.0, 0.0)

    @property
    def estimates(self) -> Mapping[str, EstimateRow]:
        """The estimates by name."""
        return {row.name: row for row in self.result.estimates}

    @property
    def smoothed(self) -> Mapping[str, SmoothedRisk]:
        """Pessimistic estimates by name, with intervals that hold for weights of any size."""
        return {one.name: one for one in self.result.smoothed}

    @property
    def recommended(self) -> EstimateRow | None:
        """The estimate to trust, by a rule that looks at the weights alone; None where there is none."""
        name = self.result.recommendation.estimator
        return None if name is None else self.estimates[name]

    @property
    def recommendation(self) -> str:
        """The sentence that says so."""
        return self.result.recommendation.sentence

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.result.warnings

    def to_pandas(self) -> "pd.DataFrame":
        """One row per estimator: its value, standard error and intervals, and what its rows are worth."""
        import pandas as pd

        frame = pd.DataFrame([estimate_line(row) for row in self.result.estimates]).set_index("estimator")
        if self.reward_range is not None:
            most = self.reward_range[1]
            frame["reward"] = most - frame["value"]
            frame["reward_low"], frame["reward_high"] = most - frame["high"], most - frame["low"]
        frame["estimated_propensities"] = [self._estimated(name) for name in frame.index]
        frame["recommended"] = frame.index == self.result.recommendation.estimator
        return frame

    def plot(self) -> "Figure":
        """The estimates with both intervals, beside the loggers' own losses."""
        from multilogger.components.evaluation.picture import evaluation_figure

        title = f"{self.policy}: risk from {self.result.rows:,} logged rows"
        return evaluation_figure(self.result, title, self.level)

    def __repr__(self) -> str:
        lines = [f"Warning: {line}." for line in self.warnings] + list(self.notes)
        lines += [line for rows in self._tables() for line in ("", *text_table(rows))]
        return "\n".join([*lines, "", self.recommendation, *self._reward_lines()])

    def _repr_html_(self) -> str:
        parts = [f"<p><b>Warning:</b> {escape(line)}.</p>" for line in self.warnings]
        parts += [f"<p>{escape(line)}</p>" for line in self.notes]
        parts += [html_table(rows) for rows in self._tables()]
        parts += [f"<p><b>{escape(self.recommendation)}</b></p>"]
        return "".join([*parts, *(f"<p>{escape(line)}</p>" for line in self._reward_lines())])

    def _tables(self) -> list[list[dict[str, str]]]:
        smooth = smoothed_table(self.result, self.level)
        return [logger_table(self.result), self._estimate_table(), smooth]

    def _estimate_table(self) -> list[dict[str, str]]:
        """With the share of estimated propensities that each estimate rests on, where there are any."""
        rows = estimate_table(self.result, self.level)
        if not any(self.estimated_shares):
            return rows
        shares = [f"{self._estimated(row.name):.0%}" for row in self.result.estimates]
        return [row | {"estimated": share} for row, share in zip(rows, shares, strict=True)]

    def _estimated(self, name: str) -> float:
        """Balanced weights and those of dr look at the propensities under every logger."""
        own, every = self.estimated_shares
        return every if name.startswith(("balanced", "dr")) else own

    def _reward_lines(self) -> list[str]:
        """What risks mean in a log of rewards."""
        if self.reward_range is None:
            return []
        low, high = self.reward_range
        line = f"Rewards lie in [{low:g}, {high:g}]; a risk r is an expected reward of {high:g} - r"
        best = self.recommended
        if best is None:
            return [f"{line}."]
        ends = f"{high - best.bootstrap.high:.4g} to {high - best.bootstrap.low:.4g}"
        return [f"{line}, by {best.name} {high - best.value:.4g} ({ends})."]


def evaluate(
    policy: Any,
    log: BanditLog,
    *,
    level: float = 0.95,
    bootstrap: int = 1000,
    clip: float | None = None,
    max_weight: float | None = None,
    dr_model: str = "ridge",
    seed: int = 0,
) -> EvaluationReport:
    """What a policy is worth by a log that it was not learned from, as `multilogger evaluate` says it.

    Args:
        policy: a `Policy`, a fitted learner, or an object whose `predict_proba` gives (n, K) or (n, q); its
            columns are found by its `classes_`, if it has them.
        log: the rows to judge by.
        level: coverage of the intervals.
        bootstrap: resamples, at least 100.
        clip: cut of the weights in the clipped estimators; the square root of the rows by default.
        max_weight: the largest weight that could ever occur; known where the log has its loggers' policies.
        dr_model: the loss model of the doubly robust estimate: ridge; smrdr, of the least variance; or a
            network (slower), which is called additive for label vectors.
        seed: of the resamples and folds.
    """
    if not isinstance(log, BanditLog):
        raise BadInput(f"evaluate takes a policy and a BanditLog, got {type(log).__name__}")
    _check_request(level, bootstrap, {"clip": clip, "max_weight": max_weight}, dr_model)
    chosen = as_policy(policy, log)
    check_loggers(log.loggers, log.logger, log.loss)
    require_propensities(log, "evaluate")
    rng = np.random.default_rng(check_seed(seed))
    contexts = _context_logits(chosen, log)
    loggers = tuple(one.logits(log.x) for one in log.logger_policies)
    with one_thread():
        scored = score_log(
            table_files(log),
            chosen,
            rng,
            contexts,
            log.max_loss,
            choice=ModelChoice(DrModel(dr_model)),
            logger_logits=loggers,
        )
        scored = replace(
            scored, log=replace(scored.log, names=log.loggers), contexts_known=log.contexts_known
        )
        largest = _max_weights(log, scored, contexts, loggers, max_weight)
        rare = greedy_log_propensity(log.space, contexts.logits, loggers) if loggers else None
        request = Request(level, bootstrap, clip)
        result = evaluate_policy(
            scored.log, scored.model, request, rng, largest, rare, additivity=scored.additivity
        )
    if (seen := learned_before(log, chosen.learned)) is not None:
        result = replace(result, warnings=(seen, *result.warnings))
    notes = list(evaluation_notes(scored.about, largest, "max_weight"))
    if (estimated := estimated_note(log)) is not None:
        notes.insert(0, estimated)
    return EvaluationReport(
        chosen.method, result, level, tuple(notes), log.reward_range, estimated_shares(log)
    )


def _check_request(level: float, bootstrap: int, positive: dict[str, float | None], dr_model: str) -> None:
    check_level(level, "level")
    check_replicates(bootstrap, "bootstrap")
    for name, value in positive.items():
        if value is not None and not (is_number(value) and value > 0):
            raise BadInput(f"{name} must be a number above 0, got {value!r}")
    if dr_model not in list(DrModel):
        raise BadInput(f"dr_model must be one of {', '.join(DrModel)}, got {dr_model!r}")


def _context_logits(policy: Policy, log: BanditLog) -> ContextLogits:
    def blocks() -> Blocks:
        for start in range(0, log.x.shape[0], BATCH_ROWS):
            yield densify(log.x[start : start + BATCH_ROWS])

    return ContextLogits(log.space, policy.logits(log.x), {row: row for row in range(log.x.shape[0])}, blocks)


def _max_weights(
    log: BanditLog,
    scored: Scored,
    contexts: ContextLogits,
    loggers: tuple[Any, ...],
    max_weight: float | None,
) -> MaxWeights | None:
    if max_weight is not None:
        check_stated_weight(float(scored.log.weights.max()), max_weight, "max_weight")
        return MaxWeights(np.full(scored.log.loggers, max_weight), max_weight)
    return known_max_weights(log.space, contexts.logits, loggers, scored.log.counts) if loggers else None
