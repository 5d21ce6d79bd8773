"""WCRM, weighted counterfactual risk minimisation (section 2.1.2): the paper's baseline.

min_W sum_j lambda*_j sum_i u_i + v sqrt(Var(lambda*_j n_j u_i) / n) + l2 |W - W_0|^2, u = min(h/h_j, clip) l,

over linear softmax policies, which factorise into one logistic policy per label, by full-batch L-BFGS. An
epoch is one point of the grid over (clip, v, l2); the validation split chooses the point. W_0 is 0, the
uniform policy, or where there is a warm start the copy of the best logger.
"""

import itertools

import numpy as np
import torch
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.learners.training.measure import Snapshot
from multilogger.components.learners.training.network_learner import (
    clone_best_logger,
    open_measure,
    warm_start_of,
)
from multilogger.components.learners.training.objectives import WEIGHTED, rules_of
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.state import State, module_state
from multilogger.components.learners.wcrm.method import WcrmSettings
from multilogger.components.learners.wcrm.objective import GridPoint, open_objective, propensity_ratio
from multilogger.components.log.disk import LearnerLog
from multilogger.components.policies.network_size import LINEAR, NetworkSize
from multilogger.components.policies.networks import PolicyNetwork, network_logits
from multilogger.components.policies.policy import Standardisation


class WCRMLearner:
    """Fits every point of the grid in turn, each from W_0.

    A log on disk is read once for each value and gradient, some hundred times a point.
    """

    def __init__(self, log: LearnerLog, settings: WcrmSettings, seed: int) -> None:
        self.settings, self.outputs = settings, log.space.size
        self.standardisation = Standardisation.of(log.x, settings.standardise)
        self.x = self.standardisation(log.x)
        generator = torch.Generator().manual_seed(seed)
        self.network = PolicyNetwork(log.features, log.space.size, LINEAR, generator)
        self.measure = open_measure(log, WEIGHTED, rules_of(settings))
        self.start = self._start(generator)
        wide = torch.cat([self.x.double(), torch.ones(log.contexts, 1, dtype=torch.float64)], dim=1)
        self.objective = open_objective(log, wide, self.measure.loss_shift(), self.start)
        self.shares = self.measure.counts / self.measure.counts.sum()
        grid = itertools.product(self._clips(), settings.wcrm_variances, settings.wcrm_l2s)
        self.grid = [GridPoint(*point) for point in grid]
        self.fitted = 0

    def _clips(self) -> list[float]:
        """The cuts to try; one of 0 stands for POEM's own, which the log says."""
        clips = self.settings.wcrm_clips
        return [clip or propensity_ratio(self.measure.log_propensities()) for clip in clips]

    def _start(self, generator: torch.Generator) -> Matrix:
        """W_0: (d + 1, q)."""
        warm = warm_start_of(self.measure, len(self.x), self.settings)
        if not warm.warm_start:
            return np.zeros((self.x.shape[1] + 1, self.outputs))
        clone_best_logger(self.network, self.x, self.measure, warm, generator)
        layer = self.network.layers[0].state_dict()
        return torch.cat([layer["weight"].T, layer["bias"][None]]).double().numpy()

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
        where a moving objective would spoil the line search. It is that of weights cut at `clip`, the same
        for all points, so that they differ in nothing but what the grid names.
        """
        point = self.grid[self.fitted]
        weights: Vector = self.start.ravel()
        for _ in range(self.settings.wcrm_rounds):
            self._take(weights)
            self.shares = self.snapshot().shares()
            weights = self._minimise(weights, point)
        self._take(weights)
        self.fitted += 1

    def _minimise(self, start: Vector, point: GridPoint) -> Vector:
        from scipy.optimize import minimize

        counts = self.measure.counts
        factors = counts.sum() * self.shares / counts

        def value_and_gradient(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            found = self.objective(flat.reshape(-1, self.outputs), factors, point)
            return found.value, found.gradient.ravel()

        result = minimize(
            value_and_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.settings.wcrm_iterations},
        )
        return np.asarray(result.x, dtype=np.float64)

    def _take(self, weights: Vector) -> None:
        """Put weights of (d + 1, q) numbers into the linear network."""
        table = torch.from_numpy(weights.reshape(-1, self.outputs))
        layer = self.network.layers[0]
        layer.load_state_dict({"weight": table[:-1].T.float(), "bias": table[-1].float()})

    def record(self, epoch: int) -> EpochRecord:
        return self.measure.record(epoch, self.snapshot(), self.shares)

    def snapshot(self) -> Snapshot:
        return self.measure.snapshot(network_logits(self.network, self.x))

    def state(self) -> State:
        return module_state(self.network).under("network") | State(numbers={"fitted": self.fitted})

    def restore(self, state: State) -> None:
        self.network.load_state_dict(state.below("network").tensors)
        self.fitted = int(state.numbers["fitted"])
