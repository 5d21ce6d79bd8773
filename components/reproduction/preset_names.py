"""The order in which presets are shown, and their names for a reader."""

PRESET_TITLES = {"paper": "as printed", "printed-objective": "printed objective", "tuned": "ours"}
OURS = "tuned"


def preset_rank(preset: str) -> tuple[int, str]:
    """Sorts presets from the paper's to ours; one that is not among them comes last, by name."""
    names = list(PRESET_TITLES)
    return (names.index(preset), "") if preset in PRESET_TITLES else (len(names), preset)


def preset_title(preset: str) -> str:
    """`printed-objective` -> `printed objective`; a preset that we do not know keeps its name."""
    return PRESET_TITLES.get(preset, preset)
