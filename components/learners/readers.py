"""Which methods read which settings."""

from collections.abc import Iterable

from multilogger.components.learners.references import is_reference
from multilogger.components.learners.settings import READERS


def reads(method: str, setting: str) -> bool:
    """Whether what a method learns depends on a setting."""
    if is_reference(method):
        return False
    readers = READERS[setting]
    return not readers or any(part in method for part in readers)


def unread(method: str, settings: Iterable[str]) -> list[str]:
    """What is wrong with each of the settings that a method does not read."""
    why = []
    for name in settings:
        if not reads(method, name):
            readers = ", ".join(READERS[name])
            of = "learns nothing" if is_reference(method) else f"does not read it, only {readers}"
            why.append(f"{name}: {method} {of}")
    return why
