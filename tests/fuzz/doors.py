"""What every door must do with whatever comes: take it, or refuse it in one short line, and soon."""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from multilogger.components.errors import BadInput

CASES = int(os.environ.get("MULTILOGGER_FUZZ", "40"))  # of each door; `make fuzz` sets more
LONGEST = 400
MOST_SECONDS = 20.0


def knock(door: Callable[[np.random.Generator], Any], cases: int = CASES) -> None:
    """Try a door with inputs that a seed draws; what fails says its seed."""
    refused = 0
    for seed in range(cases):
        started = time.perf_counter()
        try:
            door(np.random.default_rng(seed))
        except BadInput as refusal:
            refused += 1
            line = str(refusal)
            assert "\n" not in line, f"seed {seed}: several lines: {line!r}"
            assert 0 < len(line) < LONGEST, f"seed {seed}: {len(line)} characters: {line}"
        except Exception as error:
            error.add_note(f"seed {seed} of {door.__name__}")
            raise
        seconds = time.perf_counter() - started
        assert seconds < MOST_SECONDS, f"seed {seed} took {seconds:.0f} s"
    sys.stdout.write(f"{door.__name__}: {cases} inputs, {refused} refused\n")
    assert refused > 0, "nothing was refused: the inputs are not odd enough"


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Bytes cut, turned, doubled, replaced, or left out."""
    place = int(rng.integers(0, len(content) + 1))
    width = int(rng.integers(1, 9))
    noise = rng.bytes(width)
    kinds = (
        content[:place],
        content[:place] + noise + content[place + width :],
        content[:place] + content[place + width :],
        content[:place] + noise + content[place:],
        content[place:] + content[:place],
        content + content,
        rng.bytes(len(content)),
        b"",
    )
    return kinds[rng.integers(0, len(kinds))]


ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3.5, -0.0, 1e-300, 1e300, float("nan"), float("inf"), -float("inf"),
    2**31, 2**62, 2**63, 10**30, 10**400, "", " ", "a", "nan", "../../x", "/etc/x", "x" * 5000, "\0", "\n",
    "[/]", "é", "1,2", (), (1,), (0.0, -1.0), (float("nan"),), ("a", 1), [], [1, 2], [[1]], {}, {"a": 1},
    b"x", object,
)  # fmt: skip


def odd(rng: np.random.Generator) -> Any:
    return ODD[rng.integers(0, len(ODD))]
