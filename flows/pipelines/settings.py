"""The settings of every stage of a pipeline, from what a person types."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from multilogger.components.errors import BadInput, meant, short
from multilogger.components.learners.methods import all_settings, reads, unread
from multilogger.components.loggers.replay import SplitBy
from multilogger.flows.pipelines.wiring import PipelineSettings
from multilogger.tasks.download import DownloadSettings
from multilogger.tasks.engine.stage import StageSettings
from multilogger.tasks.learn_settings import (
    LearnSettings,
    check_own_log,
    check_reference_logger,
    check_takes_actions,
)
from multilogger.tasks.own_log.import_settings import ImportLogSettings
from multilogger.tasks.reduce import ReduceSettings
from multilogger.tasks.registry import STAGES
from multilogger.tasks.replay import ReplaySettings
from multilogger.tasks.train_loggers import TrainLoggersSettings

NAMED_BY = {"learn.method": "--method", "learn.preset": "--preset", "learn.actions": "--actions"}
"""Settings that have an option of their own, which names the run as well."""
SPLIT_OF_PRESET = dict.fromkeys(("paper", "printed-objective", "tuned"), SplitBy.ROW)
"""What validation rows are drawn from where it is not set: these presets keep to rows, as the paper does."""
FOUND_IN_LOG = ("digest", "kind", "actions")
"""Settings of `import-log` that its files say."""


def flat(settings: PipelineSettings) -> dict[str, Any]:
    """`stage.setting` to JSON value."""
    return {
        f"{stage}.{name}": value for stage, own in settings.items() for name, value in own.params().items()
    }


def parse_assignments(
    assignments: Sequence[str], stage: str | None = None, stages: Sequence[str] = tuple(STAGES)
) -> dict[str, Any]:
    """`key=value` texts to `stage.setting` -> value; a bare key belongs to `stage`, or to its only owner."""
    parsed: dict[str, Any] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"--set takes key=value, got {text!r}; for example --set train-loggers.C=0.03")
        full = _qualified(name.strip(), stage, stages)
        if full in NAMED_BY:
            raise BadInput(f"{full} is named by {NAMED_BY[full]}, not by --set")
        parsed[full] = typed_value(value.strip())
    return parsed


def pipeline_settings(
    stages: Sequence[str],
    dataset: str,
    seed: int,
    mirror: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> PipelineSettings:
    """Defaults, then dataset, seed and mirror where a stage has them, then `stage.setting` values."""
    chosen: dict[str, dict[str, Any]] = {}
    for name in stages:
        common = {"dataset": dataset, "seed": seed, "mirror": mirror}
        known = STAGES[name].settings_type.described()
        chosen[name] = {key: value for key, value in common.items() if key in known}
    for name, value in (settings or {}).items():
        owner, _, setting = _qualified(name, None).partition(".")
        if setting == "dataset":
            raise BadInput("the dataset is named by --dataset, not by --set")
        if owner not in chosen:
            raise BadInput(
                f"setting {owner}.{setting} is of a stage that this command does not run; leave it out"
            )
        chosen[owner][setting] = value
    preset = chosen.get("learn", {}).get("preset")
    if "replay" in chosen and isinstance(preset, str) and preset in SPLIT_OF_PRESET:
        chosen["replay"].setdefault("split_by", SPLIT_OF_PRESET[preset])
    built: dict[str, StageSettings] = {}
    for name in stages:
        data, own = built.get("download"), built.get("import-log")
        if name == "learn" and isinstance(data, DownloadSettings):
            chosen[name]["actions"] = data.actions
        if name == "learn" and isinstance(own, ImportLogSettings):
            chosen[name]["actions"] = own.kind
        built[name] = _build(name, chosen[name])
    _check_together(built)
    return built


def check_read(chosen: PipelineSettings, typed: Mapping[str, Any]) -> None:
    """Refuse a setting of `learn` that was typed for a method which does not read it."""
    learn = chosen.get("learn")
    if not isinstance(learn, LearnSettings):
        return
    owned = [name.partition(".") for name in typed]
    numbers = [setting for owner, _, setting in owned if owner == "learn" and setting in all_settings()]
    if wrong := unread(learn.method, numbers):
        raise BadInput(f"{'; '.join(wrong)}; leave it out, or take another method")


def check_read_by_some(methods: Sequence[str], typed: Mapping[str, Any]) -> None:
    """Refuse a setting of `learn` that was typed for methods of which none reads it."""
    for name in typed:
        owner, _, setting = name.partition(".")
        own = owner == "learn" and setting in all_settings()
        if own and not any(reads(method, setting) for method in methods):
            raise BadInput(f"none of these methods reads {name}; leave it out, or name other methods")


def settled(typed: Mapping[str, Any], chosen: PipelineSettings) -> dict[str, Any]:
    """The typed settings with what was found in a person's own log, whose files are not looked at again."""
    log = chosen.get("import-log")
    known = {} if log is None else log.params()
    return {**typed, **{f"import-log.{name}": known[name] for name in FOUND_IN_LOG if known.get(name)}}


def _check_together(built: PipelineSettings) -> None:
    """What stages need of each other's settings, said now and not after the loggers are trained."""
    data, reduced, loggers, replay, learn = (
        built.get(name) for name in ("download", "reduce", "train-loggers", "replay", "learn")
    )
    if isinstance(data, DownloadSettings) and isinstance(reduced, ReduceSettings):
        reduced.check_actions(data.actions)
    if isinstance(data, DownloadSettings) and isinstance(learn, LearnSettings):
        check_takes_actions(learn.method, data.dataset, data.actions)
    if isinstance(own := built.get("import-log"), ImportLogSettings) and isinstance(learn, LearnSettings):
        check_takes_actions(learn.method, own.dataset, str(own.kind))
        check_own_log(learn.method, own.dataset)
    if isinstance(loggers, TrainLoggersSettings) and isinstance(replay, ReplaySettings):
        replay.passes_of(len(loggers.alphas))
    if isinstance(loggers, TrainLoggersSettings) and isinstance(learn, LearnSettings):
        check_reference_logger(learn, len(loggers.alphas))


def checked_settings(stage: str, values: Mapping[str, Any]) -> StageSettings:
    """The settings of a stage by their own rules; nothing is looked at yet."""
    try:
        return STAGES[stage].settings_type(**values)
    except ValidationError as error:
        raise BadInput(_one_line(error, stage)) from error


def _build(stage: str, values: Mapping[str, Any]) -> StageSettings:
    try:
        return STAGES[stage].settings_type.build(values)
    except BadInput as error:
        if stage == "import-log" or str(error).startswith("unknown"):  # it says what there is to choose from
            raise
        raise BadInput(f"bad setting of {stage}: {error}; 'multilogger stages' lists all settings") from error
    except ValidationError as error:
        raise BadInput(_one_line(error, stage)) from error


def _one_line(error: ValidationError, stage: str) -> str:
    """A validation error as one line: which setting, what was wrong, what came."""
    first = error.errors()[0]
    if first["type"] == "value_error":  # one of our own messages
        return str(first["msg"]).removeprefix("Value error, ")
    where = ".".join(str(part) for part in (stage, *first["loc"]))
    what = first["msg"][0].lower() + first["msg"][1:]
    return (
        f"bad setting {where}: {what}, got {short(first['input'])}; 'multilogger stages' lists all settings"
    )


def _qualified(name: str, stage: str | None, stages: Sequence[str] = tuple(STAGES)) -> str:
    """The full `stage.setting` name of what a person typed."""
    owner, dot, setting = name.partition(".")
    if dot:
        owner = owner.replace("_", "-")
        owners = [owner] if owner in STAGES and setting in STAGES[owner].settings_type.described() else []
    else:
        setting = owner
        owners = [s for s in stages if setting in STAGES[s].settings_type.described()]
        owners = [stage] if stage in owners else owners
    if len(owners) == 1 and owners[0] is not None:
        return f"{owners[0]}.{setting}"
    if owners:
        choices = " or ".join(f"{s}.{setting}" for s in owners)
        raise BadInput(f"setting {name!r} belongs to several stages; write {choices}")
    settings = {own for s in STAGES for own in STAGES[s].settings_type.described()}
    raise BadInput(
        f"unknown setting {short(name)}; {meant(setting, settings)}'multilogger stages' lists the settings "
        "of every stage"
    )


def typed_value(text: str) -> Any:
    """What a person or MLflow wrote: JSON, else the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or more digits or brackets than are read
        return text
