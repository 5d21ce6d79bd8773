"""The settings of a method for scripts: which it reads, their defaults, and the object that learners take."""

from collections.abc import Mapping
from dataclasses import asdict
from enum import Enum
from numbers import Integral, Real
from typing import Any

from multilogger.components.errors import BadInput
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.training.settings import Settings, settings_about

LEFT_OUT = frozenset({"checkpoint_every", "memory_rows", "loss"})  # how to work, or what the log says


def settings_of(method: str) -> dict[str, Any]:
    """The settings that a method reads with their defaults, as plain values."""
    values = asdict(METHODS[method].settings())
    return {
        name: value.value if isinstance(value, Enum) else value
        for name, value in values.items()
        if name not in LEFT_OUT
    }


def meanings_of(method: str) -> dict[str, str]:
    """What each of these settings means."""
    return {name: about.meaning for name, about in settings_about(METHODS[method].settings).items()}


def build_settings(method: str, values: Mapping[str, Any]) -> Settings:
    """The settings of a method as learners take them; plain words and lists become what they stand for."""
    kind = METHODS[method].settings
    defaults = asdict(kind())
    return kind(**{name: _typed(name, value, defaults[name]) for name, value in values.items()})


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
