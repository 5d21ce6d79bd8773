"""WCRM, weighted counterfactual risk minimisation (section 2.1.2): the paper's baseline.

min_W sum_j lambda*_j sum_i u_i + v sqrt(Var(lambda*_j n_j u_i) / n) + l2 |W - W_0|^2, u = min(h/h_j, clip) l,

over linear softmax policies, which factorise into one logistic policy a label, by full-batch L-BFGS. An epoch
is one point of the grid over (clip, v, l2); the validation split chooses the point. W_0 is 0, the uniform
policy, or where there is a warm start the copy of the best logger.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multilogger.components.learners.epoch_record import EpochRecord, Measure
from multilogger.components.learners.learned_policy import Standardisation, network_logits
from multilogger.components.learners.objectives import WEIGHTED, shift_of
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.state import State, module_state
from multilogger.components.learners.training_log import TrainingLog
from multilogger.components.learners.warm_start import clone_best_logger
from multilogger.components.network_size import NetworkSize
from multilogger.components.networks import PolicyNetwork
from multilogger.components.policies import Vector
from multilogger.components.torch_policies import log_probability

LINEAR = NetworkSize(hidden=(), batch_norm=False)


@dataclass(frozen=True)
class GridPoint:
    """The hyper-parameters of one fit."""

    clip: float
    variance: float
    l2: float


class WCRMLearner:
    """Fits every point of the grid in turn, each from W_0."""

    def __init__(self, log: TrainingLog, settings: LearnerSettings, seed: int) -> None:
        self.settings = settings
        self.standardisation = (
            Standardisation.fit(log.x) if settings.standardise else Standardisation.none(log.features)
        )
        self.x = self.standardisation(log.x)
        self.wide = torch.cat([self.x.double(), torch.ones(log.contexts, 1, dtype=torch.float64)], dim=1)
        self.generator = torch.Generator().manual_seed(seed)
        self.network = PolicyNetwork(log.features, log.labels, LINEAR, self.generator)
        self.measure = Measure(log, WEIGHTED, settings)
        part = self.measure.train
        self.context = torch.from_numpy(part.context)
        self.action = torch.from_numpy(part.action).double()
        self.log_propensity = torch.from_numpy(part.log_propensity)
        self.losses = torch.from_numpy(part.delta - shift_of(part, settings.loss_shift))
        self.shares = part.counts / part.counts.sum()
        grid = itertools.product(settings.wcrm_clips, settings.wcrm_variances, settings.wcrm_l2s)
        self.grid = [GridPoint(*point) for point in grid]
        self.start = self._start()
        self.fitted = 0

    @property
    def size(self) -> NetworkSize:
        return LINEAR

    @property
    def epochs(self) -> int:
        return len(self.grid)

    @property
    def patience(self) -> int:
        """Grid points come in no order of merit, so all are fitted."""
        return len(self.grid)

    def run_epoch(self) -> None:
        """Fit the next point.

        Choice: lambda* depends on h. It is recomputed between rounds of L-BFGS and constant within each,
        where a moving objective would spoil the line search.
        """
        point = self.grid[self.fitted]
        weights = self.start
        for _ in range(self.settings.wcrm_rounds):
            self._take(weights)
            batch = self.measure.train.under(network_logits(self.network, self.x))
            self.shares = WEIGHTED.shares(batch, self.settings)
            weights = self._minimise(weights, point)
        self._take(weights)
        self.fitted += 1

    def _start(self) -> Vector:
        """W_0, flat."""
        if not self.settings.warm_start:
            return np.zeros(self.wide.shape[1] * self.action.shape[1])
        clone_best_logger(self.network, self.x, self.measure, self.settings, self.generator)
        layer = self.network.layers[0].state_dict()
        return torch.cat([layer["weight"].T, layer["bias"][None]]).double().numpy().ravel()

    def _minimise(self, start: Vector, point: GridPoint) -> Vector:
        from scipy.optimize import minimize

        part = self.measure.train
        coefficients = torch.from_numpy((len(part.delta) * self.shares / part.counts)[part.logger])

        def value_and_gradient(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            weights = torch.from_numpy(flat.copy()).view(self.wide.shape[1], -1).requires_grad_()
            value = self.objective(weights, coefficients, point)
            (gradient,) = torch.autograd.grad(value, weights)
            return float(value.detach()), gradient.numpy().ravel()

        result = minimize(
            value_and_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.settings.wcrm_iterations},
        )
        return np.asarray(result.x, dtype=np.float64)

    def objective(self, weights: Tensor, coefficients: Tensor, point: GridPoint) -> Tensor:
        """The WCRM objective at weights (d + 1, q), with coefficients n lambda*_j of each row (n,)."""
        logits = (self.wide @ weights)[self.context]
        log_ratio = log_probability(logits, self.action) - self.log_propensity
        u = torch.exp(log_ratio.clamp_max(math.log(point.clip))) * self.losses
        terms = coefficients * u
        # Deviation: the printed variance is of lambda*_j n_j u_i, whose mean is not the risk when the n_j
        # differ; n lambda*_j u_i has the risk as its mean. For two equal loggers it is twice the printed one.
        moved = weights - torch.from_numpy(self.start).view_as(weights)
        value = terms.mean() + point.l2 * moved[:-1].square().sum()
        if point.variance > 0:
            value = value + point.variance * torch.sqrt(terms.var() / len(terms))
        return value

    def _take(self, weights: Vector) -> None:
        """Put weights of (d + 1, q) numbers into the linear network."""
        table = torch.from_numpy(weights.reshape(self.wide.shape[1], -1))
        layer = self.network.layers[0]
        layer.load_state_dict({"weight": table[:-1].T.float(), "bias": table[-1].float()})

    def record(self, epoch: int) -> EpochRecord:
        look = self.measure.look(network_logits(self.network, self.x))
        return self.measure.record(epoch, look, self.shares)

    def state(self) -> State:
        return module_state(self.network).under("network") | State(numbers={"fitted": self.fitted})

    def restore(self, state: State) -> None:
        self.network.load_state_dict(state.below("network").tensors)
        self.fitted = int(state.numbers["fitted"])
