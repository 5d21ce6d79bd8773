"""The settings of the stage `learn`: a method, and the numbers that it reads."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, InstanceOf, TypeAdapter, model_validator

from multilogger.components.errors import BadInput, meant, short
from multilogger.components.learners.methods import METHODS, all_settings, reads
from multilogger.components.learners.presets import PRESETS, preset
from multilogger.components.learners.presets.table import PAPER_METHODS
from multilogger.components.learners.references import check_reference, is_reference, reference_names
from multilogger.components.learners.training.method import Needs
from multilogger.components.learners.training.settings import Settings, keyed_settings, plain_settings
from multilogger.tasks.engine.stage import SettingText, StageSettings, shown

CHOICES = {
    "method": SettingText("auto", "a learner or a reference; 'multilogger learn --help' lists them"),
    "preset": SettingText(
        "auto",
        "paper: as printed; printed-objective: that objective, our network and rates; tuned: ours; "
        "auto: from the log",
    ),
    "seed": SettingText("0", "initialisation and mini-batches"),
    "dataset": SettingText("digits", "whose preset to take"),
    "actions": SettingText("the dataset's", "labels or one-of, which the preset goes by"),
}
UNSAID = {"actions": None}  # what a choice is if nobody made it, where that is not its text
ADAPTERS: dict[type[Settings], TypeAdapter[Any]] = {}  # slow to make: one per class of settings
KINDS = {"labels": "label vectors", "one-of": "one-of actions"}
GIVEN = frozenset({"loss"})  # by the dataset, not by a person


def _printed(name: str) -> str:
    """What the paper's preset has, if all of its methods have the same."""
    readers = [method for method in PAPER_METHODS if reads(method, name)]
    values = {getattr(preset("paper", "", method), name) for method in readers}
    if not values:
        return ""
    return f"; 'paper' has {shown(values.pop()) if len(values) == 1 else 'one of its own for each method'}"


@cache
def _texts(_methods: tuple[str, ...]) -> dict[str, SettingText]:
    """Every setting of every method, as the list of settings shows it."""
    return {
        name: SettingText("preset's", f"{meaning}{_printed(name)}")
        for name, meaning in sorted(all_settings().items())
        if name not in GIVEN
    }


class LearnSettings(StageSettings):
    """A method and the settings that it reads; `preset` and `dataset` say where their numbers come from."""

    not_in_key: ClassVar[frozenset[str]] = frozenset({"preset", "dataset", "actions"})

    method: str = "auto"
    preset: str = "auto"
    seed: int = Field(default=0, ge=0)
    dataset: str = "digits"
    actions: Literal["labels", "one-of"] | None = None
    learner: InstanceOf[Settings] | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_numbers(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The preset's numbers where none are given."""
        chosen = _chosen(values)
        check_method(chosen["method"])
        return values if "learner" in values else {**values, "learner": _learner(chosen, {})}

    @classmethod
    def described(cls) -> dict[str, SettingText]:
        return CHOICES | _texts(tuple(METHODS))

    @classmethod
    def build(cls, values: Mapping[str, Any]) -> Self:
        """The preset's numbers, then the changes to them."""
        chosen = _chosen(values)
        if not isinstance(chosen["preset"], str) or chosen["preset"] not in PRESETS:
            near = meant(chosen["preset"], PRESETS)
            raise BadInput(
                f"unknown preset {short(chosen['preset'])}; {near}choose one of {', '.join(PRESETS)}"
            )
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


def _chosen(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values.get(name, UNSAID.get(name, text.default)) for name, text in CHOICES.items()}


def _learner(chosen: Mapping[str, Any], typed: Mapping[str, Any]) -> Settings | None:
    """The settings of a method that learns; a number of another method is left out."""
    if chosen["method"] not in METHODS:
        return None
    numbers = preset(chosen["preset"], chosen["dataset"], chosen["method"], chosen["actions"])
    own = {name: value for name, value in typed.items() if reads(chosen["method"], name)}
    changes = {n: _listed(v) if isinstance(getattr(numbers, n), tuple) else v for n, v in own.items()}
    if not changes:
        return numbers
    kind = type(numbers)
    if kind not in ADAPTERS:
        ADAPTERS[kind] = TypeAdapter(kind)
    made: Settings = ADAPTERS[kind].validate_python({**vars(numbers), **changes})
    return made


def _json(numbers: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(json.dumps(numbers))
    return values


def preset_numbers(name: str, dataset: str, method: str, actions: str | None = None) -> dict[str, Any]:
    """The numbers of a preset as JSON values, by setting; a reference has none."""
    return _json(plain_settings(preset(name, dataset, method, actions))) if method in METHODS else {}


def check_method(method: str) -> None:
    """Refuse a method that is neither a learner nor a reference."""
    if not isinstance(method, str):
        raise BadInput(f"a method is a word, got {short(method)}; choose one of {', '.join(METHODS)}")
    if method not in METHODS and not is_reference(method):
        known = (*METHODS, *reference_names())
        near = meant(method, known)
        raise BadInput(f"unknown method {short(method)}; {near}choose one of {', '.join(known)}")


def fitting_methods(actions: str) -> tuple[str, ...]:
    """The methods that can learn to take actions of a kind, as registered."""
    return tuple(name for name, method in METHODS.items() if actions in method.spaces)


def fits(method: str, actions: str) -> bool:
    """Whether a method can take actions of a kind; references can take any."""
    return method not in METHODS or actions in METHODS[method].spaces


def check_takes_actions(method: str, dataset: str, actions: str) -> None:
    """Refuse a method that cannot take the actions of a dataset."""
    if not fits(method, actions):
        raise BadInput(
            f"{method} is not for {KINDS[actions]}, which {dataset} has; "
            f"choose one of {', '.join(fitting_methods(actions))}"
        )


def check_own_log(method: str, name: str) -> None:
    """Refuse a method that needs what a person's own log does not have."""
    if is_reference(method):
        raise BadInput(
            f"{method} is a reference of replayed data; {name} is a log of its own, and every run on it "
            "shows its loggers: choose a method that learns"
        )
    if Needs.TRUTH in METHODS[method].needs:
        raise BadInput(f"{method} needs {Needs.TRUTH}, which a log does not have; choose another method")


def check_reference_logger(settings: LearnSettings, loggers: int) -> None:
    """Refuse a reference to a logger that there is not."""
    if is_reference(settings.method):
        check_reference(settings.method, loggers)


def _listed(value: Any) -> Any:
    """`64,32` and a single number are lists too; an empty text is an empty list."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value] if isinstance(value, int | float) else value
