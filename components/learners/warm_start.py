"""The warm start: before it weighs anything, a policy learns to act as the best logger does, from its log.

A policy that starts uniform over q labels has a weight of about 2^-q on each row of a sharp logger, and then
learns from nothing but the rows of the loggers that are nearly uniform. A copy of the best logger starts
where weights are about 1.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from multilogger.components.learners.epoch_record import Measure
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.training_log import LogPart
from multilogger.components.networks import PolicyNetwork
from multilogger.components.torch_policies import KnownLoggers, marginals

BATCH_ROWS = 500

Example = tuple[Tensor, Tensor]
"""Contexts by number (n,), and for each the labels or their probabilities (n, q)."""


def clone_best_logger(
    network: PolicyNetwork, x: Tensor, measure: Measure, settings: LearnerSettings, generator: torch.Generator
) -> None:
    """Teach a policy to act as the logger with the lowest mean loss, from its training rows."""
    examples = examples_of(measure.train, measure.loggers)
    clone(network, x, lambda _: shuffled(examples, generator), settings)


def examples_of(part: LogPart, loggers: KnownLoggers | None) -> Example:
    """How the best logger acts at the contexts of some rows: its probabilities if known, else its actions."""
    best = int(np.argmin([part.delta[rows].mean() for rows in part.by_logger]))
    rows = part.by_logger[best]
    if loggers is None:
        return torch.from_numpy(part.context[rows]), torch.from_numpy(part.action[rows]).float()
    contexts = torch.from_numpy(np.unique(part.context[rows]))
    return contexts, marginals(loggers.logits[contexts, best]).float()


def shuffled(examples: Example, generator: torch.Generator) -> Iterator[Example]:
    """Every example once, in mini-batches."""
    contexts, targets = examples
    order = torch.randperm(len(contexts), generator=generator)
    for rows in torch.tensor_split(order, max(1, len(order) // BATCH_ROWS)):
        yield contexts[rows], targets[rows]


def clone(
    network: PolicyNetwork, x: Tensor, batches: Callable[[int], Iterator[Example]], settings: LearnerSettings
) -> None:
    """Descend the cross entropy of the examples, which is least at the logger's own probabilities.

    `batches` gives those of pass 0, 1 and so on, over which the rate falls to 0.
    """
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.warm_start_rate)
    slower = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, settings.warm_start)
    network.train()
    for number in range(settings.warm_start):
        for contexts, targets in batches(number):
            loss = binary_cross_entropy_with_logits(network(x[contexts]), targets)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        slower.step()
