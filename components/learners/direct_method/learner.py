"""The direct method: fit a model of the loss, then take what it finds best.

No true action is ever seen; the model is fitted to the logged losses alone. `additive-soft` draws its labels,
as sharply as the validation rows can vouch for, which suits a policy whose log is to be learned from again.
"""

import dataclasses

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.space import GREEDY
from multilogger.components.learners.loss_models.blend import BlendedModel, StartRecord
from multilogger.components.learners.loss_models.settings import LossModelSettings
from multilogger.components.learners.loss_models.view import fit_loss_model, open_loss_model
from multilogger.components.learners.training.network_learner import ContextLearner, open_measure
from multilogger.components.learners.training.objectives import BALANCED, rules_of
from multilogger.components.learners.training.record import EpochRecord
from multilogger.components.learners.training.state import State
from multilogger.components.log.disk import LearnerLog
from multilogger.components.policies.networks import PolicyNetwork, network_logits

SHARPNESSES = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 16.0)  # that additive-soft chooses from


class DirectMethodLearner(ContextLearner):
    """The policy is the average of the model's members, greedy or soft.

    The epoch is the one of the best score on contexts that a member has not seen: rows of the validation
    split may share their contexts with training rows, and would praise a network that knows them by heart.
    With `truth` the model is fitted to the right actions themselves. A log on disk is read once for the sums
    that the model is fitted to, then only to measure each epoch.
    """

    settings: LossModelSettings

    def __init__(
        self, log: LearnerLog, soft: bool, settings: LossModelSettings, seed: int, truth: bool = False
    ) -> None:
        settings = settings.resolved(log.contexts)
        super().__init__(log, settings, seed)
        self.soft, self.space = soft, log.space
        view = open_loss_model(log, truth, settings.fit_all)
        self.figures = view.figures
        self.measure = open_measure(log, BALANCED, rules_of(settings))
        self.model = fit_loss_model(view, self.x, self.standardisation, settings, self.generator)
        self.ensemble = self.model.network(self.model.members, GREEDY)
        self.network: PolicyNetwork = self.ensemble

    @property
    def patience(self) -> int:
        """Candidates of a blend have their own; it ends when all of them have."""
        if isinstance(self.model, BlendedModel):
            return 0 if self.model.finished else self.epochs
        return self.settings.patience

    def run_epoch(self) -> None:
        self.model.run_epoch()

    def record(self, epoch: int) -> EpochRecord:
        """The usual record; the score is the model's own of all rows, out of fold, which needs no guard.

        `train_risk` is the model's own estimate, `validation_risk` its doubly robust correction, both of each
        member on the contexts that it has not seen: what the policy is worth on new ones, or a little more.
        """
        self.model.fill(self.ensemble)
        p = self.model.out_of_fold()
        if self.soft:
            self._soften(p)
        blind = self.space.sharpened(p, float(self.ensemble.sharpness))
        logits, counts = network_logits(self.network, self.x), self.measure.counts
        figures = self.figures.model(p, blind, self.settings.clip)
        return dataclasses.replace(
            self.measure.record(epoch, self.measure.snapshot(logits), counts / counts.sum()),
            train_risk=figures.modelled_risk,
            validation_risk=figures.corrected_risk,
            validation_score=figures.score,
            eligible=True,
        )

    def starts(self) -> tuple[StartRecord, ...]:
        """Of a loss model with several starts, what was found of each."""
        return self.model.starts() if isinstance(self.model, BlendedModel) else ()

    def blind_chances(self) -> Matrix:
        """Of the members whose policy was chosen."""
        return self.model.out_of_fold(self.ensemble)

    def blind_logits(self) -> Matrix | None:
        """None if the model is not fitted to validation rows."""
        if not self.settings.fit_all:
            return None
        return self.space.sharpened(self.blind_chances(), float(self.ensemble.sharpness))

    def _soften(self, p: Matrix) -> None:
        """The sharpness of the least risk plus `pessimism` standard errors by importance sampling.

        The sharper a policy, the fewer rows speak of it, and the larger the error.
        """
        risks = self.figures.risks([self.space.sharpened(p, sharpness) for sharpness in SHARPNESSES])
        scores = {sharpness: self.measure.score(r) for sharpness, r in zip(SHARPNESSES, risks, strict=True)}
        self.ensemble.sharpen(min(scores, key=scores.__getitem__))

    def state(self) -> State:
        return self.model.state().under("model") | State({"generator": self.generator.get_state()})

    def restore(self, state: State) -> None:
        self.model.restore(state.below("model"))
        self.generator.set_state(state.tensors["generator"])
