"""Every method gives the bits it gave before: sha256 of policy and epoch records.

`digests.json` was made by this file (`python -m pytest tests/golden --write-digests`). Another processor may
round sums otherwise, and so may another version of a library. `machine` tells: results are kept for each one
that they were recorded on, and where it is none of these, or a method was not recorded on it, the risks of
the last epoch are compared instead, to 2 %. A method whose results are meant to change is recorded anew, and
its old results of all machines are taken away.
"""

import hashlib
import json
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import expit, logsumexp
from threadpoolctl import threadpool_info, threadpool_limits

from multilogger.components.datasets.registry import DATASETS
from multilogger.components.learners.learn import Learned, learn
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.presets import preset
from multilogger.components.learners.training.settings import Settings, changed
from tests.golden.small_logs import LOSSES, SmallLog

FILE = Path(__file__).with_name("digests.json")
SEED = 3
# Of a dataset that nobody tuned for: a preset of digits may change.
PRESET = {
    "digits": ("tuned", "elsewhere"),
    "pairwise": ("paper", "pairwise"),
    "digits-one-of": ("tuned", "digits-one-of"),
}
RISK_TOLERANCE = 0.02
CPU_KIND = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features")


@dataclass(frozen=True)
class Golden:
    """What is kept of a result."""

    policy: str
    records: str
    train_risk: float
    validation_risk: float


def settings_of(method: str, dataset: str) -> Settings:
    """A preset, cut to two short epochs; all that a preset can turn on is on in one of the two."""
    short = {
        "loss": LOSSES[dataset],
        "batch_size": 64,
        "epochs": 2,
        "passes_per_epoch": 1,
        "model_epochs": 2,
        "folds": 2,
        "wcrm_clips": (10.0,),
        "wcrm_variances": (0.1,),
        "wcrm_l2s": (1e-2,),
        "wcrm_rounds": 1,
        "wcrm_iterations": 5,
        "warm_up_steps": 3,
        "warm_up_epochs": 1,
        "memory_rows": 200,
        "checkpoint_every": 0,
    }
    if dataset != "pairwise":
        short |= {"warm_start": 1, "kappa": 0.1}
    return changed(preset(*PRESET[dataset], method), short)


def golden(learned: Learned, folder: Path) -> Golden:
    learned.policy.save(folder)
    last = learned.records[-1]
    return Golden(
        policy=hashlib.sha256((folder / "policy.safetensors").read_bytes()).hexdigest(),
        records=hashlib.sha256(repr(learned.records).encode()).hexdigest(),
        train_risk=round(last.train_risk, 6),
        validation_risk=round(last.validation_risk, 6),
    )


def arithmetic() -> str:
    """sha256 of products, exponentials, sums and Adam's steps on fixed numbers."""
    rng = np.random.default_rng(11)
    x, w = rng.normal(size=(500, 64)), rng.normal(size=(64, 128))
    parts: list[np.ndarray] = [x @ w, expit(x), logsumexp(x, axis=1), np.log1p(np.exp(x)), x.sum(axis=0)]
    linear = torch.nn.Linear(64, 128)
    layer = torch.nn.Sequential(linear, torch.nn.BatchNorm1d(128), torch.nn.ReLU())
    with torch.no_grad():
        linear.weight.copy_(torch.from_numpy(w.T.astype(np.float32) / 8))
        linear.bias.zero_()
    for fused in (False, True):
        adam = torch.optim.Adam(layer.parameters(), 1e-3, fused=fused)
        for rows in (64, 500, 200):
            adam.zero_grad()
            out = layer(torch.from_numpy(x[:rows].astype(np.float32)))
            loss = (torch.logsumexp(out, 1) + torch.nn.functional.softplus(out).sum(1)).mean()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
    parts += [value.detach().numpy() for value in layer.state_dict().values()]
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


@cache
def machine() -> str:
    """sha256 of what decides how sums are rounded: processor, libraries, and what they make of numbers.

    Arithmetic alone does not tell. OpenBLAS chooses kernels by the processor, or as OPENBLAS_CORETYPE says:
    two of them agreed in all of it and not in the last digit of a record.
    """
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().split("\n\n")[0].splitlines() if cpu.is_file() else [platform.processor()]
    kind = sorted(line for line in lines if line.startswith(CPU_KIND))
    libraries = [f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "torch")]
    kernels = sorted(f"{one['internal_api']} {one.get('architecture')}" for one in threadpool_info())
    parts = [platform.system(), platform.machine(), *platform.libc_ver(), *kind, *libraries, *kernels]
    parts += sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("OPENBLAS_"))
    parts.append(arithmetic())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@pytest.fixture(scope="module")
def small_log(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], SmallLog]:
    return cache(lambda dataset: SmallLog(dataset, tmp_path_factory.mktemp(dataset)))


def methods_of(dataset: str) -> list[str]:
    return [name for name, method in METHODS.items() if DATASETS[dataset].actions in method.spaces]


@pytest.mark.parametrize("place", ["memory", "disk"])
@pytest.mark.parametrize(
    ("dataset", "method"), [(data, name) for data in LOSSES for name in methods_of(data)]
)
def test_result_is_the_one_recorded(
    dataset: str,
    method: str,
    place: str,
    small_log: Callable[[str], SmallLog],
    tmp_path: Path,
    pytestconfig: pytest.Config,
) -> None:
    source = small_log(dataset)
    log = source.in_memory() if place == "memory" else source.on_disk()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        now = golden(learn(method, log, settings_of(method, dataset), SEED), tmp_path)
        here = machine()
    name = f"{dataset}/{place}/{method}"
    if pytestconfig.getoption("--write-digests"):
        _keep(here, name, now)
        return
    kept = json.loads(FILE.read_text())
    if name in kept.get(here, {}):
        assert now == Golden(**kept[here][name])
    else:
        recorded = next(Golden(**results[name]) for results in kept.values() if name in results)
        assert now.train_risk == pytest.approx(recorded.train_risk, rel=RISK_TOLERANCE)
        assert now.validation_risk == pytest.approx(recorded.validation_risk, rel=RISK_TOLERANCE)


def test_every_method_has_digests() -> None:
    places = ("memory", "disk")
    names = {f"{data}/{place}/{name}" for data in LOSSES for place in places for name in methods_of(data)}
    assert names in [set(results) for results in json.loads(FILE.read_text()).values()]


def _keep(here: str, name: str, result: Golden) -> None:
    kept = json.loads(FILE.read_text()) if FILE.is_file() else {}
    kept[here] = dict(sorted({**kept.get(here, {}), name: vars(result)}.items()))
    FILE.write_text(json.dumps(kept, indent=1) + "\n")
