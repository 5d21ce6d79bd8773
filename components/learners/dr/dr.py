"""`dr`, doubly robust learning: an estimate that a model of the loss makes steady and weights keep honest.

R_dr(h) = mean_i [ E_{y ~ h} q(x_i, y) + w_i (delta_i - q(x_i, y_i)) ],  w = min(h / h_avg, clip),

with q the loss model of the action space, fitted without the row's own fold of contexts. Not in the paper.
"""

import copy
import dataclasses

import numpy as np
import torch

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.space import GREEDY
from multilogger.components.learners.dr.method import DrSettings
from multilogger.components.learners.dr.rows import PolicyBatch, open_doubly_robust
from multilogger.components.learners.loss_models.blend import BlendedModel, StartRecord
from multilogger.components.learners.loss_models.form import FoldedModel
from multilogger.components.learners.loss_models.view import fit_loss_model, open_loss_model
from multilogger.components.learners.training.network_learner import ContextLearner, open_measure
from multilogger.components.learners.training.objectives import BALANCED, rules_of
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.state import (
    State,
    module_state,
    optimiser_state,
    restore_optimiser,
)
from multilogger.components.log.disk import LearnerLog
from multilogger.components.policies.networks import PolicyNetwork, network_logits

SHARPER = (32.0, GREEDY)


class DoublyRobustLearner(ContextLearner):
    """First the model's epochs, then the policy's, which start from the additive policy, softened.

    Each member of the ensemble is a policy blind to one fold, and is judged on that fold: rows of the
    validation split may share their contexts with training rows, and would praise what is known by heart.
    The policy's first epoch is that start itself, untouched. Another policy than the greedy additive one is
    only chosen if the validation rows find it better by `pessimism` standard errors of the difference.
    Of a log on disk the policy's mini-batches are single rows, which all members but one learn from.
    """

    settings: DrSettings

    def __init__(self, log: LearnerLog, settings: DrSettings, seed: int) -> None:
        settings = settings.resolved(log.contexts)
        super().__init__(log, settings, seed)
        self.space = log.space
        self.measure = open_measure(log, BALANCED, rules_of(settings))
        self.view = open_doubly_robust(log, settings, seed, self.generator)
        model = open_loss_model(log, every_row=settings.fit_all)
        self.figures, self.rows = model.figures, self.view.policy
        of_model = dataclasses.replace(settings, epochs=settings.model_epochs)
        self.model = fit_loss_model(model, self.x, self.standardisation, of_model, self.generator)
        self.members = [self._blank(member, log) for member in self.model.members]
        self.ensemble = self.model.network(self.members, settings.sharpness)
        self.network: PolicyNetwork = self.ensemble
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=settings.policy_rate, weight_decay=settings.weight_decay
        )
        self.shares = self.measure.counts / self.measure.counts.sum()
        self.frozen: FoldedModel | None = None
        self.done = 0

    def _blank(self, member: PolicyNetwork, log: LearnerLog) -> PolicyNetwork:
        """A network whose numbers come when the policy starts; it draws from a generator of its own."""
        if isinstance(self.model, BlendedModel):
            return copy.deepcopy(member)
        own = torch.Generator().manual_seed(0)
        return PolicyNetwork(log.features, log.space.size, self.settings.policy_size, own)

    @property
    def epochs(self) -> int:
        """The model's, then the policy's."""
        return self.settings.model_epochs + self.settings.epochs

    @property
    def fitting(self) -> bool:
        """Whether the last epoch was the model's; the policy is then but the model's own."""
        return self.done <= self.settings.model_epochs

    @property
    def patience(self) -> int:
        """Counts among the policy's epochs alone; the model's epochs are never the best one."""
        return self.epochs if self.fitting else self.settings.patience

    def run_epoch(self) -> None:
        if self.done < self.settings.model_epochs:
            self.model.run_epoch()
        elif self.done == self.settings.model_epochs:
            self._start_policy()
        else:
            self._descend()
        self.done += 1

    def _start_policy(self) -> None:
        greedy = self.model.network(self.model.members, GREEDY)
        self.network.load_state_dict(module_state(greedy).tensors)
        self._freeze_model()

    def _freeze_model(self) -> None:
        """What the policy's epochs need of the model, which does not change any more."""
        self.frozen = FoldedModel(self.model.form, self.model.out_of_fold())
        self.rows.set_model(self.frozen)
        self.view.influence.start_from(self.frozen, self.space.sharpened(self.frozen.p, GREEDY))

    def _descend(self) -> None:
        """Every member, a policy of its own, once through the contexts that it may see."""
        fewest = 2 if self.settings.batch_norm else 1  # a single context has no statistics
        for batch in self.rows.epoch(self.model.fold, len(self.members)):
            if len(batch.context) >= fewest:
                self._step(batch)

    def _step(self, batch: PolicyBatch) -> None:
        member = self.members[batch.member].train()
        space = self.space.torch
        outputs = member(self.x.index_select(0, batch.context))
        logits = space.bounded(self.settings.sharpness * self.ensemble.scores(outputs))
        risk = batch.risk(logits, self.model.form, space, self.settings.clip)
        # The other members have no gradient, and the optimiser leaves them alone.
        self.optimiser.zero_grad()
        risk.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()

    def blind_logits(self) -> Matrix | None:
        """None if the model is not fitted to validation rows."""
        return self._out_of_fold(float(self.ensemble.sharpness)) if self.settings.fit_all else None

    def _out_of_fold(self, sharpness: float) -> Matrix:
        """Logits of every context by the policy that has not seen it: (m, q)."""
        return self.space.sharpened(self.model.out_of_fold(self.ensemble), sharpness)

    def record(self, epoch: int) -> EpochRecord:
        """The usual record, its risks doubly robust; while the model is fitted, no epoch is eligible."""
        model = self.frozen or FoldedModel(self.model.form, self.model.out_of_fold())
        if self.fitting:
            self.network.load_state_dict(
                module_state(self.model.network(self.model.members, self.settings.sharpness)).tensors
            )
            score = self.figures.score(model.p)
        else:
            score = self._sharpen(model)
        risks = self.view.influence.risks(model, self._out_of_fold(float(self.ensemble.sharpness)))
        snapshot = self.measure.snapshot(network_logits(self.network, self.x))
        return dataclasses.replace(
            self.measure.record(epoch, snapshot, self.shares),
            train_risk=risks.train,
            validation_risk=risks.validation,
            validation_score=score,
            eligible=not self.fitting,
        )

    def starts(self) -> tuple[StartRecord, ...]:
        """Of a loss model with several starts, what was found of each."""
        return self.model.starts() if isinstance(self.model, BlendedModel) else ()

    def blind_chances(self) -> Matrix:
        """Of the model, which no longer changes."""
        return self.model.out_of_fold()

    def _sharpen(self, model: FoldedModel) -> float:
        """Take the sharpness of the best score, and give that score; training keeps to the usual one.

        Descent leaves labels near 1/2 soft, which a sharper policy of the same network decides. The score is
        the risk, and `pessimism` standard errors of what it differs from the additive policy's by.
        """
        choices = (self.settings.sharpness, *SHARPER)
        found = self.view.influence.compare(model, [self._out_of_fold(choice) for choice in choices])
        scores = [one.risk + self.settings.pessimism * one.standard_error for one in found]
        best = int(np.argmin(scores))
        self.ensemble.sharpen(choices[best])
        return scores[best]

    def state(self) -> State:
        state = module_state(self.network).under("network")
        state |= optimiser_state(self.optimiser).under("optimiser")
        state |= self.model.state().under("additive") | self.view.state().under("rows")
        return state | State({}, {"done": self.done})

    def restore(self, state: State) -> None:
        self.network.load_state_dict(state.below("network").tensors)
        restore_optimiser(self.optimiser, state.below("optimiser"))
        self.model.restore(state.below("additive"))
        self.view.restore(state.below("rows"))
        self.frozen = None
        self.done = int(state.numbers["done"])
        if not self.fitting:
            self._freeze_model()
