"""The settings of the stage `learn`: a method, and the numbers that it reads."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Self

from pydantic import Field, InstanceOf, TypeAdapter, model_validator

from multilogger.components.errors import BadInput
from multilogger.components.learners.methods import METHODS, all_settings, reads
from multilogger.components.learners.presets import PRESETS, preset
from multilogger.components.learners.presets.table import PAPER_METHODS
from multilogger.components.learners.references import check_reference, is_reference, reference_names
from multilogger.components.learners.training.settings import Settings, keyed_settings, plain_settings
from multilogger.tasks.engine.stage import SettingText, StageSettings, shown

CHOICES = {
    "method": SettingText("weighted-reg", "a learner or a reference; 'multilogger learn --help' lists them"),
    "preset": SettingText(
        "tuned",
        "paper: as printed; printed-objective: that objective, our network and rates; tuned: ours",
    ),
    "seed": SettingText("0", "initialisation and mini-batches"),
    "dataset": SettingText("digits", "whose preset to take"),
}
ADAPTERS: dict[type[Settings], TypeAdapter[Any]] = {}  # slow to make: one per class of settings
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
        return CHOICES | _texts(tuple(METHODS))

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


def _listed(value: Any) -> Any:
    """`64,32` and a single number are lists too; an empty text is an empty list."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value] if isinstance(value, int | float) else value
