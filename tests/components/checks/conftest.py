"""The simulated logs of `benchmarks/check_worlds.py`."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PLACE = Path(__file__).resolve().parents[3] / "benchmarks" / "check_worlds.py"


@pytest.fixture(scope="session")
def worlds() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_worlds", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
