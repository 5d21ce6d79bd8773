"""Stage: bandit log -> a policy, by any of the methods."""

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from multilogger.components.api.policy import COLUMNS_FILE
from multilogger.components.errors import BadInput
from multilogger.components.learners.auto.method import AutoSettings
from multilogger.components.learners.dr.method import DrSettings
from multilogger.components.learners.full_information.method import FullInformationSettings
from multilogger.components.learners.loss_models.settings import AdditiveSettings
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.references import References, reference_policy
from multilogger.components.learners.training.method import Group, Needs
from multilogger.components.learners.training.settings import DivergenceKind, Settings
from multilogger.components.loggers.linear import load_policies
from multilogger.tasks.dataset_files import load_facts
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.progress import say
from multilogger.tasks.engine.stage import stage
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.learn_settings import LearnSettings
from multilogger.tasks.log_files import (
    ESTIMATED_FILE,
    bandit_log_used,
    count_log,
    load_training_log,
    log_space,
    open_learner_log,
    stream_log,
)
from multilogger.tasks.policy_checks import check_additivity, check_calibration, keep_blind, keep_guard
from multilogger.tasks.train_loggers import POLICY_FILE, load_loggers

if TYPE_CHECKING:
    from multilogger.components.learners.learn import Learned
    from multilogger.components.learners.training.record import EpochRecord
    from multilogger.components.log.disk import StreamedLog
    from multilogger.components.log.memory import TrainingLog
    from multilogger.components.policies.policy import LearnedPolicy

POLICY_FILES = ("policy.safetensors", "policy.json")


# 4: the policy where it has not seen a context, if it learned from validation rows.
@stage("learn", version=4, dataset=bandit_log_used)
def learn_policy(
    settings: LearnSettings, data: Artifact, loggers: Artifact, log: Artifact, run: StageRun
) -> None:
    """Learn a policy from the bandit log; the validation split chooses the epoch, test is never seen."""
    if settings.learner is None:
        policy = reference_policy(settings.method, _references(loggers, log), settings.seed)
    else:
        policy = _learn(settings.method, settings.learner, settings.seed, data, loggers, log, run)
    policy.save(run.folder)
    if (data.folder / COLUMNS_FILE).is_file():  # how a frame becomes features is part of the policy
        shutil.copyfile(data.folder / COLUMNS_FILE, run.file(COLUMNS_FILE))
    from multilogger.tasks.served_policy import model_files

    run.offer_model(model_files(run.folder))


def load_learned(policy: Artifact) -> "LearnedPolicy":
    """The policy that `learn` left."""
    from multilogger.components.policies.policy import load_policy

    return load_policy(policy.folder)


def _learn(
    method: str,
    numbers: Settings,
    seed: int,
    data: Artifact,
    loggers: Artifact,
    log: Artifact,
    run: StageRun,
) -> "LearnedPolicy":
    import torch

    from multilogger.components.learners.learn import learn

    torch.set_num_threads(1)  # sums in another order would change the last bits
    if needs_policies(method, numbers):
        _check_has_policies(method, loggers)
    training_log = _training_log(method, numbers, data, loggers, log)
    if isinstance(numbers, FullInformationSettings):
        numbers = replace(numbers, loss=load_facts(data).loss)
    with run.progress(method, numbers.planned_epochs) as advance:
        done = 0

        def show(record: "EpochRecord") -> None:
            nonlocal done
            if record.epoch > done + 1:  # a killed run reports the epochs of its checkpoint at once
                say(f"{method} goes on from its checkpoint of epoch {record.epoch}")
            note = f"validation risk {record.validation_risk:.3f}, best epoch {record.best_epoch}"
            advance(record.epoch - done, note)
            done = record.epoch

        learned = learn(method, training_log, numbers, seed, show, run.checkpoints, say)
    _keep_findings(method, learned, load_facts(data).loggers, run)
    _check_loss_model(method, numbers, learned, training_log, run)
    return learned.policy


def _keep_findings(method: str, learned: "Learned", names: tuple[str, ...], run: StageRun) -> None:
    """What was measured, what a person should know, and how the policy stands; `names` are of loggers."""
    from multilogger.components.learners.judging.verdict import verdict_facts
    from multilogger.components.names import name_loggers

    _log_curves(learned.records, run)
    best = learned.best.metrics()
    run.log_metrics({f"best/{name}": value for name, value in best.items() if np.isfinite(value)})
    run.log_metrics({"epochs": len(learned.records)})
    for note in learned.notes:
        say(name_loggers(note, names))
    if learned.blind_logits is not None:
        keep_blind(learned.blind_logits, run)
    if learned.verdict is not None:
        run.save_json("portfolio.json", verdict_facts(learned.verdict))
    if learned.guard is not None:
        keep_guard(method, learned.guard, names, run)
    if learned.starts:
        run.save_json("starts.json", [start._asdict() for start in learned.starts])


def _check_loss_model(
    method: str, numbers: Settings, learned: "Learned", log: "TrainingLog | StreamedLog", run: StageRun
) -> None:
    """Test what the policy's model of the loss rests on, if it has one of its own."""
    of_labels = bool(log.space.action_shape)
    if of_labels:
        wanted = isinstance(numbers, AdditiveSettings) and not isinstance(numbers, DrSettings | AutoSettings)
    else:
        wanted = learned.blind_chances is not None and not METHODS[method].saw_labels
    if not wanted:
        return
    in_memory = _in_memory(log, numbers.memory_rows)
    if of_labels:
        # Of networks that were fitted to the validation rows, those that have not seen the context.
        seen = isinstance(numbers, AdditiveSettings) and numbers.fit_all
        check_additivity(learned.policy, in_memory, run, learned.blind_chances if seen else None)
    elif learned.blind_chances is not None:
        check_calibration(method, learned.blind_chances, in_memory, run)


def _in_memory(log: "TrainingLog | StreamedLog", rows: int) -> "TrainingLog":
    """The log, or as many of its rows as may be held."""
    from multilogger.components.log.disk import StreamedLog
    from multilogger.components.log.reading import thin_log

    return thin_log(log, rows) if isinstance(log, StreamedLog) else log


def needs_policies(method: str, numbers: Settings) -> bool:
    """Whether a method cannot do without the loggers' own policies."""
    exact = getattr(numbers, "divergence", None) == DivergenceKind.EXACT
    return exact or Needs.LOGGER_POLICIES in METHODS[method].needs


def reads_policies(method: str, numbers: Settings) -> bool:
    """Whether a method that learns from a log on disk asks what a logger would do at any context.

    Constraints draw actions from them there; a portfolio has candidates that need them.
    """
    return needs_policies(method, numbers) or METHODS[method].group in (Group.CONSTRAINED, Group.PORTFOLIO)


def _check_has_policies(method: str, loggers: Artifact) -> None:
    """Refuse an own log whose loggers are not known."""
    if not {POLICY_FILE, ESTIMATED_FILE} & loggers.files.keys():
        raise BadInput(
            f"{method} needs {Needs.LOGGER_POLICIES}, which the log lacks; estimate them with "
            "--set propensities.fit=always"
        )


def _training_log(
    method: str, numbers: Settings, data: Artifact, loggers: Artifact, log: Artifact
) -> "TrainingLog | StreamedLog":
    """The log in memory, or on disk if it has more rows than may be held."""
    rows, most = count_log(log), numbers.memory_rows
    if rows <= most:
        return load_training_log(data, loggers, log)
    say(f"the log has {rows:,} rows, more than learn.memory_rows ({most:,}): learning streams it from disk")
    # Of a long log of a person's own, tables of all contexts and actions are only made for who reads them.
    return open_learner_log(data, loggers, log, reads_policies(method, numbers))


def _log_curves(records: "tuple[EpochRecord, ...]", run: StageRun) -> None:
    """One point an epoch of everything that was measured and is finite."""
    for record in records:
        for name, value in record.metrics().items():
            if name != "epoch" and np.isfinite(value):
                run.log_curve(name, [value], first_step=record.epoch)


def _references(loggers: Artifact, log: Artifact) -> References:
    policies = tuple(load_loggers(loggers))
    loss, count = np.zeros(len(policies)), np.zeros(len(policies))
    for batch in stream_log(log, validation=True):
        loss += np.bincount(batch.logger, batch.rows.delta, minlength=len(policies))
        count += np.bincount(batch.logger, minlength=len(policies))
    crf = load_policies(loggers.folder / POLICY_FILE)["crf"]
    return References(log_space(log), policies, crf, tuple((loss / count).tolist()))
