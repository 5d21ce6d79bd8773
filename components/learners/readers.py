"""Which methods read which settings."""

from collections.abc import Iterable

from multilogger.components.learners.references import is_reference
from multilogger.components.learners.training.settings import READERS, readers_text


def reads(method: str, setting: str) -> bool:
    """Whether what a method learns may depend on a setting."""
    if is_reference(method):
        return False
    readers = READERS[setting]
    if readers[:1] == ("not",):
        return not any(_named(part, method) for part in readers[1:])
    return not readers or any(_named(part, method) for part in readers)


def unread(method: str, settings: Iterable[str]) -> list[str]:
    """What is wrong with each of the settings that a method does not read."""
    why = []
    for name in settings:
        if is_reference(method):
            why.append(f"{name}: {method} learns nothing")
        elif not reads(method, name):
            why.append(f"{name}: {method} does not read it (read by {readers_text(name)})")
    return why


def _named(part: str, method: str) -> bool:
    """Whether a method has this name, begins with it, or ends with it as a suffix like `-reg`."""
    return part == method or method.startswith(f"{part}-") or (part[0] == "-" and method.endswith(part))
