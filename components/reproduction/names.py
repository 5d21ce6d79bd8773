"""The order in which methods and presets are shown, and their names for a reader."""

from enum import IntEnum

from multilogger.components.learners.methods import METHODS

REFERENCES = {"crf": "CRF", "best-logger-greedy": "Best logger, greedy"}


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
    labelled = method in METHODS and METHODS[method].saw_labels
    return MethodGroup.REFERENCE if labelled or method in REFERENCES else MethodGroup.LEARNED


def method_rank(method: str) -> tuple[int, int, str]:
    """Sorts loggers first, then methods as registered, then references; what is unknown last, by name."""
    if is_logger(method):
        return (0, int(method.removeprefix("logger-")), "")
    learned = [name for name, known in METHODS.items() if not known.saw_labels]
    order = [*learned, *REFERENCES, *(name for name in METHODS if name not in learned)]
    return (1, order.index(method), "") if method in order else (2, 0, method)


def method_title(method: str) -> str:
    """`weighted-reg` -> `Weighted-Reg`, as the paper writes it."""
    if method in METHODS:
        return METHODS[method].title
    if is_logger(method):
        return f"Logger {method.removeprefix('logger-')}"
    return REFERENCES.get(method, method)


PRESET_TITLES = {
    "paper": "as printed",
    "printed-objective": "printed objective",
    "tuned": "ours",
    "auto": "from the log",
}
OURS = "tuned"


def preset_rank(preset: str) -> tuple[int, str]:
    """Sorts presets from the paper's to ours; one that is not among them comes last, by name."""
    names = list(PRESET_TITLES)
    return (names.index(preset), "") if preset in PRESET_TITLES else (len(names), preset)


def preset_title(preset: str) -> str:
    """`printed-objective` -> `printed objective`; a preset that we do not know keeps its name."""
    return PRESET_TITLES.get(preset, preset)
