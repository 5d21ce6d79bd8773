"""The methods by name, in the order in which tables show them. To add one is one line here and its file."""

from collections.abc import Iterable
from functools import cache

from multilogger.components.errors import BadInput, meant
from multilogger.components.learners.additive_ips.method import ADDITIVE_IPS
from multilogger.components.learners.auto.method import AUTO
from multilogger.components.learners.direct_method.method import ADDITIVE, ADDITIVE_SOFT, DM
from multilogger.components.learners.dr.method import DR
from multilogger.components.learners.exact.method import BALANCED_EXACT, NAIVE_EXACT, WEIGHTED_EXACT
from multilogger.components.learners.full_information.method import FULL_INFORMATION
from multilogger.components.learners.ips.method import BALANCED, NAIVE, WEIGHTED
from multilogger.components.learners.reg.method import BALANCED_REG, NAIVE_REG, WEIGHTED_REG
from multilogger.components.learners.smooth.method import IX, LS
from multilogger.components.learners.training.method import Method
from multilogger.components.learners.training.settings import settings_about
from multilogger.components.learners.wcrm.method import WCRM

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        WCRM,
        NAIVE,
        NAIVE_REG,
        NAIVE_EXACT,
        WEIGHTED,
        WEIGHTED_REG,
        WEIGHTED_EXACT,
        BALANCED,
        BALANCED_REG,
        BALANCED_EXACT,
        LS,
        IX,
        ADDITIVE_IPS,
        ADDITIVE,
        ADDITIVE_SOFT,
        DM,
        DR,
        AUTO,
        FULL_INFORMATION,
    )
}


def find_method(name: str) -> Method:
    if name not in METHODS:
        raise BadInput(f"unknown method {name!r}; {meant(name, METHODS)}choose one of {', '.join(METHODS)}")
    return METHODS[name]


def place(method: str) -> int:
    """Where a method stands in the list; references come last."""
    return list(METHODS).index(method) if method in METHODS else len(METHODS)


def reads(method: str, setting: str) -> bool:
    """Whether what a method learns may depend on a setting; references read none."""
    return method in METHODS and setting in settings_about(METHODS[method].settings)


def all_settings() -> dict[str, str]:
    """Every setting of every method by name: what it means, and to whom if not to all alike."""
    return _all_settings(tuple(METHODS))


@cache
def _all_settings(_methods: tuple[str, ...]) -> dict[str, str]:
    """Once for the methods that there are."""
    readers: dict[str, dict[str, list[str]]] = {}
    for method in METHODS.values():
        for name, about in settings_about(method.settings).items():
            readers.setdefault(name, {}).setdefault(about.meaning, []).append(method.name)
    return {
        name: "; ".join(f"{_of(methods)}{meaning}" for meaning, methods in meanings.items())
        for name, meanings in readers.items()
    }


def readers_text(setting: str) -> str:
    """The methods that read a setting for a person."""
    return _of([name for name in METHODS if reads(name, setting)]).removesuffix(": ")


def _of(readers: list[str]) -> str:
    """`naive, weighted: `; nothing if they are all methods, those that are missing if they are fewer."""
    others = [name for name in METHODS if name not in readers]
    if not others:
        return ""
    return f"all but {', '.join(others)}: " if len(others) < len(readers) else f"{', '.join(readers)}: "


def unread(method: str, settings: Iterable[str]) -> list[str]:
    """What is wrong with each of the settings that a method does not read."""
    if method not in METHODS:
        return [f"{name}: {method} learns nothing" for name in settings]
    return [
        f"{name}: {method} does not read it (read by {readers_text(name)})"
        for name in settings
        if not reads(method, name)
    ]
