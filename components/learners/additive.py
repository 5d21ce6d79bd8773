"""`additive`, the direct method: fit the additive loss model, then take the labels that it finds most likely.

No label is ever seen; the model is fitted to the logged losses alone. `additive-soft` draws each label with
the model's probability instead, which suits a policy that is to be logged and learned from again.
"""

import dataclasses

import numpy as np
import torch

from multilogger.components.doubly_robust import ModelledLoss, balanced_doubly_robust
from multilogger.components.ensemble_network import GREEDY, EnsembleNetwork
from multilogger.components.importance import WeightRule
from multilogger.components.learners.additive_model import (
    AdditiveModel,
    additive_loss,
    expected_additive_loss,
)
from multilogger.components.learners.epoch_record import EpochRecord, Measure
from multilogger.components.learners.learned_policy import Standardisation, network_logits
from multilogger.components.learners.objectives import BALANCED
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.state import State
from multilogger.components.learners.training_log import LogPart, TrainingLog
from multilogger.components.network_size import NetworkSize
from multilogger.components.policies import Matrix, marginals


class AdditiveLearner:
    """The policy is the average of the model's members, greedy or soft.

    The epoch is the one of least squared error on contexts that a member has not seen: rows of the validation
    split may share their contexts with training rows, and would praise a network that knows them by heart.
    """

    def __init__(self, log: TrainingLog, soft: bool, settings: LearnerSettings, seed: int) -> None:
        self.settings = settings
        self.generator = torch.Generator().manual_seed(seed)
        self.standardisation = (
            Standardisation.fit(log.x) if settings.standardise else Standardisation.none(log.features)
        )
        self.x = self.standardisation(log.x)
        self.measure = Measure(log, BALANCED, settings)
        self.model = AdditiveModel(self.x, self.measure.train, log.labels, settings, self.generator)
        self.network = EnsembleNetwork(self.model.members, settings.sharpness if soft else GREEDY)

    @property
    def size(self) -> NetworkSize:
        return self.settings.policy_size

    @property
    def epochs(self) -> int:
        return self.settings.epochs

    @property
    def patience(self) -> int:
        return self.settings.patience

    def run_epoch(self) -> None:
        self.model.run_epoch()

    def record(self, epoch: int) -> EpochRecord:
        """The usual record; the score is the out-of-fold squared error of all rows, which needs no guard.

        `train_risk` is the model's own estimate, `validation_risk` its doubly robust correction.
        """
        logits, p = network_logits(self.network, self.x), self.model.out_of_fold()
        counts = self.measure.train.counts
        rule = WeightRule(self.settings.clip)
        modelled = additive_predictions(self.measure.validation, p, logits)
        risk = balanced_doubly_robust(self.measure.validation.under(logits), modelled, rule)
        return dataclasses.replace(
            self.measure.record(epoch, logits, counts / counts.sum()),
            train_risk=float(additive_predictions(self.measure.train, p, logits).q_target.mean()),
            validation_risk=risk.value,
            validation_score=squared_error(p, self.measure.train, self.measure.validation),
            eligible=True,
        )

    def state(self) -> State:
        return self.model.state().under("model") | State({"generator": self.generator.get_state()})

    def restore(self, state: State) -> None:
        self.model.restore(state.below("model"))
        self.generator.set_state(state.tensors["generator"])


def additive_predictions(part: LogPart, p: Matrix, logits: Matrix) -> ModelledLoss:
    """What the model p (m, q) says of rows, under the policy of given logits (m, q)."""
    expected = expected_additive_loss(p, marginals(logits))
    return ModelledLoss(additive_loss(p[part.context], part.action), expected[part.context])


def squared_error(p: Matrix, *parts: LogPart) -> float:
    """Mean squared error of the additive model p (m, q) over all rows of the given parts."""
    squares = [np.square(part.delta - additive_loss(p[part.context], part.action)) for part in parts]
    return float(np.concatenate(squares).mean())
