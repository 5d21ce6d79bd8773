"""The help of options says what there is to choose from."""

import re

from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.presets import PRESETS
from multilogger.components.learners.references import reference_names
from multilogger.flows.cli.options import METHODS_HELP, PRESETS_HELP


def test_help_names_every_method_and_preset() -> None:
    words = set(re.findall(r"[a-z0-9-]+", METHODS_HELP))
    named = words | {
        f"{name}-{kind}" for name in ("naive", "weighted", "balanced") for kind in ("reg", "exact")
    }
    assert set(METHODS) <= named
    assert set(reference_names()) <= named
    assert set(PRESETS) <= set(re.findall(r"[a-z-]+", PRESETS_HELP))
