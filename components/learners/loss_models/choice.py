"""The loss model of one-of-K actions: the chance that each action is right, fitted to logged losses alone.

q(x, a) = 1 - p_a(x), losses scaled to [0, 1]. Not in the paper.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import log_softmax

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.torch_one_of import TorchOneOf
from multilogger.components.learners.loss_models.ensemble import LossEnsemble
from multilogger.components.learners.loss_models.form import ChoiceForm
from multilogger.components.learners.loss_models.settings import LossModelSettings
from multilogger.components.learners.training.tensor_rows import PaddedGroups
from multilogger.components.policies.networks import EnsembleNetwork, PolicyNetwork

Rows = tuple[NDArray[np.int64], Actions, Vector]
"""Context, action and loss of some rows, (n,) each."""
MERGED_PAIRS = 1_000_000  # waiting ones are summed up when there are this many


@dataclass(frozen=True)
class PairSums:
    """Rows and their summed losses for each context and action that occur together, (p,) each.

    They are all that a fit needs, however many rows there are. `squares` is the sum of all squared losses.
    """

    context: NDArray[np.int64]
    action: NDArray[np.int64]
    count: Vector
    loss: Vector
    squares: float

    @classmethod
    def of(cls, rows: Iterable[Rows], actions: int) -> "PairSums":
        """From one pass over rows in any lots."""
        kept, waiting, squares = _nothing(), [], 0.0
        for context, action, delta in rows:
            keys = context.astype(np.int64) * actions + action
            waiting.append(np.stack([keys.astype(np.float64), np.ones(len(delta)), delta]))
            squares += float(delta @ delta)
            if sum(lot.shape[1] for lot in waiting) > MERGED_PAIRS:
                kept, waiting = _merged([kept, *waiting]), []
        keys, count, loss = _merged([kept, *waiting])
        context, action = np.divmod(keys.astype(np.int64), actions)
        return cls(context, action, count, loss, squares)

    def squared_error(self, p: Matrix) -> float:
        """sum_i (delta_i - 1 + p_a)^2 over the rows, with p (m, K) at all contexts."""
        q = 1.0 - p[self.context, self.action]
        return float(self.squares - 2.0 * (q @ self.loss) + self.count @ np.square(q))


def _nothing() -> Matrix:
    return np.empty((3, 0))


def _merged(lots: Sequence[Matrix]) -> Matrix:
    """Sums by key: (3, p) of keys in ascending order, counts and losses."""
    keys, count, loss = np.concatenate(lots, axis=1)
    found, place = np.unique(keys, return_inverse=True)
    return np.stack([found, np.bincount(place, count, len(found)), np.bincount(place, loss, len(found))])


class ChoiceModel(LossEnsemble):
    """Members fitted by the likelihood of "right or wrong" of the logged actions.

    p_a(x) = softmax_a(z), as one action alone is right. A loss between 0 and 1 counts as that share of a
    wrong row.
    """

    form = ChoiceForm()

    def __init__(
        self,
        x: Tensor,
        pairs: PairSums,
        actions: int,
        settings: LossModelSettings,
        generator: torch.Generator,
        fold: Tensor | None = None,
    ) -> None:
        groups = PaddedGroups.of(pairs.context)
        super().__init__(x, groups.context, actions, settings, generator, fold)
        self.space = TorchOneOf(actions)
        self.action = groups.gather(torch.from_numpy(pairs.action))
        self.wrong = groups.gather(torch.from_numpy(pairs.loss.astype(np.float32)))
        self.right = groups.gather(torch.from_numpy((pairs.count - pairs.loss).astype(np.float32)))

    def batch_loss(self, k: int, groups: Tensor, outputs: Tensor) -> Tensor:
        """-mean_i [ (1 - delta_i) log p_a + delta_i log(1 - p_a) ] over the rows of some groups."""
        log_p = log_softmax(outputs, dim=1).gather(1, self.action[groups])
        right, wrong = self.right[groups], self.wrong[groups]
        value = right * log_p + wrong * log_complement(log_p)
        return -value.sum() / (right + wrong).sum()

    def chances(self, outputs: Tensor) -> Tensor:
        return torch.softmax(outputs, dim=1)

    def network(self, members: Sequence[PolicyNetwork], sharpness: float) -> EnsembleNetwork:
        return EnsembleNetwork(members, self.space, sharpness)


def log_complement(log_p: Tensor) -> Tensor:
    """log(1 - p) from log p, no less than at p = 1 - 1e-6."""
    return torch.log(-torch.expm1(log_p.clamp_max(-1e-6)))
