"""Settings of the pipeline: from what a person types to one typed model a stage."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from multilogger.components.errors import BadInput
from multilogger.tasks.download import DownloadSettings
from multilogger.tasks.engine.stage import StageSettings
from multilogger.tasks.reduce import ReduceSettings
from multilogger.tasks.registry import STAGES
from multilogger.tasks.replay import ReplaySettings
from multilogger.tasks.train_loggers import TrainLoggersSettings


class PrepareSettings(BaseModel):
    """One model a stage of `prepare`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    download: DownloadSettings
    reduce: ReduceSettings
    train_loggers: TrainLoggersSettings
    replay: ReplaySettings

    @property
    def seed(self) -> int:
        return self.replay.seed

    def flat(self) -> dict[str, Any]:
        """`stage.setting` to JSON value."""
        return {
            f"{stage.replace('_', '-')}.{name}": value
            for stage, settings in self.model_dump(mode="json").items()
            for name, value in settings.items()
        }


def parse_assignments(assignments: Sequence[str], stage: str | None = None) -> dict[str, Any]:
    """`key=value` texts to `stage.setting` -> value; a bare key belongs to `stage`, or to the only owner."""
    parsed: dict[str, Any] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"--set takes key=value, got {text!r}; for example --set train-loggers.C=0.03")
        parsed[_qualified(name.strip(), stage)] = _value(value.strip())
    return parsed


def prepare_settings(
    dataset: str, seed: int, mirror: str | None = None, settings: Mapping[str, Any] | None = None
) -> PrepareSettings:
    """Defaults, the seed for every stage that draws, then the given `stage.setting` values."""
    chosen: dict[str, dict[str, Any]] = {name: {} for name in STAGES}
    chosen["download"] = {"dataset": dataset, "mirror": mirror}
    for name in ("train-loggers", "replay"):
        chosen[name]["seed"] = seed
    for name, value in (settings or {}).items():
        stage, _, setting = _qualified(name, None).partition(".")
        chosen[stage][setting] = value
    built = {name.replace("-", "_"): _build(name, chosen[name]) for name in STAGES}
    return PrepareSettings.model_validate(built)


def _build(stage: str, values: Mapping[str, Any]) -> StageSettings:
    try:
        return STAGES[stage].settings_type(**values)
    except ValidationError as error:
        raise BadInput(_one_line(error, stage)) from error


def _one_line(error: ValidationError, stage: str) -> str:
    """A validation error as one line: which setting, what was wrong, what came."""
    first = error.errors()[0]
    if first["type"] == "value_error":  # one of our own messages
        return str(first["msg"]).removeprefix("Value error, ")
    where = ".".join(str(part) for part in (stage, *first["loc"]))
    what = first["msg"][0].lower() + first["msg"][1:]
    return f"bad setting {where}: {what}, got {first['input']!r}; 'multilogger stages' lists all settings"


def _qualified(name: str, stage: str | None) -> str:
    """The full `stage.setting` name of what a person typed."""
    owner, dot, setting = name.partition(".")
    if dot:
        owner = owner.replace("_", "-")
        owners = [owner] if owner in STAGES and setting in STAGES[owner].settings_type.model_fields else []
    else:
        setting = owner
        owners = [s for s in STAGES if setting in STAGES[s].settings_type.model_fields]
        owners = [stage] if stage in owners else owners
    if len(owners) == 1 and owners[0] is not None:
        return f"{owners[0]}.{setting}"
    if owners:
        choices = " or ".join(f"{s}.{setting}" for s in owners)
        raise BadInput(f"setting {name!r} belongs to several stages; write {choices}")
    raise BadInput(f"unknown setting {name!r}; 'multilogger stages' lists the settings of every stage")


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
