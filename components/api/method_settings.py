"""The settings of a method for scripts: which it reads, their defaults, and the object that learners take."""

from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

import numpy as np

from multilogger.components.datasets.losses import USUAL_LOSS
from multilogger.components.errors import BadInput
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.presets import preset
from multilogger.components.learners.training.settings import Settings, settings_about

LEFT_OUT = frozenset({"checkpoint_every", "memory_rows", "loss"})  # how to work, or what the log says


def settings_of(method: str) -> dict[str, Any]:
    """The settings that a method reads with their defaults, as plain values."""
    return _plain(METHODS[method].settings())


def preset_of(method: str, name: str, dataset: str) -> dict[str, Any]:
    """The same with the numbers of a preset for a dataset."""
    return _plain(preset(name, dataset, method))


def _plain(settings: Settings) -> dict[str, Any]:
    return {
        name: value.value if isinstance(value, Enum) else value
        for name, value in asdict(settings).items()
        if name not in LEFT_OUT
    }


def meanings_of(method: str) -> dict[str, str]:
    """What each of these settings means."""
    return {name: about.meaning for name, about in settings_about(METHODS[method].settings).items()}


@dataclass(frozen=True)
class Origin:
    """Where the numbers come from that nobody gave: a preset for a dataset."""

    preset: str = "tuned"
    dataset: str = ""


def build_settings(
    method: str,
    values: Mapping[str, Any],
    space: str = "labels",
    given: Set[str] = frozenset(),
    origin: Origin = Origin(),  # noqa: B008, frozen
) -> Settings:
    """The settings of a method as learners take them; plain words and lists become what they stand for.

    `space` names the log's action space, whose usual loss true actions are compared by. The defaults shown
    are those of label vectors, or of the origin's dataset; of what was left at them, and is not in `given`,
    another space has its own in the same preset.
    """
    kind = METHODS[method].settings
    defaults = asdict(preset(origin.preset, origin.dataset, method))
    of_space = asdict(preset(origin.preset, origin.dataset, method, space))
    typed = {name: _typed(name, value, defaults[name]) for name, value in values.items()}
    same = {n for n, value in typed.items() if (type(value), value) == (type(defaults[n]), defaults[n])}
    left = same - given
    chosen = {name: of_space[name] if name in left else value for name, value in typed.items()}
    own: dict[str, Any] = {"loss": USUAL_LOSS[space]} if "loss" in defaults else {}
    return kind(**own, **chosen)


def _typed(name: str, value: Any, default: Any) -> Any:
    """Words, lists and numpy's numbers as settings have them; the settings refuse what is of another kind."""
    plain = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    if isinstance(default, tuple):
        parts = plain if isinstance(plain, list | tuple) else (plain,)
        return tuple(one.item() if isinstance(one, np.generic) else one for one in parts)
    if isinstance(default, Enum):
        words = [str(one.value) for one in type(default)]
        if str(plain) not in words:  # here, because the settings would name their own kind and not the words
            raise BadInput(f"{name} must be one of {', '.join(words)}, got {value!r}")
        return type(default)(str(plain))
    whole = isinstance(plain, int) and not isinstance(plain, bool)
    return float(plain) if isinstance(default, float) and whole else plain
