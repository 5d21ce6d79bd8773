"""The settings of a method for scripts: which it reads, their defaults, and the object that learners take."""

from collections.abc import Mapping
from dataclasses import asdict
from enum import Enum
from numbers import Integral, Real
from typing import Any

from multilogger.components.errors import BadInput
from multilogger.components.learners.presets import preset
from multilogger.components.learners.readers import reads
from multilogger.components.learners.training.settings import MEANINGS, LearnerSettings

OPERATIONAL = frozenset({"checkpoint_every", "memory_rows"})  # how to work, not what to learn
NEEDS: dict[str, frozenset[str]] = {
    "balanced": frozenset({"propensities"}),
    "balanced-reg": frozenset({"propensities", "logger_policies"}),
    "naive-exact": frozenset({"logger_policies"}),
    "weighted-exact": frozenset({"logger_policies"}),
    "balanced-exact": frozenset({"propensities", "logger_policies"}),
    "full-information": frozenset({"truth"}),
}
"""What a log must have beside its rows, for the methods that need more."""


def settings_of(method: str) -> dict[str, Any]:
    """The settings that a method reads with their defaults, those of the preset `tuned` for any dataset."""
    values = asdict(preset("tuned", "", method))
    return {
        name: value.value if isinstance(value, Enum) else value
        for name, value in values.items()
        if name not in OPERATIONAL and reads(method, name)
    }


def meanings_of(method: str) -> dict[str, str]:
    """What each of these settings means."""
    return {name: MEANINGS[name].split(": ", 1)[-1] for name in settings_of(method)}


def needs_of(method: str) -> frozenset[str]:
    """What a log must have for a method, of propensities (of all loggers), logger_policies and truth."""
    return NEEDS.get(method, frozenset())


def build_settings(method: str, values: Mapping[str, Any]) -> LearnerSettings:
    """The settings of a method as learners take them; plain words and lists become what they stand for."""
    start = preset("tuned", "", method)
    typed = asdict(start)
    for name, value in values.items():
        typed[name] = _typed(name, value, typed[name])
    return LearnerSettings(**typed)


def _typed(name: str, value: Any, default: Any) -> Any:
    """A value of the kind that its default has."""
    if isinstance(default, tuple):
        return tuple(value) if isinstance(value, list | tuple) else (value,)
    if isinstance(default, Enum):
        words = [str(one.value) for one in type(default)]
        if str(value) not in words:
            raise BadInput(f"{name} must be one of {', '.join(words)}, got {value!r}")
        return type(default)(str(value))
    wanted = Real if isinstance(default, float) else Integral if isinstance(default, int) else type(default)
    if not isinstance(value, wanted) or isinstance(value, bool) != isinstance(default, bool):
        kind = "a number" if isinstance(default, float) else f"of type {type(default).__name__}"
        raise BadInput(f"{name} must be {kind}, got {value!r}")
    return type(default)(value)
