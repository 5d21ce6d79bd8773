"""A logger as a policy that can be saved: from its logits at the contexts of the log, or from its actions."""

from dataclasses import dataclass

import numpy as np
import torch

from multilogger.components.actions.arrays import Matrix
from multilogger.components.datasets.labelled_data import append_constant
from multilogger.components.learners.training.measure import Measure
from multilogger.components.learners.training.network_learner import CLONED_ROWS, clone, shuffled
from multilogger.components.learners.training.settings import WarmStartSettings
from multilogger.components.log.disk import LearnerLog
from multilogger.components.log.memory import densify
from multilogger.components.policies.network_size import LINEAR, NetworkSize
from multilogger.components.policies.networks import ENSEMBLES, EnsembleNetwork, PolicyNetwork
from multilogger.components.policies.policy import Standardisation, network_logits

WIDEST = 5000  # the shorter side of a least-squares problem; beyond it a logger has no linear form
NEGLIGIBLE = 1e-12  # of the largest singular value
SAME = 1e-3  # in any probability: then it is the logger itself
COPY_SIZE = NetworkSize((128,), batch_norm=False)
COPYING = WarmStartSettings(warm_start=30)


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


def logger_policy(log: LearnerLog, logger: int, measure: Measure, seed: int) -> LoggerPolicy:
    """Logger j: a linear one is found again, of another one a network learns to act as it does."""
    if log.logger_logits:
        found = _linear(log, log.logger_logits[logger])
        if found is not None:
            return found
    return _copy(log, logger, measure, seed)


def _linear(log: LearnerLog, logits: Matrix) -> LoggerPolicy | None:
    """The linear map of contexts nearest to given logits (m, size), None if it is not the same.

    A regularised linear logger is a sum of contexts, so that the solution of least norm finds it also where
    there are fewer contexts than features.
    """
    if min(log.x.shape) > WIDEST:
        return None
    x = np.asarray(append_constant(densify(log.x)), dtype=np.float64)
    if x.shape[1] <= x.shape[0]:
        norms = np.linalg.norm(x, axis=0)
        norms[norms == 0] = 1.0
        unit = x / norms
        weights = np.linalg.lstsq(unit.T @ unit, unit.T @ logits, NEGLIGIBLE)[0] / norms[:, None]
    else:
        weights = x.T @ np.linalg.lstsq(x @ x.T, logits, NEGLIGIBLE)[0]
    network = PolicyNetwork(log.features, log.space.size, LINEAR, torch.Generator())
    slope, level = network.parameters()
    with torch.no_grad():
        slope.copy_(torch.from_numpy(weights[:-1].T.astype(np.float32)))
        level.copy_(torch.from_numpy(weights[-1].astype(np.float32)))
    untouched = Standardisation.none(log.features)
    found = network_logits(network, untouched(log.x))
    off = np.abs(log.space.probabilities(found) - log.space.probabilities(logits))
    if not np.isfinite(found).all() or float(off.max()) > SAME:
        return None
    return LoggerPolicy(network.eval(), LINEAR, untouched, found, is_copy=False)


def _copy(log: LearnerLog, logger: int, measure: Measure, seed: int) -> LoggerPolicy:
    generator = torch.Generator().manual_seed(seed)
    standardisation = Standardisation.fit(log.x)
    x, space = standardisation(log.x), log.space.torch
    network = PolicyNetwork(log.features, log.space.size, COPY_SIZE, generator)
    if log.logger_logits:
        chances = space.probabilities(torch.from_numpy(log.logger_logits[logger])).float()
        examples = torch.arange(log.contexts), chances
        clone(network, x, lambda: shuffled(examples, CLONED_ROWS, generator), space, COPYING)
    else:
        clone(network, x, lambda: measure.logged_actions(logger, CLONED_ROWS, generator), space, COPYING)
    return LoggerPolicy(network, COPY_SIZE, standardisation, network_logits(network, x), is_copy=True)
