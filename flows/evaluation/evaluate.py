"""Off-policy evaluation of one policy on one log: find both, choose the rows, estimate."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

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
from multilogger.components.own_log.estimated import estimated_line
from multilogger.components.own_log.find_source import WILD
from multilogger.components.own_log.mapped_files import MappedFiles
from multilogger.flows.cells.runner_choice import DEFAULT_RUNNER, RunnerChoice
from multilogger.flows.evaluation.log_source import LogSource, Room, find_log
from multilogger.flows.evaluation.policy_source import NamedPolicy, find_policy
from multilogger.flows.evaluation.spreading import spread_by
from multilogger.flows.evaluation.which_rows import ITS_OWN_ROWS, choose_rows, learned_from
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
    with TemporaryDirectory() as room:
        source = find_log(
            options.logs.expanduser(),
            named,
            options.contexts,
            Room(Path(room), options.seed),
            options.log,
            options.mapped,
        )
        return _evaluated(options, named, source)


def _evaluated(options: EvaluateOptions, named: NamedPolicy, source: LogSource) -> Evaluated:
    side, why = choose_rows(options.validation_only, named, source)
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
    estimated = [f"{estimated_line(source.estimated)}."] if source.estimated else []
    return Evaluated(result, (why, *estimated, *notes), named, source)


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
