"""How memory and time of an epoch grow with the number K of actions: exponents near 1 or below.

    python benchmarks/large_k.py [--actions 100 1000 10000]

A simulated log: 1,000 contexts of 50 features, two loggers that are linear softmax policies, two passes each.
Each method and K runs in a process of its own, on one thread. Time is that of the shortest epoch after the
first, as processor time, so that a busy machine does no harm. Memory is the largest resident size less that
of a run with 10 actions.
"""

import argparse
import itertools
import json
import math
import resource
import subprocess
import sys
import time
from typing import Any

CONTEXTS, FEATURES, PASSES, EPOCHS = 1000, 50, 2, 4
HEAD = f"{'method':16} {'K':>7} {'epoch s':>9} {'memory MB':>10} {'time exp.':>10} {'memory exp.':>12}\n"
METHODS = ("weighted", "weighted-reg", "weighted-exact", "balanced-exact", "dm", "dr")


def run_one(method: str, actions: int) -> dict[str, float]:
    """One run in this process: seconds of an epoch, and the largest resident size in MB."""
    import numpy as np
    import torch

    from multilogger.components.actions.one_of import OneOf
    from multilogger.components.datasets.losses import ZERO_ONE
    from multilogger.components.learners.learn import learn
    from multilogger.components.learners.presets import preset
    from multilogger.components.learners.training.settings import changed
    from multilogger.components.log.memory import TrainingLog
    from multilogger.components.loggers.replay import ReplayPlan, SplitBy, replay_pass

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(CONTEXTS, FEATURES)).astype(np.float32)
    scores = x @ rng.normal(size=(FEATURES, actions)) / math.sqrt(FEATURES)
    truth = scores.argmax(axis=1)
    space, plan = OneOf(actions), ReplayPlan(0, 0.25, SplitBy.ROW, CONTEXTS)
    logits = [scores * alpha for alpha in (0.5, 3.0)]
    rows = [
        (j, part)
        for j in range(2)
        for r in range(PASSES)
        for part in replay_pass(space, logits, truth, j, r, plan, ZERO_ONE)
    ]

    def column(name: str) -> Any:
        return np.concatenate([getattr(part, name) for _, part in rows])

    log = TrainingLog(
        x=x,
        context=column("context").astype(np.int64),
        action=column("action"),
        delta=column("delta"),
        log_propensities=column("log_propensities"),
        logger=np.concatenate([np.full(len(part.delta), j) for j, part in rows]),
        validation=column("validation"),
        space=space,
        logger_logits=tuple(logits) if method.endswith("-exact") else (),
    )
    settings = changed(
        preset("tuned", "", method, "one-of"),
        {"epochs": EPOCHS, "model_epochs": 2, "patience": EPOCHS, "warm_start": 0, "warm_up_epochs": 1,
         "warm_up_steps": 2, "folds": 2},
    )  # fmt: skip
    stamps = [time.process_time()]
    learn(method, log, settings, 0, lambda _: stamps.append(time.process_time()))
    epochs = [after - before for before, after in itertools.pairwise(stamps)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": min(epochs[1:]), "memory": memory}


def measured(method: str, actions: int) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--one", method, str(actions)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def exponent(smaller: float, larger: float, times: float) -> float:
    return math.log(max(larger, 1e-9) / max(smaller, 1e-9)) / math.log(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--method", nargs="+", default=METHODS)
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "K"))
    options = parser.parse_args()
    if options.one:
        sys.stdout.write(json.dumps(run_one(options.one[0], int(options.one[1]))) + "\n")
        return
    sys.stdout.write(HEAD)
    for method in options.method:
        base, before = measured(method, 10)["memory"], None
        for actions in options.actions:
            now = measured(method, actions)
            now["memory"] = max(now["memory"] - base, 1.0)
            line = f"{method:16} {actions:7,} {now['seconds']:9.3f} {now['memory']:10.0f}"
            if before is not None:
                last, seen = before
                times = actions / last
                line += f" {exponent(seen['seconds'], now['seconds'], times):10.2f}"
                line += f" {exponent(seen['memory'], now['memory'], times):12.2f}"
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
            before = actions, now


if __name__ == "__main__":
    main()
