"""`dr`, doubly robust learning: an estimate that a model of the loss makes steady and weights keep honest.

R_dr(h) = mean_i [ E_{y ~ h} q(x_i, y) + a_i w_i (delta_i - q(x_i, y_i)) ],  w = min(h / h_avg, clip),

or h / h_j, with q the additive model or a free-form one, fitted without the row's own fold of contexts. Not
in the paper.
"""

import dataclasses
import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from multilogger.components.doubly_robust import (
    ModelledLoss,
    balanced_rows,
    doubly_robust_risk,
    influence_values,
)
from multilogger.components.ensemble_network import EnsembleNetwork
from multilogger.components.importance import WeightRule, importance_weights
from multilogger.components.lambda_star import LoggerStats, lambda_star, plain_divergence, update_stats
from multilogger.components.learners.additive import squared_error
from multilogger.components.learners.additive_model import (
    AdditiveModel,
    additive_loss,
    expected_additive_loss,
)
from multilogger.components.learners.context_rows import ContextRows
from multilogger.components.learners.epoch_record import EpochRecord, Measure
from multilogger.components.learners.free_form_model import FreeFormModel
from multilogger.components.learners.learned_policy import Standardisation, network_logits
from multilogger.components.learners.objectives import BALANCED, WEIGHTED, floor_shares
from multilogger.components.learners.settings import LearnerSettings, Regression
from multilogger.components.learners.state import State, module_state, optimiser_state, restore_optimiser
from multilogger.components.learners.training_log import LogPart, TrainingLog
from multilogger.components.network_size import NetworkSize
from multilogger.components.networks import PolicyNetwork
from multilogger.components.policies import Matrix, Vector, marginals
from multilogger.components.torch_policies import sample

DRAWS = 4  # actions a context, for the expectation of a free-form model on whole splits


class DoublyRobustLearner:
    """First the model's epochs, then the policy's, which start from the additive policy, softened.

    The policy's first epoch is that start itself, untouched, so that a later one is only chosen if the
    validation rows say that it is better by more than `pessimism` standard errors of the difference.
    """

    def __init__(self, log: TrainingLog, settings: LearnerSettings, seed: int) -> None:
        self.settings, self.seed = settings, seed
        self.generator = torch.Generator().manual_seed(seed)
        self.standardisation = (
            Standardisation.fit(log.x) if settings.standardise else Standardisation.none(log.features)
        )
        self.x = self.standardisation(log.x)
        self.measure = Measure(log, WEIGHTED if settings.dr_weighted else BALANCED, settings)
        part = self.measure.train
        of_model = dataclasses.replace(settings, epochs=settings.model_epochs)
        self.additive = AdditiveModel(self.x, part, log.labels, of_model, self.generator)
        self.free = (
            FreeFormModel(self.additive, part, of_model, self.generator)
            if settings.regression is Regression.FREE
            else None
        )
        self.network: PolicyNetwork = EnsembleNetwork(
            [_blank(log, settings) for _ in self.additive.members], settings.sharpness
        )
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=settings.policy_rate, weight_decay=settings.weight_decay
        )
        self.rows = PolicyRows(part, settings.dr_weighted)
        self.shares = part.counts / part.counts.sum()
        self.start_influence = np.zeros(len(self.measure.validation.delta))
        self.p: Matrix | None = None
        self.done = 0

    @property
    def size(self) -> NetworkSize:
        return self.settings.policy_size

    @property
    def model_epochs(self) -> int:
        """Epochs before the policy's: those of the additive model, and as many of its correction."""
        return self.settings.model_epochs * (1 if self.free is None else 2)

    @property
    def epochs(self) -> int:
        return self.model_epochs + self.settings.epochs

    @property
    def patience(self) -> int:
        """Counts among the policy's epochs alone; the model's epochs are never the best one."""
        fitting = self.done <= self.model_epochs
        return self.epochs if fitting else self.settings.patience

    def run_epoch(self) -> None:
        if self.done < self.settings.model_epochs:
            self.additive.run_epoch()
        elif self.free is not None and self.done < self.model_epochs:
            self.free.run_epoch()
        elif self.done == self.model_epochs:
            self._start_policy()
        else:
            self._descend()
        self.done += 1

    def _start_policy(self) -> None:
        ensemble = EnsembleNetwork(self.additive.members, self.settings.sharpness)
        self.network.load_state_dict(module_state(ensemble).tensors)
        self._freeze_model()
        logits = network_logits(self.network, self.x)
        self.start_influence = self._influence(self.measure.validation, logits)

    def _freeze_model(self) -> None:
        """What the policy's epochs need of the model, which does not change any more."""
        self.p = self.additive.out_of_fold()
        part = self.measure.train
        self.rows.set_model(self.p, part.delta - self._logged(part))

    def _descend(self) -> None:
        """The policy once through the contexts of the training rows."""
        if self.settings.dr_weighted:
            self.shares = self._weighted_shares()
        factors = torch.from_numpy(
            (self.rows.count * self.shares / self.measure.train.counts).astype(np.float32)
        )
        order = torch.randperm(len(self.rows.groups.context), generator=self.generator)
        for groups in torch.split(order, self.settings.context_batch):
            if len(groups) < 2 and self.settings.batch_norm:  # no statistics of a single context
                continue
            context = self.rows.groups.context[groups]
            self.network.train()
            logits = self.network(self.x[context])
            effects = self._effects(context, logits)
            risk = self.rows.risk(groups, logits, effects, factors, self.settings.clip)
            self.optimiser.zero_grad()
            risk.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()

    def _effects(self, context: Tensor, logits: Tensor) -> Tensor | None:
        """What each label adds to a free-form correction at one drawn action, an unbiased gradient of E T."""
        if self.free is None:
            return None
        return self.free.effects(context, sample(logits, self.generator))

    def _weighted_shares(self) -> Vector:
        """n_j lambda*_j of the weighted residuals, which are what is left to estimate: (J,)."""
        part = self.measure.train
        batch = part.under(network_logits(self.network, self.x))
        weights = importance_weights(batch.log_target, batch.log_propensity, self.settings.clip)
        stats = update_stats(
            (LoggerStats(),) * batch.loggers, part.logger, weights, self.rows.residual.double().numpy()
        )
        return floor_shares(batch.counts * lambda_star(stats, plain_divergence), self.settings.lambda_floor)

    def _logged(self, part: LogPart) -> Vector:
        """q(x_i, y_i) of rows, out of fold: (n,)."""
        p = self.additive.out_of_fold() if self.p is None else self.p
        values = additive_loss(p[part.context], part.action)
        return values if self.free is None else values + self.free.corrections(part.context, part.action)

    def _modelled(self, part: LogPart, logits: Matrix) -> ModelledLoss:
        p = self.additive.out_of_fold() if self.p is None else self.p
        h = marginals(logits)
        expected = expected_additive_loss(p, h)
        if self.free is not None:
            # The same numbers each time, so that policies differ by more than their draws.
            uniforms = np.random.default_rng([self.seed, 1]).random((DRAWS, *h.shape))
            expected = expected + self.free.expected_corrections(h, uniforms)
        return ModelledLoss(self._logged(part), expected[part.context])

    def _influence(self, part: LogPart, logits: Matrix) -> Vector:
        return influence_values(
            balanced_rows(part.under(logits), self._modelled(part, logits), WeightRule(self.settings.clip))
        )

    def record(self, epoch: int) -> EpochRecord:
        """The usual record, its risks doubly robust; while the model is fitted, no epoch is eligible."""
        fitting = self.done <= self.model_epochs
        if fitting:
            self.network.load_state_dict(
                module_state(EnsembleNetwork(self.additive.members, self.settings.sharpness)).tensors
            )
        logits = network_logits(self.network, self.x)
        train, validation = self.measure.train, self.measure.validation
        rows = balanced_rows(
            validation.under(logits), self._modelled(validation, logits), WeightRule(self.settings.clip)
        )
        value = doubly_robust_risk(rows).value
        score = (
            squared_error(self.additive.out_of_fold(), train, validation)
            if fitting
            else self._score(influence_values(rows))
        )
        return dataclasses.replace(
            self.measure.record(epoch, logits, self.shares),
            train_risk=float(self._influence(train, logits).mean()),
            validation_risk=value,
            validation_score=score,
            eligible=not fitting,
        )

    def _score(self, influence: Vector) -> float:
        """The risk, and `pessimism` standard errors of what it differs from the start by."""
        difference = influence - self.start_influence
        error = float(difference.std()) / math.sqrt(len(difference))
        return float(influence.mean()) + self.settings.pessimism * error

    def state(self) -> State:
        state = module_state(self.network).under("network")
        state |= optimiser_state(self.optimiser).under("optimiser")
        state |= self.additive.state().under("additive")
        if self.free is not None:
            state |= self.free.state().under("free")
        tensors = {
            "generator": self.generator.get_state(),
            "start": torch.from_numpy(self.start_influence.copy()),
            "shares": torch.from_numpy(self.shares.copy()),
        }
        return state | State(tensors, {"done": self.done})

    def restore(self, state: State) -> None:
        self.network.load_state_dict(state.below("network").tensors)
        restore_optimiser(self.optimiser, state.below("optimiser"))
        self.additive.restore(state.below("additive"))
        if self.free is not None:
            self.free.restore(state.below("free"))
        self.generator.set_state(state.tensors["generator"])
        self.start_influence = state.tensors["start"].numpy()
        self.shares = state.tensors["shares"].numpy()
        self.done = int(state.numbers["done"])
        if self.done > self.model_epochs:
            self._freeze_model()


class PolicyRows:
    """The training rows as the policy's objective reads them, gathered by context."""

    def __init__(self, part: LogPart, weighted: bool) -> None:
        self.groups = ContextRows.of(part.context)
        action = torch.from_numpy(part.action.astype(np.float32))
        denominator = part.log_propensity if weighted else part.log_average
        self.signs = self.groups.gather(2.0 * action - 1.0)
        self.log_denominator = self.groups.gather(torch.from_numpy(denominator.astype(np.float32)))
        self.logger = self.groups.gather(torch.from_numpy(part.logger))
        self.count = len(part.delta)
        self.residual = torch.zeros(self.count)
        self.grouped = self.groups.gather(self.residual)
        self.p = torch.zeros(0)

    def set_model(self, p: Matrix, residual: Vector) -> None:
        """The additive part p (m, q) of the model, and delta - q(x, y) of each row (n,)."""
        self.p = torch.from_numpy(p.astype(np.float32))
        self.residual = torch.from_numpy(residual.astype(np.float32))
        self.grouped = self.groups.gather(self.residual)

    def risk(
        self, groups: Tensor, logits: Tensor, effects: Tensor | None, factors: Tensor, clip: float
    ) -> Tensor:
        """R_dr of the rows of some groups; `factors` (J,): n lambda_j, `effects` (g, q): of a correction."""
        p, h = self.p[self.groups.context[groups]], torch.sigmoid(logits)
        slopes = 1.0 - 2.0 * p if effects is None else 1.0 - 2.0 * p + effects
        modelled = (p + h * slopes).sum(dim=1)
        present = self.groups.present[groups]
        log_target = logsigmoid(self.signs[groups] * logits.unsqueeze(1)).sum(dim=2)
        weights = torch.exp((log_target - self.log_denominator[groups]).clamp_max(math.log(clip)))
        corrected = factors[self.logger[groups]] * weights * self.grouped[groups] * present
        total = (modelled * present.sum(dim=1)).sum() + corrected.sum()
        return total / present.sum()


def _blank(log: TrainingLog, settings: LearnerSettings) -> PolicyNetwork:
    """A network whose numbers come when the policy starts; it draws from a generator of its own."""
    return PolicyNetwork(log.features, log.labels, settings.policy_size, torch.Generator().manual_seed(0))
