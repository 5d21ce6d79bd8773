"""A world of few contexts and one-of-K actions whose risk is known exactly."""

from dataclasses import dataclass

import numpy as np

from benchmarks.simulated_world import Kinds, Met
from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.one_of import OneOf
from multilogger.components.estimators.weights import log_mixture
from multilogger.components.evaluation.context_sums import Contexts
from multilogger.components.evaluation.loss_models.registry import DrModel
from multilogger.components.evaluation.max_weights import MaxWeights
from multilogger.components.evaluation.score_log import Scored

SPACE = OneOf(5)
KINDS = 6  # kinds of context
MAX_LOSS = 2.0

# how strongly the policy and each logger lean to the right action; below 0 is away from it
STRENGTHS = {"good": (1.6, (0.3, 1.2)), "very poor": (6.0, (-5.0, -4.5))}


@dataclass(frozen=True)
class ChoiceWorld:
    """Kinds of context of equal probability; logits (KINDS, K) of the policy and of each logger.

    The loss of action a at a kind is `mean_loss` (KINDS, K) and noise of a quarter either way.
    """

    target: Matrix
    loggers: tuple[Matrix, ...]
    mean_loss: Matrix

    @property
    def risk(self) -> float:
        """R(h) by a sum over all kinds and actions."""
        return float((SPACE.probabilities(self.target) * self.mean_loss).sum(axis=1).mean())

    def draw(
        self,
        contexts: int,
        passes: tuple[int, ...],
        rng: np.random.Generator,
        dr_model: DrModel = DrModel.RIDGE,
    ) -> Scored:
        """A log in which every logger meets the same contexts; the features of a context are its kind."""
        kinds: Kinds = rng.integers(0, KINDS, contexts)

        def losses(context: Contexts, action: Actions) -> Vector:
            noise = 0.25 * rng.choice([-1.0, 1.0], len(context))
            return np.asarray(self.mean_loss[kinds[context], action] + noise)

        met = Met(SPACE, self.target[kinds], tuple(one[kinds] for one in self.loggers), np.eye(KINDS)[kinds])
        return met.draw(passes, losses, MAX_LOSS, rng, dr_model)

    def max_weights(self, counts: Vector) -> MaxWeights:
        """The largest h/h_j of each logger, and the largest h/h_avg, by listing all actions."""
        target = SPACE.log_probability_of_all(self.target)
        tables = np.stack([SPACE.log_probability_of_all(one) for one in self.loggers], axis=-1)
        own = np.exp(target[..., None] - tables).max(axis=(0, 1))
        return MaxWeights(own, float(np.exp(target - log_mixture(tables, counts)).max()))


def make_choice_world(overlap: str, seed: int = 7) -> ChoiceWorld:
    """`good`: the policy is a mild step from its loggers; `very poor`: it goes against them."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, SPACE.size, KINDS)
    clear = np.linspace(0.3, 1.7, KINDS)[:, None]  # some kinds are easy, some hardly decided
    leaning = clear * np.eye(SPACE.size)[truth] + 0.3 * rng.normal(size=(KINDS, SPACE.size))
    mean_loss = np.where(np.eye(SPACE.size)[truth] == 1, 0.4, rng.uniform(0.8, 1.7, (KINDS, SPACE.size)))
    target, loggers = STRENGTHS[overlap]
    return ChoiceWorld(target * leaning, tuple(strength * leaning for strength in loggers), mean_loss)
