"""What a pass over the log costs: our direct and constrained methods against a bare PyTorch loop.

    python benchmarks/constraint_cost.py <mirror> yeast

The bare loop has the same network, rows and optimiser and nothing else: no validation, record or lambda*.
Settings are those of the preset `paper`. Ratios of CPU time, one thread, the best of several, interleaved.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
from bandit_data import open_benchmark

from multilogger.components.actions.torch_labels import log_probability
from multilogger.components.learners.learn import learn
from multilogger.components.learners.presets import preset
from multilogger.components.learners.training.row_batches import TensorRows
from multilogger.components.learners.training.settings import RiskSettings, changed
from multilogger.components.log.memory import TrainingLog, densify
from multilogger.components.policies.networks import PolicyNetwork


def printed(dataset: str, method: str) -> RiskSettings:
    settings = preset("paper", dataset, method)
    assert isinstance(settings, RiskSettings)
    return settings


def bare_loop(log: TrainingLog, settings: RiskSettings, passes: int) -> None:
    """Minimise the naive IPS estimate as one would write it down first."""
    generator = torch.Generator().manual_seed(0)
    rows, x = TensorRows.of(log.part(validation=False)), torch.from_numpy(densify(log.x))
    network = PolicyNetwork(log.features, log.space.size, settings.policy_size, generator)
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.risk_rate)
    for _ in range(passes):
        for chosen in rows.batches(settings.batch_size, generator):
            own = chosen.flatten()
            log_target = log_probability(network(x[rows.context[own]]), rows.action[own])
            risk = (torch.exp(log_target - rows.log_propensity[own]) * rows.delta[own]).mean()
            optimiser.zero_grad()
            risk.backward()  # type: ignore[no-untyped-call]
            optimiser.step()


def seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mirror", type=Path, help="folder with the LibSVM site's relative names")
    parser.add_argument("dataset")
    parser.add_argument("--passes", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    log, passes = open_benchmark(arguments.mirror, arguments.dataset).log(100), arguments.passes

    def run(method: str, inner: int = 1) -> object:
        settings = printed(arguments.dataset, method)
        epochs = max(1, passes // settings.passes_per_epoch)
        short = {"epochs": epochs, "patience": epochs, "checkpoint_every": 0, "warm_up_steps": 1}
        return learn(method, log, changed(settings, short | {"inner_iterations": inner}), 0)

    works: dict[str, Callable[[], object]] = {
        "bare loop": lambda: bare_loop(log, printed(arguments.dataset, "naive"), passes),
        "naive": lambda: run("naive"),
        "naive-reg, 1 inner iteration": lambda: run("naive-reg"),
        "naive-reg, 5 inner iterations": lambda: run("naive-reg", 5),
    }
    best = {name: seconds(work) for name, work in works.items()}
    for _ in range(arguments.repeats - 1):
        best = {name: min(best[name], seconds(work)) for name, work in works.items()}
    for name, spent in best.items():
        ratio = spent / best["bare loop"]
        print(f"{name:30} {1000 * spent / passes:7.1f} ms a pass  {ratio:5.2f} of the bare loop")  # noqa: T201


if __name__ == "__main__":
    main()
