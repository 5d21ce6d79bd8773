"""The results of every method on a small log, as they are kept, and the machine that they were made on.

`python -m tests.golden.results DATASET` prints them as JSON, made in a process of their own: what other tests
leave behind in a process, such as libraries that were loaded, can move the last digit of a sum.
"""

import hashlib
import json
import platform
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from scipy.special import expit, logsumexp
from threadpoolctl import threadpool_limits

from multilogger.components.datasets.registry import DATASETS
from multilogger.components.learners.learn import Learned, learn
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.presets import preset
from multilogger.components.learners.training.settings import Settings, changed
from multilogger.components.log.disk import LearnerLog
from tests.golden.small_logs import LOSSES, SmallLog

SEED = 3
# Of a dataset that nobody tuned for: a preset of digits may change.
PRESET = {
    "digits": ("tuned", "elsewhere"),
    "pairwise": ("paper", "pairwise"),
    "digits-one-of": ("tuned", "digits-one-of"),
}
CPU_KIND = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features")
PLACES = ("memory", "disk")


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
    folder.mkdir()
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

    Arithmetic alone does not tell: two processors agreed in all of it and not in the last digit of a record.
    """
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().split("\n\n")[0].splitlines() if cpu.is_file() else [platform.processor()]
    kind = sorted(line for line in lines if line.startswith(CPU_KIND))
    libraries = [f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "torch")]
    parts = [platform.system(), platform.machine(), *platform.libc_ver(), *kind, *libraries, arithmetic()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def methods_of(dataset: str) -> list[str]:
    return [name for name, method in METHODS.items() if DATASETS[dataset].actions in method.spaces]


def results_of(dataset: str, folder: Path) -> dict[str, Golden]:
    """Of every method, from memory and from disk, by `dataset/place/method`."""
    torch.set_num_threads(1)
    found = {}
    with threadpool_limits(1):
        source = SmallLog(dataset, folder / "log")
        logs: dict[str, LearnerLog] = {"memory": source.in_memory(), "disk": source.on_disk()}
        for place in PLACES:
            for name in methods_of(dataset):
                learned = learn(name, logs[place], settings_of(name, dataset), SEED)
                found[f"{dataset}/{place}/{name}"] = golden(learned, folder / f"{place}-{name}")
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        here = {name: asdict(one) for name, one in results_of(sys.argv[1], Path(made)).items()}
    sys.stdout.write(json.dumps({"machine": machine(), "results": here}))
