"""Stage: bandit log -> a policy, by any of the methods."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from pydantic import Field, InstanceOf, TypeAdapter, model_validator

from multilogger.components.errors import BadInput
from multilogger.components.learners.additive.method import AdditiveSettings
from multilogger.components.learners.dr.method import DrSettings
from multilogger.components.learners.exact.method import MultiplierSettings
from multilogger.components.learners.full_information.method import FullInformationSettings
from multilogger.components.learners.methods import METHODS, all_settings, reads
from multilogger.components.learners.presets import PRESETS, preset
from multilogger.components.learners.presets.table import PAPER_METHODS
from multilogger.components.learners.references import (
    References,
    check_reference,
    is_reference,
    reference_names,
    reference_policy,
)
from multilogger.components.learners.reg.method import ConstraintSettings
from multilogger.components.learners.training.settings import Settings, keyed_settings, plain_settings
from multilogger.components.loggers.linear import load_policies
from multilogger.tasks.additivity_check import check_additivity
from multilogger.tasks.dataset_files import load_facts
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.progress import say
from multilogger.tasks.engine.stage import SettingText, StageSettings, shown, stage
from multilogger.tasks.engine.stage_run import ModelFiles, StageRun
from multilogger.tasks.log_files import (
    bandit_log_used,
    count_log,
    load_training_log,
    open_learner_log,
    stream_log,
)
from multilogger.tasks.train_loggers import POLICY_FILE, load_loggers

if TYPE_CHECKING:
    from multilogger.components.learners.learn import Learned
    from multilogger.components.learners.training.record import EpochRecord
    from multilogger.components.log.disk import StreamedLog
    from multilogger.components.log.memory import TrainingLog
    from multilogger.components.policies.policy import LearnedPolicy

POLICY_FILES = ("policy.safetensors", "policy.json")
CHOICES = {
    "method": SettingText("weighted-reg", "a learner or a reference; 'multilogger learn --help' lists them"),
    "preset": SettingText("tuned", "paper: the printed settings; tuned: chosen on validation risk"),
    "seed": SettingText("0", "initialisation and mini-batches"),
    "dataset": SettingText("digits", "whose preset to take"),
}
GIVEN = frozenset({"loss"})  # by the dataset, not by a person


def _printed(name: str) -> str:
    """What the paper's preset has, if all of its methods have the same."""
    readers = [method for method in PAPER_METHODS if reads(method, name)]
    values = {getattr(preset("paper", "", method), name) for method in readers}
    if not values:
        return ""
    return f"; 'paper' has {shown(values.pop()) if len(values) == 1 else 'one of its own for each method'}"


def _texts() -> dict[str, SettingText]:
    """Every setting of every method, as the list of settings shows it."""
    return {
        name: SettingText("preset's", f"{meaning}{_printed(name)}")
        for name, meaning in sorted(all_settings().items())
        if name not in GIVEN
    }


class LearnSettings(StageSettings):
    """A method and the settings that it reads; `preset` and `dataset` say where their numbers come from."""

    not_in_key: ClassVar[frozenset[str]] = frozenset({"preset", "dataset"})

    method: str = "weighted-reg"
    preset: str = "tuned"
    seed: int = Field(default=0, ge=0)
    dataset: str = "digits"
    learner: InstanceOf[Settings] | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_numbers(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The preset's numbers where none are given."""
        chosen = {name: values.get(name, text.default) for name, text in CHOICES.items()}
        check_method(chosen["method"])
        return values if "learner" in values else {**values, "learner": _learner(chosen, {})}

    @classmethod
    def described(cls) -> dict[str, SettingText]:
        return CHOICES | _texts()

    @classmethod
    def build(cls, values: Mapping[str, Any]) -> Self:
        """The preset's numbers, then the changes to them."""
        chosen = {name: values.get(name, text.default) for name, text in CHOICES.items()}
        if chosen["preset"] not in PRESETS:
            raise BadInput(f"unknown preset {chosen['preset']!r}; choose one of {', '.join(PRESETS)}")
        check_method(chosen["method"])
        typed = {name: value for name, value in values.items() if name not in CHOICES}
        return cls.model_validate(chosen | {"learner": _learner(chosen, typed)})

    def params(self) -> dict[str, Any]:
        """Every number of a method that learns, then the choices."""
        numbers = {} if self.learner is None else plain_settings(self.learner)
        return {**_json(numbers), **{name: getattr(self, name) for name in CHOICES}}

    def identity(self) -> dict[str, Any]:
        """The method, its seed, and the settings that it reads and that can change what it learns."""
        numbers = {} if self.learner is None else keyed_settings(self.learner)
        return {**_json(numbers), "method": self.method, "seed": self.seed}


def _learner(chosen: Mapping[str, Any], typed: Mapping[str, Any]) -> Settings | None:
    """The settings of a method that learns; a number of another method is left out."""
    if chosen["method"] not in METHODS:
        return None
    numbers = preset(chosen["preset"], chosen["dataset"], chosen["method"])
    own = {name: value for name, value in typed.items() if reads(chosen["method"], name)}
    changes = {n: _listed(v) if isinstance(getattr(numbers, n), tuple) else v for n, v in own.items()}
    made: Settings = TypeAdapter(type(numbers)).validate_python({**vars(numbers), **changes})
    return made


def _json(numbers: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(json.dumps(numbers))
    return values


def preset_numbers(name: str, dataset: str, method: str) -> dict[str, Any]:
    """The numbers of a preset as JSON values, by setting; a reference has none."""
    return _json(plain_settings(preset(name, dataset, method))) if method in METHODS else {}


def check_method(method: str) -> None:
    """Refuse a method that is neither a learner nor a reference."""
    if method not in METHODS and not is_reference(method):
        raise BadInput(
            f"unknown method {method!r}; choose one of {', '.join((*METHODS, *reference_names()))}"
        )


def check_loggers(settings: LearnSettings, loggers: int) -> None:
    """Refuse a reference to a logger that there is not."""
    if is_reference(settings.method):
        check_reference(settings.method, loggers)


@stage("learn", version=3, dataset=bandit_log_used)
def learn_policy(
    settings: LearnSettings, data: Artifact, loggers: Artifact, log: Artifact, run: StageRun
) -> None:
    """Learn a policy from the bandit log; the validation split chooses the epoch, test is never seen."""
    if settings.learner is None:
        policy = reference_policy(settings.method, _references(loggers, log), settings.seed)
    else:
        policy = _learned(settings.method, settings.learner, settings.seed, data, loggers, log, run)
    policy.save(run.folder)
    run.offer_model(
        ModelFiles(
            "policy",
            "multilogger.tasks.served_policy",
            POLICY_FILES,
            takes=tuple(f"x{feature}" for feature in range(policy.features)),
            gives=tuple(f"y{label}" for label in range(policy.labels)),
        )
    )


def load_learned(policy: Artifact) -> "LearnedPolicy":
    """The policy that `learn` left."""
    from multilogger.components.policies.policy import load_policy

    return load_policy(policy.folder)


def _learned(
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
    from multilogger.components.log.disk import StreamedLog
    from multilogger.components.log.reading import thin_log

    torch.set_num_threads(1)  # sums in another order would change the last bits
    training_log = _training_log(numbers.memory_rows, data, loggers, log)
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

        learned = learn(method, training_log, numbers, seed, show, run.checkpoints)
    _log_curves(learned.records, run)
    best = learned.best.metrics()
    run.log_metrics({f"best/{name}": value for name, value in best.items() if np.isfinite(value)})
    run.log_metrics({"epochs": len(learned.records)})
    _say_what_to_know(method, numbers, learned)
    if isinstance(numbers, AdditiveSettings) and not isinstance(numbers, DrSettings):
        if isinstance(training_log, StreamedLog):
            training_log = thin_log(training_log, numbers.memory_rows)
        check_additivity(learned.policy, training_log, run)
    return learned.policy


def _say_what_to_know(method: str, numbers: Settings, learned: "Learned") -> None:
    """A constraint that did nothing, and a policy that the guard of model selection would not have chosen."""
    never_moved = all(record.pulled == 0 for record in learned.records)
    if isinstance(numbers, ConstraintSettings | MultiplierSettings) and never_moved:
        remedy = f"a kappa below {numbers.kappa:g} may bind"
        if isinstance(numbers, MultiplierSettings) and len(learned.records) <= numbers.warm_up_epochs:
            remedy = f"it counts after {numbers.warm_up_epochs} epochs (warm_up_epochs) only"
        say(f"the constraint of {method} never moved the policy, so this is the direct method's; {remedy}")
    if not learned.best.eligible:
        say(
            f"no epoch of {method} passed the guard of model selection (mean weight, effective rows, the "
            "constraint); the policy is the best of those that did not: do not trust its estimates"
        )


def _training_log(held: int, data: Artifact, loggers: Artifact, log: Artifact) -> "TrainingLog | StreamedLog":
    """The log in memory, or on disk if it has more rows than may be held."""
    rows = count_log(log)
    if rows <= held:
        return load_training_log(data, loggers, log)
    say(f"the log has {rows:,} rows, more than learn.memory_rows ({held:,}): learning streams it from disk")
    return open_learner_log(data, loggers, log)


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
    return References(policies, crf, tuple((loss / count).tolist()))


def _listed(value: Any) -> Any:
    """`64,32` and a single number are lists too; an empty text is an empty list."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value] if isinstance(value, int | float) else value
