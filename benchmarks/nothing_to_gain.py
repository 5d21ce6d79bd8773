"""How often does `auto` return a policy that is worse than the best logger, where nothing can be gained?

Logger 2 acts as well as anybody can: it takes only actions of least expected loss, at random among those
that tie. Logger 1 is uniform. So every other policy is as good or worse, and each improvement that `auto`
claims is false. The policy that it returns is held against logger 2 by the true expected losses of new
contexts.

Three worlds: labels whose loss adds up, some of them coin tosses; labels of which two count only together, so
that the loss does not add up; one of four actions, two of which tie. With `--unknown` the log has
propensities but not the loggers' policies, as most logs of one's own.

    python benchmarks/nothing_to_gain.py [--logs 500] [--contexts 40 80 160] [--worlds adds,pairs,one-of]
        [--unknown]
"""

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from multilogger.components.actions.space import find_space
from multilogger.components.learners.auto.method import AutoSettings
from multilogger.components.learners.learn import learn
from multilogger.components.learners.loss_models.settings import Start
from multilogger.components.log.memory import TrainingLog

FEATURES, LABELS, ACTIONS, SURE = 4, 5, 4, 12.0
SETTINGS = AutoSettings(hidden=(16,), epochs=12, folds=3, start=Start.RATES, risk_rate=1e-2)

Array = NDArray[Any]


@dataclass(frozen=True)
class World:
    """`loss` draws the losses (n,) of actions in contexts, `risk` is their mean under a policy (n,)."""

    actions: str
    size: int
    best: Callable[[Array], Array]
    loss: Callable[[Array, Array, np.random.Generator], Array]
    risk: Callable[[Array, Array], Array]


def _chances(x: Array) -> Array:
    """The chance that each label is right (n, 5): three of four to one that depend on x, two coin tosses."""
    score = np.stack([x[:, 0], x[:, 1], x[:, 2] - x[:, 3]], axis=1)
    return np.hstack([np.where(score > 0, 0.7, 0.3), np.full((len(x), 2), 0.5)])


def _best_labels(x: Array) -> Array:
    p = _chances(x)
    return np.where(p == 0.5, 0.0, np.where(p > 0.5, SURE, -SURE))


def _label_loss(x: Array, y: Array, rng: np.random.Generator) -> Array:
    truth = rng.random((len(x), LABELS)) < _chances(x)
    return (truth != y).sum(axis=1).astype(np.float64)


def _label_risk(x: Array, p: Array) -> Array:
    right = _chances(x)
    return (right * (1 - p) + (1 - right) * p).sum(axis=1)


def _pair_loss(x: Array, y: Array, rng: np.random.Generator) -> Array:
    """The last two labels cost 1 if they are not the same, and nothing else."""
    first = (rng.random((len(x), 3)) < _chances(x)[:, :3]) != y[:, :3]
    return first.sum(axis=1) + 1.0 * (y[:, 3] != y[:, 4])


def _pair_risk(x: Array, p: Array) -> Array:
    right, a, b = _chances(x)[:, :3], p[:, 3], p[:, 4]
    first = (right * (1 - p[:, :3]) + (1 - right) * p[:, :3]).sum(axis=1)
    return first + a * (1 - b) + b * (1 - a)


def _best_pairs(x: Array) -> Array:
    both = np.where(x[:, [3]] > 0, SURE, -SURE)
    return np.hstack([_best_labels(x)[:, :3], both, both])


def _choice_losses(x: Array) -> Array:
    """The chance of a loss by action (n, 4): two actions tie, the others are worse."""
    first = (x[:, 0] > 0).astype(int)
    losses = np.full((len(x), ACTIONS), 0.55)
    losses[np.arange(len(x)), first] = losses[np.arange(len(x)), first + 2] = 0.4
    return losses


WORLDS = {
    "adds": World("labels", LABELS, _best_labels, _label_loss, _label_risk),
    "pairs": World("labels", LABELS, _best_pairs, _pair_loss, _pair_risk),
    "one-of": World(
        "one-of",
        ACTIONS,
        lambda x: np.where(_choice_losses(x) < 0.5, 0.0, -SURE),
        lambda x, y, rng: (rng.random(len(x)) < _choice_losses(x)[np.arange(len(x)), y]).astype(np.float64),
        lambda x, p: (_choice_losses(x) * p).sum(axis=1),
    ),
}


def make_log(world: World, contexts: int, rng: np.random.Generator, known: bool = True) -> TrainingLog:
    """Four passes of logger 1 over all contexts, three of logger 2, whose policies are in it if `known`."""
    space = find_space(world.actions, world.size)
    x = rng.normal(size=(contexts, FEATURES)).astype(np.float32)
    logits = (np.zeros((contexts, world.size)), world.best(x))
    context = np.tile(np.arange(contexts), 7)
    logger = np.repeat([0, 1], [4 * contexts, 3 * contexts])
    action = np.concatenate([space.draw(logits[j][context[logger == j]], rng) for j in (0, 1)])
    log_propensities = np.stack([space.log_probability(one[context], action) for one in logits], axis=1)
    return TrainingLog(
        x=x,
        context=context,
        action=action,
        delta=world.loss(x[context], action, rng),
        log_propensities=log_propensities,
        logger=logger,
        validation=rng.random(len(context)) < 0.25,
        space=space,
        logger_logits=logits if known else (),
    )


def excess(world: World, contexts: int, seed: int, known: bool) -> tuple[bool, float]:
    """Whether another policy than a logger is returned, and how much more it loses than logger 2."""
    rng = np.random.default_rng([seed, contexts])
    log = make_log(world, contexts, rng, known)
    learned = learn("auto", log, SETTINGS, seed)
    new = rng.normal(size=(2000, FEATURES)).astype(np.float32)
    own = world.risk(new, log.space.probabilities(learned.policy.logits(new)))
    best = world.risk(new, log.space.probabilities(world.best(new)))
    assert learned.verdict is not None
    return learned.verdict.chosen is not None, float((own - best).mean())


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--logs", type=int, default=500, help="of each world, the sizes in turn")
    parser.add_argument("--contexts", type=int, nargs="+", default=[40, 80, 160])
    parser.add_argument("--worlds", default=",".join(WORLDS))
    parser.add_argument("--unknown", action="store_true", help="the log has no policies of loggers")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    say("world,logs,improvements claimed,worse than logger 2,upper 95 % of that share,largest excess,seconds")
    for name in chosen.worlds.split(","):
        started, found = time.perf_counter(), []
        for seed in range(chosen.logs):
            contexts = chosen.contexts[seed % len(chosen.contexts)]
            found.append(excess(WORLDS[name], contexts, seed, not chosen.unknown))
            sys.stderr.write(f"\r{name} {seed + 1} of {chosen.logs} ")
        worse = [more for claimed, more in found if claimed and more > 1e-6]
        upper = _upper(len(worse), len(found))
        claims = sum(claimed for claimed, _ in found)
        seconds = time.perf_counter() - started
        largest = max(worse, default=0.0)
        say(f"\r{name},{len(found)},{claims},{len(worse)},{upper:.4f},{largest:.4f},{seconds:.0f}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _upper(count: int, total: int) -> float:
    """Clopper and Pearson's one-sided bound."""
    from scipy.special import betaincinv

    return float(betaincinv(count + 1, total - count, 0.95)) if count < total else math.nan


if __name__ == "__main__":
    main(sys.argv[1:])
