"""The warm start: before it weighs anything, a policy learns to act as the best logger does, from its log.

A policy that starts uniform over q labels has a weight of about 2^-q on each row of a sharp logger, and then
learns from nothing but the rows of the loggers that are nearly uniform. A copy of the best logger starts
where weights are about 1.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.space import TorchSpace
from multilogger.components.learners.training.measure import Example, Measure
from multilogger.components.learners.training.settings import WarmStartSettings
from multilogger.components.policies.networks import PolicyNetwork

BATCH_ROWS = 500


def clone_best_logger(
    network: PolicyNetwork,
    x: Tensor,
    measure: Measure,
    settings: WarmStartSettings,
    generator: torch.Generator,
) -> None:
    """Teach a policy to act as the logger with the lowest mean loss does, at the contexts of its rows.

    From its probabilities if they are known, else from its actions.
    """
    best = int(np.argmin(measure.mean_losses()))
    if measure.loggers is None:
        clone(
            network, x, lambda: measure.logged_actions(best, BATCH_ROWS, generator), measure.space, settings
        )
    else:
        contexts = measure.contexts_of(best)
        examples = contexts, measure.space.probabilities(measure.loggers.logits_of(best)[contexts]).float()
        clone(network, x, lambda: shuffled(examples, BATCH_ROWS, generator), measure.space, settings)


def shuffled(examples: Example, batch_rows: int, generator: torch.Generator) -> Iterator[Example]:
    """Every example once, in mini-batches."""
    contexts, targets = examples
    order = torch.randperm(len(contexts), generator=generator)
    for rows in torch.tensor_split(order, max(1, len(order) // batch_rows)):
        yield contexts[rows], targets[rows]


def clone(
    network: PolicyNetwork,
    x: Tensor,
    one_pass: Callable[[], Iterator[Example]],
    space: TorchSpace,
    settings: WarmStartSettings,
) -> None:
    """Descend the cross entropy of the examples, which is least at the logger's own probabilities.

    The rate falls to 0 over the passes.
    """
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.warm_start_rate)
    slower = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, settings.warm_start)
    network.train()
    for _ in range(settings.warm_start):
        for contexts, targets in one_pass():
            if len(contexts) <= network.size.batch_norm:  # no statistics of a single row
                continue
            loss = space.cross_entropy(network(x.index_select(0, contexts)), targets)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        slower.step()
