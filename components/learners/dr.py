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

from multilogger.components.doubly_robust import (
    ModelledLoss,
    balanced_rows,
    influence_values,
)
from multilogger.components.ensemble_network import GREEDY, LARGEST_LOGIT, EnsembleNetwork, sharpened
from multilogger.components.importance import WeightRule, importance_weights
from multilogger.components.lambda_star import LoggerStats, lambda_star, plain_divergence, update_stats
from multilogger.components.learners.additive import squared_error
from multilogger.components.learners.additive_model import (
    AdditiveModel,
    additive_loss,
    blind_probabilities,
    expected_additive_loss,
)
from multilogger.components.learners.epoch_record import EpochRecord, Measure
from multilogger.components.learners.free_form_model import FreeFormModel
from multilogger.components.learners.learned_policy import Standardisation, network_logits
from multilogger.components.learners.objectives import BALANCED, WEIGHTED, floor_shares
from multilogger.components.learners.policy_rows import PolicyRows
from multilogger.components.learners.settings import LearnerSettings, Regression
from multilogger.components.learners.state import State, module_state, optimiser_state, restore_optimiser
from multilogger.components.learners.training_log import LogPart, TrainingLog
from multilogger.components.network_size import NetworkSize
from multilogger.components.networks import PolicyNetwork
from multilogger.components.policies import Matrix, Vector, marginals
from multilogger.components.torch_policies import sample

SHARPER = (32.0, GREEDY)
DRAWS = 4  # actions a context, for the expectation of a free-form model on whole splits


class DoublyRobustLearner:
    """First the model's epochs, then the policy's, which start from the additive policy, softened.

    Each member of the ensemble is a policy blind to one fold, and is judged on that fold: rows of the
    validation split may share their contexts with training rows, and would praise what is known by heart.
    The policy's first epoch is that start itself, untouched. Another policy than the greedy additive one is
    only chosen if the validation rows find it better by `pessimism` standard errors of the difference.
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
        self.members = [_blank(log, settings) for _ in self.additive.members]
        self.ensemble = EnsembleNetwork(self.members, settings.sharpness)
        self.network: PolicyNetwork = self.ensemble
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
        greedy = EnsembleNetwork(self.additive.members, GREEDY)
        self.network.load_state_dict(module_state(greedy).tensors)
        self._freeze_model()
        self.start_influence = self._influence(self.measure.validation, self._blind_logits(GREEDY))

    def _freeze_model(self) -> None:
        """What the policy's epochs need of the model, which does not change any more."""
        self.p = self.additive.out_of_fold()
        part = self.measure.train
        self.rows.set_model(self.p, part.delta - self._logged(part))

    def _descend(self) -> None:
        """Every member, a policy of its own, once through the contexts that it may see."""
        if self.settings.dr_weighted:
            self.shares = self._weighted_shares()
        factors = torch.from_numpy(
            (self.rows.count * self.shares / self.measure.train.counts).astype(np.float32)
        )
        for k, member in enumerate(self.members):
            seen = torch.flatten(torch.nonzero(self.additive.fold[self.rows.groups.context] != k))
            order = seen[torch.randperm(len(seen), generator=self.generator)]
            member.train()
            for groups in torch.split(order, self.settings.context_batch):
                if len(groups) > 1 or not self.settings.batch_norm:  # no statistics of a single context
                    self._step(member, groups, factors)

    def _step(self, member: PolicyNetwork, groups: Tensor, factors: Tensor) -> None:
        context = self.rows.groups.context[groups]
        logits = (self.settings.sharpness * member(self.x[context])).clamp(-LARGEST_LOGIT, LARGEST_LOGIT)
        effects = self._effects(context, logits)
        risk = self.rows.risk(groups, logits, effects, factors, self.settings.clip)
        # The other members have no gradient, and the optimiser leaves them alone.
        self.optimiser.zero_grad()
        risk.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()

    def _blind_logits(self, sharpness: float) -> Matrix:
        """Logits of every context by the policy that has not seen it: (m, q)."""
        return sharpened(blind_probabilities(self.members, self.x, self.additive.fold), sharpness)

    def _effects(self, context: Tensor, logits: Tensor) -> Tensor | None:
        """What each label adds to a free-form correction at one drawn action, an unbiased gradient of E T."""
        if self.free is None:
            return None
        return self.free.effects(context, sample(logits, self.generator))

    def _weighted_shares(self) -> Vector:
        """n_j lambda*_j of the weighted residuals, which are what is left to estimate: (J,)."""
        part = self.measure.train
        batch = part.under(self._blind_logits(self.settings.sharpness))
        weights = importance_weights(batch.log_target, batch.log_propensity, self.settings.clip)
        stats = update_stats(
            (LoggerStats(),) * batch.loggers, part.logger, weights, self.rows.residual.double().numpy()
        )
        return floor_shares(batch.counts * lambda_star(stats, plain_divergence), self.settings.lambda_floor)

    def _logged(self, part: LogPart) -> Vector:
        """q(x_i, y_i) of rows, out of fold: (n,)."""
        p = self.additive.out_of_fold() if self.p is None else self.p
        values = additive_loss(p[part.context], part.action)
        if self.free is not None:
            values = values + self.free.corrections(part.context, part.action)
        return values

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
        train, validation = self.measure.train, self.measure.validation
        if fitting:
            self.network.load_state_dict(
                module_state(EnsembleNetwork(self.additive.members, self.settings.sharpness)).tensors
            )
            score = squared_error(self.additive.out_of_fold(), train, validation)
        else:
            score = self._sharpen()
        blind = self._blind_logits(float(self.ensemble.sharpness))
        look = self.measure.look(network_logits(self.network, self.x))
        return dataclasses.replace(
            self.measure.record(epoch, look, self.shares),
            train_risk=float(self._influence(train, blind).mean()),
            validation_risk=float(self._influence(validation, blind).mean()),
            validation_score=score,
            eligible=not fitting,
        )

    def _sharpen(self) -> float:
        """Take the sharpness of the best score, and give that score; training keeps to the usual one.

        Descent leaves labels near 1/2 soft, which a sharper policy of the same network decides.
        """
        scores = {}
        for sharpness in (self.settings.sharpness, *SHARPER):
            influence = self._influence(self.measure.validation, self._blind_logits(sharpness))
            scores[sharpness] = self._score(influence)
        best = min(scores, key=scores.__getitem__)
        self.ensemble.sharpen(best)
        return scores[best]

    def _score(self, influence: Vector) -> float:
        """The risk, and `pessimism` standard errors of what it differs from the additive policy's by."""
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


def _blank(log: TrainingLog, settings: LearnerSettings) -> PolicyNetwork:
    """A network whose numbers come when the policy starts; it draws from a generator of its own."""
    return PolicyNetwork(log.features, log.labels, settings.policy_size, torch.Generator().manual_seed(0))
