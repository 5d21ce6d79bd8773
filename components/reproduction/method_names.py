"""The order in which methods are shown, their groups, and their names for a reader."""

from enum import IntEnum

ORDER = (
    "wcrm",
    "naive",
    "naive-reg",
    "naive-exact",
    "weighted",
    "weighted-reg",
    "weighted-exact",
    "balanced",
    "balanced-reg",
    "balanced-exact",
    "additive",
    "additive-soft",
    "dr",
    "crf",
    "best-logger-greedy",
    "full-information",
)
REFERENCES = ("crf", "best-logger-greedy", "full-information")
TITLES = {
    "wcrm": "WCRM",
    "crf": "CRF",
    "best-logger-greedy": "Best logger, greedy",
    "full-information": "Full information",
    "dr": "Doubly robust",
    "additive-soft": "Additive, soft",
}


class MethodGroup(IntEnum):
    """What a method has seen; only the second group learns from the log alone."""

    LOGGER = 0
    LEARNED = 1
    REFERENCE = 2


def is_logger(method: str) -> bool:
    """Whether a method is `logger-<j>`."""
    return method.startswith("logger-") and method.removeprefix("logger-").isdigit()


def method_group(method: str) -> MethodGroup:
    if is_logger(method):
        return MethodGroup.LOGGER
    return MethodGroup.REFERENCE if method in REFERENCES else MethodGroup.LEARNED


def method_rank(method: str) -> tuple[int, int, str]:
    """Sorts loggers first, then ORDER; a method that is not in it comes last, by name."""
    if is_logger(method):
        return (0, int(method.removeprefix("logger-")), "")
    if method in ORDER:
        return (1, ORDER.index(method), "")
    return (2, 0, method)


def method_title(method: str) -> str:
    """`weighted-reg` -> `Weighted-Reg`, as the paper writes it."""
    if method in TITLES:
        return TITLES[method]
    if is_logger(method):
        return f"Logger {method.removeprefix('logger-')}"
    return "-".join(part.capitalize() for part in method.split("-"))
