"""Off-policy evaluation of one policy on one log: find both, choose the rows, estimate."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from multilogger.components.actions.arrays import Vector
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import check_level
from multilogger.components.evaluation.evaluation import (
    PolicyEvaluation,
    Request,
    evaluate_sums,
    sum_up_log,
)
from multilogger.components.evaluation.intervals import check_replicates
from multilogger.components.evaluation.log_sums import WeightKind
from multilogger.components.evaluation.loss_models.registry import DrModel
from multilogger.components.evaluation.max_weights import MaxWeights, check_stated_weight
from multilogger.components.evaluation.score_log import ModelChoice, score_log
from multilogger.components.evaluation.tables import evaluation_notes
from multilogger.components.log.unreadable import unchanged
from multilogger.components.long_log.summing import LONG_ROWS, LongLog, LongLogSums, sum_up_long
from multilogger.components.names import logger_name, name_from
from multilogger.components.own_log.estimated import estimated_line, estimated_share
from multilogger.components.own_log.find_source import WILD
from multilogger.components.own_log.mapped_files import MappedFiles
from multilogger.flows.cells.runner_choice import DEFAULT_RUNNER, RunnerChoice
from multilogger.flows.evaluation.learned_from import ITS_OWN_ROWS, learned_from
from multilogger.flows.evaluation.log_source import LogSource, find_log
from multilogger.flows.evaluation.policy_source import NamedPolicy, find_policy
from multilogger.flows.evaluation.spreading import spread_by
from multilogger.tasks.engine.progress import Bar, SilentBar, open_bar
from multilogger.tasks.engine.store import Store
from multilogger.tasks.own_log.import_settings import ImportLogSettings

PASSES = 3  # over the log; see score_log


@dataclass(frozen=True)
class EvaluateOptions:
    """What a person typed. `validation_only` None lets the origin of policy and log decide.

    `log` has the columns of the log, `mapped` says that some of them were named.
    """

    policy: str
    logs: Path
    out: Path = Path("evaluation")
    seed: int = 0
    bootstrap: int = 1000
    clip: float | None = None
    level: float = 0.95
    contexts: Path | None = None
    validation_only: bool | None = None
    max_loss: float | None = None
    max_weight: float | None = None
    dr_model: DrModel = DrModel.RIDGE
    workers: int = 1
    runner: str = DEFAULT_RUNNER
    address: str | None = None
    track: bool = True
    log: ImportLogSettings | None = None
    mapped: bool = False

    @property
    def log_path(self) -> str:
        """As it was typed: a path would change an address."""
        return str(self.logs) if self.log is None else self.log.logs

    def __post_init__(self) -> None:
        check_level(self.level, "--level")
        check_replicates(self.bootstrap, "--bootstrap")
        RunnerChoice(self.workers, self.runner, self.address)  # says what is wrong
        for name in ("clip", "max_loss", "max_weight"):
            value = getattr(self, name)
            if value is not None and not (value > 0 and np.isfinite(value)):
                raise BadInput(f"--{name.replace('_', '-')} must be a number above 0, got {value:g}")


@dataclass(frozen=True)
class Evaluated:
    """An evaluation, what must be said about how it was done, and the policy and log it is of."""

    result: PolicyEvaluation
    notes: tuple[str, ...]
    named: NamedPolicy
    source: LogSource

    def dataset(self, options: EvaluateOptions) -> str:
        """The dataset's name where one is known, else that of the log's files or their folder."""
        plain = (part for part in reversed(options.logs.absolute().parts) if not set(part) & set(WILD))
        return self.source.dataset or self.named.dataset or name_from(next(plain), "log")


def chosen_model(name: str) -> DrModel:
    """The loss model of that name."""
    if name not in list(DrModel):
        raise BadInput(f"--dr-model must be one of {', '.join(DrModel)}, got {name!r}")
    return DrModel(name)


def evaluate_on_logs(options: EvaluateOptions) -> Evaluated:
    """Find policy and log, choose the rows, and estimate."""
    import torch

    torch.set_num_threads(1)  # a policy is small; threads only fight
    named = find_policy(options.policy, Store.current())
    source = find_log(options.logs.expanduser(), named, options.contexts, options.log, options.mapped)
    side, why = choose_rows(options, named, source)
    source = replace(source, files=replace(source.files, validation=True if side else None))
    rng = np.random.default_rng(options.seed)
    long = not isinstance(source.files, MappedFiles) and source.files.rows > LONG_ROWS
    with unchanged(options.log_path, source.files.said):
        scored = (_summed if long else _score)(source, named, options, rng)
    with open_bar("bootstrap", options.bootstrap) as advance:
        result = evaluate_sums(
            scored.log,
            _request(options),
            rng,
            scored.max_weights is not None,
            source.greedy_log_propensity(),
            advance,
            scored.about.additivity,
        )
    notes = evaluation_notes(scored.about, scored.max_weights, "--max-weight")
    if not side and learned_from(named, options.log, Store.current()):
        result = replace(result, warnings=(ITS_OWN_ROWS, *result.warnings))
    return Evaluated(result, (why, *_estimated(options, source), *notes), named, source)


def _estimated(options: EvaluateOptions, source: LogSource) -> list[str]:
    """The line on estimated propensities, if files have such."""
    share = 0.0 if options.log is None or source.key is not None else estimated_share(options.log.open())
    return [f"{estimated_line(share)}."] if share else []


def choose_rows(options: EvaluateOptions, named: NamedPolicy, source: LogSource) -> tuple[bool, str]:
    """Whether to use validation rows only, and the line that says why.

    Rows that a policy was learned from flatter it; so when nothing tells where it was learned, they are left
    out too.
    """
    marked = source.files.columns.validation is not None
    if options.validation_only and not marked:
        raise BadInput("--validation-only needs a column 'validation' (true or false) in the log")
    if options.validation_only is not None or not marked:
        return bool(options.validation_only), (
            "Validation rows only, as asked." if options.validation_only else "All rows of the log."
        )
    if named.log_key is not None and source.key is not None and named.log_key != source.key:
        return False, _another_log(named.data_key is not None and named.data_key == source.data_key)
    if named.log_key is not None and named.log_key == source.key:
        return True, (
            "Validation rows only: the policy was learned from this very log, and its training rows flatter "
            "it (--all-rows uses them all the same)."
        )
    return True, (
        "Validation rows only: nothing tells whether the policy was learned from the other rows, which would "
        "flatter it (--all-rows uses them)."
    )


def _another_log(same_contexts: bool) -> str:
    if not same_contexts:
        return "All rows: the policy was learned from another log."
    what = "All rows: the policy was learned from another log of the same contexts."
    return f"{what} It has met them all, so the figures are a little too good for contexts that are new."


def _request(options: EvaluateOptions) -> Request:
    return Request(options.level, options.bootstrap, options.clip)


@contextmanager
def _bars(source: LogSource, options: EvaluateOptions) -> Iterator[tuple[Bar, ModelChoice]]:
    slow = options.dr_model.slow
    with (
        open_bar("reading the log", PASSES * source.files.rows) as advance,
        open_bar("fitting a model of the loss", 1.0) if slow else SilentBar() as fitting,
    ):
        yield advance, ModelChoice(options.dr_model, fitting)


def _largest_loss(source: LogSource, options: EvaluateOptions) -> float | None:
    return source.files.max_loss if options.max_loss is None else options.max_loss


def _score(
    source: LogSource, named: NamedPolicy, options: EvaluateOptions, rng: np.random.Generator
) -> LongLogSums:
    """A log that fits in memory, scored and summed up."""
    with _bars(source, options) as (advance, choice):
        scored = score_log(
            source.files,
            named.policy,
            rng,
            source.contexts,
            _largest_loss(source, options),
            advance,
            choice,
            named.action_numbers,
            source.logger_logits,
        )
    if source.key is not None:
        scored = replace(scored, log=replace(scored.log, names=_names(scored.log.loggers)))
    max_weights = _max_weights(source, options, scored.log.counts)
    _check_stated(options, scored.log.weights.max())
    sums = sum_up_log(scored.log, scored.model, _request(options), rng, max_weights)
    return LongLogSums(sums, scored.about, max_weights)


def _summed(
    source: LogSource, named: NamedPolicy, options: EvaluateOptions, rng: np.random.Generator
) -> LongLogSums:
    """A log that does not, read in parts."""
    with _bars(source, options) as (advance, choice):
        log = LongLog(
            source.files,
            named.policy,
            source.contexts,
            _largest_loss(source, options),
            choice,
            named.action_numbers,
            source.logger_logits,
            None if source.key is None else _names,
            lambda counts: _max_weights(source, options, counts),
        )
        spread = spread_by(options.runner, options.address)
        summed = sum_up_long(log, _request(options), rng, advance, options.workers, spread)
    _check_stated(options, summed.log.sums.largest[WeightKind.OWN].max())
    return summed


def _names(loggers: int) -> tuple[str, ...]:
    return tuple(logger_name(j) for j in range(loggers))


def _max_weights(source: LogSource, options: EvaluateOptions, counts: Vector) -> MaxWeights | None:
    if options.max_weight is None:
        return source.max_weights(counts)
    return MaxWeights(np.full(len(counts), options.max_weight), options.max_weight)


def _check_stated(options: EvaluateOptions, largest: float) -> None:
    if options.max_weight is not None:
        check_stated_weight(float(largest), options.max_weight, "--max-weight")
