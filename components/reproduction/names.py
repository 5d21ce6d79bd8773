"""The order in which methods and presets are shown, and their names for a reader."""

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


PRESET_TITLES = {"paper": "as printed", "printed-objective": "printed objective", "tuned": "ours"}
OURS = "tuned"


def preset_rank(preset: str) -> tuple[int, str]:
    """Sorts presets from the paper's to ours; one that is not among them comes last, by name."""
    names = list(PRESET_TITLES)
    return (names.index(preset), "") if preset in PRESET_TITLES else (len(names), preset)


def preset_title(preset: str) -> str:
    """`printed-objective` -> `printed objective`; a preset that we do not know keeps its name."""
    return PRESET_TITLES.get(preset, preset)
