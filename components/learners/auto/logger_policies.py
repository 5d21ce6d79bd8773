"""A logger as a policy that can be saved: from its logits at the contexts of the log, or from its actions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix
from multilogger.components.datasets.labelled_data import LabelledData, append_constant
from multilogger.components.learners.loss_models.ensemble import context_folds
from multilogger.components.learners.training.measure import Example
from multilogger.components.learners.training.network_learner import (
    CLONED_ROWS,
    COPY_STEPS,
    clone,
    shuffled,
)
from multilogger.components.learners.training.settings import WarmStartSettings
from multilogger.components.log.disk import LearnerLog, StreamedLog
from multilogger.components.log.memory import densify
from multilogger.components.log.reading import thin_log
from multilogger.components.loggers.crf import fit_crf
from multilogger.components.loggers.linear import WIDEST, least_norm_map
from multilogger.components.policies.network_size import LINEAR, NetworkSize
from multilogger.components.policies.networks import ENSEMBLES, EnsembleNetwork, PolicyNetwork, network_logits
from multilogger.components.policies.policy import Standardisation

SAME = 1e-3  # in any probability: then it is the logger itself
COPY_SIZE = NetworkSize((128,), batch_norm=False)
FEWEST_PASSES = 30
PENALTIES = (1e-3, 1e-2, 0.1, 1.0)  # C of linear copies, the larger the freer
IMITATED_ROWS = 20_000  # of a logger's
PARTS = 4  # of the contexts; on one of them copies are compared


@dataclass(frozen=True)
class LoggerPolicy:
    """A network that acts as a logger, its logits (m, size) at the contexts; a copy only acts like it."""

    network: PolicyNetwork
    size: NetworkSize
    standardisation: Standardisation
    logits: Matrix
    is_copy: bool

    def sharpened(self, sharpness: float, log: LearnerLog) -> "LoggerPolicy":
        """The same `sharpness` times as sure."""
        network: EnsembleNetwork = ENSEMBLES[log.space.name]([self.network], log.space.torch, sharpness)
        logits = log.space.sharpened(log.space.probabilities(self.logits), sharpness)
        return LoggerPolicy(network, self.size, self.standardisation, logits, self.is_copy)


def logger_policy(log: LearnerLog, logger: int, seed: int) -> LoggerPolicy:
    """Logger j: a linear one is found again; of another one, or by actions alone, a copy is learned."""
    if not log.logger_logits:
        return _imitated(log, logger, seed)
    logits = log.logger_logits[logger]
    chances = log.space.torch.probabilities(torch.from_numpy(logits)).float()
    return _linear(log, logits) or _learned(log, (torch.arange(log.contexts), chances), seed)


def _linear(log: LearnerLog, logits: Matrix) -> LoggerPolicy | None:
    """The linear map of contexts nearest to given logits (m, size), None if it is not the same."""
    if min(log.x.shape) > WIDEST:
        return None
    x = np.asarray(append_constant(densify(log.x)), dtype=np.float64)
    found = _network(log, least_norm_map(x, logits).T)
    off = np.abs(log.space.probabilities(found.logits) - log.space.probabilities(logits))
    if not np.isfinite(found.logits).all() or float(off.max()) > SAME:
        return None
    return replace(found, is_copy=False)


def _network(log: LearnerLog, weights: Matrix) -> LoggerPolicy:
    """Weights (size, d + 1) of contexts as they came, the last column the bias."""
    network = PolicyNetwork(log.features, log.space.size, LINEAR, torch.Generator())
    slope, level = network.parameters()
    with torch.no_grad():
        slope.copy_(torch.from_numpy(weights[:, :-1].astype(np.float32)))
        level.copy_(torch.from_numpy(weights[:, -1].astype(np.float32)))
    untouched = Standardisation.none(log.features)
    return LoggerPolicy(network.eval(), LINEAR, untouched, network_logits(network, untouched(log.x)), True)


def _learned(log: LearnerLog, examples: Example, seed: int) -> LoggerPolicy:
    """A network that has learned the chances or the actions of a logger."""
    generator = torch.Generator().manual_seed(seed)
    standardisation = Standardisation.fit(log.x)
    x, space = standardisation(log.x), log.space.torch
    network = PolicyNetwork(log.features, log.space.size, COPY_SIZE, generator)
    passes = max(FEWEST_PASSES, -(-COPY_STEPS // max(1, len(examples[0]) // CLONED_ROWS)))
    copying = WarmStartSettings(warm_start=passes)
    clone(network, x, lambda: shuffled(examples, CLONED_ROWS, generator), space, copying)
    return LoggerPolicy(network, COPY_SIZE, standardisation, network_logits(network, x), is_copy=True)


Fit = Callable[[NDArray[np.intp]], LoggerPolicy]


def _imitated(log: LearnerLog, logger: int, seed: int) -> LoggerPolicy:
    """What gives the actions of a logger the largest likelihood on contexts that it has not seen.

    A linear policy under penalties of several sizes, or a network. The penalty spares the bias, so that the
    largest one leaves little but how often each action was taken.
    """
    held = thin_log(log, min(IMITATED_ROWS, log.rows), seed) if isinstance(log, StreamedLog) else log
    own = np.flatnonzero(held.logger == logger)
    own = np.random.default_rng(seed).permutation(own)[:IMITATED_ROWS]
    context, action = held.context[own], held.action[own]

    def linear(C: float, rows: NDArray[np.intp]) -> LoggerPolicy:
        data = LabelledData(log.x[context[rows]], action[rows], log.space)
        return _network(log, fit_crf(data, C, standardise=True, free_bias=True))

    def network(rows: NDArray[np.intp]) -> LoggerPolicy:
        examples = torch.from_numpy(context[rows]), log.space.torch.actions(action[rows])
        return _learned(log, examples, seed)

    fits: list[Fit] = [*(partial(linear, C) for C in PENALTIES), network]
    rows = np.arange(len(own))
    unseen = context_folds(log.contexts, PARTS, torch.Generator().manual_seed(seed)).numpy()[context] == 0
    if unseen.all() or not unseen.any():
        return fits[0](rows)

    def likelihood(fit: Fit) -> float:
        logits = fit(rows[~unseen]).logits
        return float(log.space.log_probability_at(logits, context[unseen], action[unseen]).mean())

    return max(fits, key=likelihood)(rows)
