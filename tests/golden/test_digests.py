"""Every method gives the bits it gave before: sha256 of policy and epoch records.

`digests.json` was made by this file (`python -m pytest tests/golden --write-digests`). Another processor may
round sums otherwise, and so may another version of a library. `machine` tells: results are kept for each one
that they were recorded on, and where it is none of these, or a method was not recorded on it, the risks of
the last epoch are compared instead, to 2 %. A method whose results are meant to change is recorded anew, and
its old results of all machines are taken away.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.golden.results import PLACES, Golden, methods_of
from tests.golden.small_logs import LOSSES

FILE = Path(__file__).with_name("digests.json")
REPOSITORY = FILE.parents[2]
RISK_TOLERANCE = 0.02


@cache
def made_now(dataset: str) -> tuple[str, dict[str, Golden]]:
    """The machine, and all results of a dataset, by a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.golden.results", dataset],
        cwd=REPOSITORY,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    return told["machine"], {name: Golden(**one) for name, one in told["results"].items()}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("dataset", "method"), [(data, name) for data in LOSSES for name in methods_of(data)]
)
def test_result_is_the_one_recorded(
    dataset: str, method: str, place: str, pytestconfig: pytest.Config
) -> None:
    name = f"{dataset}/{place}/{method}"
    here, results = made_now(dataset)
    if pytestconfig.getoption("--write-digests"):
        _keep(here, name, results[name])
        return
    kept, now = json.loads(FILE.read_text()), results[name]
    if name in kept.get(here, {}):
        assert now == Golden(**kept[here][name])
    else:
        recorded = next(Golden(**known[name]) for known in kept.values() if name in known)
        assert now.train_risk == pytest.approx(recorded.train_risk, rel=RISK_TOLERANCE)
        assert now.validation_risk == pytest.approx(recorded.validation_risk, rel=RISK_TOLERANCE)


def test_every_method_has_digests() -> None:
    names = {f"{data}/{place}/{name}" for data in LOSSES for place in PLACES for name in methods_of(data)}
    assert names in [set(results) for results in json.loads(FILE.read_text()).values()]


def _keep(here: str, name: str, result: Golden) -> None:
    kept = json.loads(FILE.read_text()) if FILE.is_file() else {}
    kept[here] = dict(sorted({**kept.get(here, {}), name: vars(result)}.items()))
    FILE.write_text(json.dumps(kept, indent=1) + "\n")
