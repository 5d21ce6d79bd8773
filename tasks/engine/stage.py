"""What a stage is: a name, a version, typed settings, named inputs and a pure function to a folder of files.

    @stage("reduce", version=1)
    def reduce(settings: ReduceSettings, data: Artifact, run: StageRun) -> None: ...

Parameters annotated `Artifact` are the inputs; the one that is a `StageSettings` holds the settings.
"""

import hashlib
import importlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Self, get_type_hints

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from multilogger.components.errors import BadInput, without_secrets
from multilogger.components.names import check_name
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage_run import DatasetUsed, StageRun


def _split_commas(value: Any) -> Any:
    """`0.05,2` and a single number are lists too."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return (value,) if isinstance(value, int | float) else value


PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
PositiveInt = Annotated[int, Field(ge=1)]
FloatList = Annotated[tuple[PositiveFloat, ...], BeforeValidator(_split_commas), Field(min_length=1)]
IntList = Annotated[tuple[PositiveInt, ...], BeforeValidator(_split_commas), Field(min_length=1)]


Name = Annotated[str, AfterValidator(partial(check_name, "dataset or log"))]


KEY_CHARACTERS = 16
LONGEST_TEXT = 4000  # of a path, and of what MLflow keeps of a parameter
MOST_NUMBER = 2**63


@dataclass(frozen=True)
class SettingText:
    """A setting as the list of settings shows it."""

    default: str
    meaning: str


def shown(value: Any) -> str:
    """A value as a person would type it."""
    if isinstance(value, tuple):
        return ",".join(shown(part) for part in value)
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


class StageSettings(BaseModel):
    """Settings of a stage. Fields in `not_in_key` say how to work, not what to make."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings", allow_inf_nan=False)
    not_in_key: ClassVar[frozenset[str]] = frozenset()
    secrets_go: ClassVar[str] = "give it by the environment"

    @model_validator(mode="after")
    def _fit_to_be_recorded(self) -> Self:
        """Settings are in keys, in records and on pages: none holds a password, or more than records can."""
        for name, value in self:
            if isinstance(value, str) and without_secrets(value) != value:
                raise BadInput(f"{name} holds a user or a password, got {value}; {self.secrets_go}")
            if isinstance(value, str) and (len(value) > LONGEST_TEXT or "\0" in value):
                raise BadInput(f"{name} is a text of at most {LONGEST_TEXT:,} characters, none of them NUL")
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, int) and abs(number) >= MOST_NUMBER:
                    raise BadInput(f"{name} must be below 2^63, got a number of {len(str(number))} digits")
        return self

    @classmethod
    def described(cls) -> dict[str, SettingText]:
        """Every setting that a person may type, by name."""
        return {
            name: SettingText(shown(field.get_default()), field.description or "")
            for name, field in cls.model_fields.items()
        }

    @classmethod
    def build(cls, values: Mapping[str, Any]) -> Self:
        """Settings from what a person typed."""
        return cls(**values)

    def params(self) -> dict[str, Any]:
        """Every setting as a JSON value."""
        values: dict[str, Any] = json.loads(self.model_dump_json())
        return values

    def identity(self) -> dict[str, Any]:
        """The settings that decide the result."""
        return {name: value for name, value in self.params().items() if name not in self.not_in_key}


Skip = Callable[[Any, Mapping[str, Artifact]], str | None]
Dataset = Callable[[Mapping[str, Artifact]], DatasetUsed | None]


def no_dataset(_inputs: Mapping[str, Artifact]) -> DatasetUsed | None:
    """What a stage says that makes data and does not learn from any."""
    return None


def never(_settings: Any, _inputs: Mapping[str, Artifact]) -> str | None:
    """The rule of a stage that is always needed."""
    return None


@dataclass(frozen=True)
class Stage:
    """A declared stage: the engine is handed it and asks nobody else what to do.

    `skip` gives a reason when its only input may stand for its result; `dataset` names the data among its
    inputs that its run is to show.
    """

    name: str
    version: int
    function: Callable[..., None]
    settings_type: type[StageSettings]
    inputs: tuple[str, ...]
    skip: Skip = field(default=never)
    dataset: Dataset = field(default=no_dataset)

    def __reduce__(self) -> tuple[Callable[[str, str], "Stage"], tuple[str, str]]:
        """A stage goes to a worker process as functions do: by the place where it is declared."""
        return (declared_at, (self.function.__module__, self.function.__qualname__))

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    def key(self, settings: StageSettings, inputs: Mapping[str, Artifact]) -> str:
        """Hash of name, version, settings, and the key and content of every input."""
        identity = {
            "stage": self.name,
            "version": self.version,
            "settings": settings.identity(),
            "inputs": {name: [inputs[name].key, inputs[name].digest] for name in self.inputs},
        }
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:KEY_CHARACTERS]

    def call(self, settings: StageSettings, inputs: Mapping[str, Artifact], run: StageRun) -> None:
        """Run the function; its files are in `run.folder` afterwards."""
        self.function(settings, **{name: inputs[name] for name in self.inputs}, run=run)


def declared_at(module: str, name: str) -> Stage:
    """The stage that stands in a module under the name of its function."""
    found = getattr(importlib.import_module(module), name, None)
    if not isinstance(found, Stage):
        raise TypeError(f"{module}.{name} is no stage; declare it there with @stage, so that workers find it")
    return found


def stage(
    name: str, version: int, skip: Skip = never, dataset: Dataset = no_dataset
) -> Callable[[Callable[..., None]], Stage]:
    """Declare a stage. Bump `version` when the meaning of its code changes."""

    def declare(function: Callable[..., None]) -> Stage:
        hints = get_type_hints(function)
        settings = [h for h in hints.values() if isinstance(h, type) and issubclass(h, StageSettings)]
        if len(settings) != 1 or hints.get("run") is not StageRun:
            raise TypeError(f"stage {name!r} needs one settings parameter and `run: StageRun`")
        inputs = tuple(parameter for parameter, hint in hints.items() if hint is Artifact)
        return Stage(name, version, function, settings[0], inputs, skip, dataset)

    return declare


@dataclass(frozen=True)
class PlannedStage:
    """A stage with its settings and the planned stages that feed it: a pipeline is made of these values.

    `inputs` is a tuple of (name, planned stage) pairs, so that equal ones are equal values and run once.
    """

    stage: Stage
    settings: StageSettings
    inputs: tuple[tuple[str, "PlannedStage"], ...] = ()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Planned stages are keys of many dictionaries, and a hash goes through all that feeds one."""
        return hash((self.stage.name, self.settings, self.inputs))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_hash"}  # of one process only


def plan_stage(stage: Stage, settings: StageSettings, **inputs: PlannedStage) -> PlannedStage:
    """Put a stage into a pipeline."""
    if set(inputs) != set(stage.inputs):
        raise TypeError(f"stage {stage.name!r} takes {stage.inputs}, got {tuple(inputs)}")
    return PlannedStage(stage, settings, tuple(sorted(inputs.items())))
