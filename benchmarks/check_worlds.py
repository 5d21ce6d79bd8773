"""Healthy logs of several kinds, and logs with one planted fault, for `check_power.py` and the tests."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import multilogger as ml


@dataclass(frozen=True)
class Kind:
    """A kind of log. `rate` scales the chance of a loss; `sharpness` how sure the loggers are."""

    name: str
    rows: int = 3000
    actions: int = 5
    loggers: int = 2
    labels: bool = False
    rate: float = 1.0
    sharpness: float = 0.7
    features: int = 6
    passes: int = 1
    own_only: bool = False
    words: bool = False


KINDS = (
    Kind("usual"),
    Kind("few rows", rows=300),
    Kind("many actions", rows=5000, actions=60, sharpness=0.4),
    Kind("rare rewards", rows=6000, actions=10, rate=0.03),
    Kind("three loggers", loggers=3, own_only=True),
    Kind("sharp loggers", sharpness=2.0),
    Kind("contexts again", rows=4000, passes=4),
    Kind("labels", actions=6, labels=True),
    Kind("few features", rows=4000, features=2, words=True, own_only=True),
    Kind("one logger", loggers=1),
)


@dataclass(frozen=True)
class World:
    """Arrays of a log with the full propensities of every logger: (n, J, K)."""

    kind: Kind
    x: NDArray[np.float64]
    context: NDArray[np.int64]
    logger: NDArray[np.int64]
    logits: NDArray[np.float64]
    action: NDArray[np.int64]
    loss: NDArray[np.float64]
    log_propensities: NDArray[np.float64]
    time: NDArray[np.float64]

    def log(self, **others: object) -> ml.BanditLog:
        rows = np.arange(len(self.loss))
        known: dict[str, object] = {
            "loss": self.loss,
            "log_propensity": self.log_propensities[rows, self.logger],
            "logger": np.array([f"logger-{j + 1}" for j in range(self.kind.loggers)])[self.logger],
            "time": self.time,
            "actions": None if self.kind.labels else range(self.kind.actions),
            "max_loss": float(self.kind.actions) if self.kind.labels else 1.0,
        }
        if self.kind.passes > 1:
            known["context"] = self.context
        if not self.kind.own_only:
            known["log_propensities"] = self.log_propensities
        x = self.x if self.kind.passes > 1 else self.x[self.context]
        return ml.BanditLog.from_arrays(x, self.action, **{**known, **others})  # type: ignore[arg-type]

    def under(self, log_propensities: NDArray[np.float64]) -> "World":
        return replace(self, log_propensities=log_propensities)


def healthy(kind: Kind, seed: int) -> World:
    """A log whose propensities are right and whose rows are what they seem."""
    rng = np.random.default_rng(seed)
    contexts = kind.rows // kind.passes
    x = rng.normal(size=(contexts, kind.features))
    if kind.words:
        x = rng.integers(0, 6, size=(contexts, kind.features)).astype(float)
    context = np.tile(np.arange(contexts), kind.passes)
    n = len(context)
    standard = (x - x.mean(axis=0)) / x.std(axis=0)
    directions = rng.normal(size=(kind.loggers, kind.features, kind.actions)) / np.sqrt(kind.features)
    logits = kind.sharpness * np.einsum("nf,jfk->njk", standard[context], directions)
    shares = rng.dirichlet(np.full(kind.loggers, 5.0))
    logger = rng.choice(kind.loggers, size=n, p=shares)
    own = logits[np.arange(n), logger]
    if kind.labels:
        action = (rng.random(own.shape) < 1 / (1 + np.exp(-own))).astype(np.int64)
        sign = np.where(action == 1, 1.0, -1.0)
        every = -np.log1p(np.exp(-sign[:, None, :] * logits)).sum(axis=2)
        right = standard[context] @ rng.normal(size=(kind.features, kind.actions)) > 0
        loss = (action != right).sum(axis=1).astype(float)
    else:
        p = np.exp(own - own.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        action = (rng.random((n, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(max=kind.actions - 1)
        log_p = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
        every = log_p[np.arange(n), :, action]
        worth = standard[context] @ rng.normal(size=(kind.features, kind.actions)) / np.sqrt(kind.features)
        chance = kind.rate / (1 + np.exp(worth[np.arange(n), action]))
        loss = 1.0 - (rng.random(n) < chance) if kind.rate < 1 else (rng.random(n) < chance).astype(float)
    return World(kind, x, context, logger, logits, action, loss.astype(float), every, np.sort(rng.random(n)))


def wrong_logger(world: World) -> ml.BanditLog:
    """The propensities of one logger are half of what they should be."""
    off = np.zeros(world.kind.loggers)
    off[0] = np.log(0.5)
    return world.under(world.log_propensities + off).log()


def large_action(world: World) -> ml.BanditLog:
    """Those of one action of one logger are twice what they should be, none above 1."""
    every = world.log_propensities.copy()
    usual = np.bincount(world.action[world.logger == 0]).argmax()
    rows = world.action == usual
    every[rows, 0] = np.minimum(every[rows, 0] + np.log(2.0), 0.0)
    return world.under(every).log()


def small_action(world: World) -> ml.BanditLog:
    """Those of one action of one logger are half."""
    every = world.log_propensities.copy()
    usual = np.bincount(world.action[world.logger == 0]).argmax()
    every[world.action == usual, 0] += np.log(0.5)
    return world.under(every).log()


def leaked_action(world: World) -> ml.BanditLog:
    """A feature is the number of the action, in nine rows of ten."""
    rng = np.random.default_rng(1)
    told = np.where(rng.random(len(world.action)) < 0.9, world.action, 0)
    return _with_feature(world, told)


def leaked_loss(world: World) -> ml.BanditLog:
    """A feature is the loss with a little noise."""
    noise = 0.05 * np.random.default_rng(1).normal(size=len(world.loss))
    return _with_feature(world, world.loss + noise)


def drifting(world: World) -> ml.BanditLog:
    """A third of the losses of the second half become the largest."""
    rng = np.random.default_rng(1)
    worse = (world.time > 0.5) & (rng.random(len(world.loss)) < 0.33)
    return replace(world, loss=np.where(worse, 1.0, world.loss)).log()


def copied(world: World) -> ml.BanditLog:
    """Three rows of a hundred stand twice."""
    log = world.log()
    rows = np.random.default_rng(1).choice(len(log), size=len(log) * 3 // 100, replace=False)
    return log.take(np.r_[np.arange(len(log)), rows])


def constant_logger(world: World) -> ml.BanditLog:
    """The losses of one logger were lost and stand as 0."""
    return replace(world, loss=np.where(world.logger == 0, 0.0, world.loss)).log()


def deterministic_logger(world: World) -> ml.BanditLog:
    """One logger always takes its best action, and says so."""
    best = world.logits[:, 0].argmax(axis=1)
    action = np.where(world.logger == 0, best, world.action)
    own = np.where(world.logger == 0, 0.0, world.log_propensities[np.arange(len(action)), world.logger])
    return replace(world, action=action).log(log_propensity=own, log_propensities=None)


def swapped(world: World) -> ml.BanditLog:
    """The names of two loggers are swapped."""
    return replace(world, logger=1 - world.logger).log()


def apart(world: World) -> ml.BanditLog:
    """Each logger has its own half of the actions."""
    half, rows = world.kind.actions // 2, np.arange(len(world.action))
    p = np.full((2, world.kind.actions), 1e-4)
    p[0, :half], p[1, half:] = 1.0, 1.0
    p /= p.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(1)
    action = (rng.random((len(rows), 1)) > np.cumsum(p[world.logger], axis=1)).sum(axis=1)
    return replace(world, action=action, log_propensities=np.log(p[:, action].T)).log()


def _with_feature(world: World, column: NDArray[np.generic]) -> ml.BanditLog:
    x = np.column_stack([world.x[world.context], column])
    return replace(world, x=x, context=np.arange(len(x))).log()


FAULTS: dict[str, tuple[Callable[[World], ml.BanditLog], tuple[str, ...]]] = {
    "propensities of a logger halved": (wrong_logger, ("propensities-too-small", "mean-weight")),
    "propensities of an action halved": (small_action, ("propensities-too-small", "action-rate")),
    "propensities of an action doubled": (
        large_action,
        ("propensities-too-large", "action-rate", "mean-weight"),
    ),
    "action in a feature": (leaked_action, ("leak-action",)),
    "loss in a feature": (leaked_loss, ("leak-loss",)),
    "losses drift by a third": (drifting, ("drift-loss",)),
    "3 % of rows twice": (copied, ("repeated-rows",)),
    "losses of a logger lost": (constant_logger, ("constant-loss",)),
    "a deterministic logger": (deterministic_logger, ("deterministic-logger",)),
    "names of loggers swapped": (swapped, ("swapped-loggers",)),
    "no overlap": (apart, ("no-overlap",)),
}
"""What is planted, and the codes of which one must be found."""
