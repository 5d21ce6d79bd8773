"""The one door between learners and their log: what they ask of it, wherever its rows are.

`memory_source.py` answers from rows in memory, `streamed_source.py` from a log on disk.
"""

from typing import Protocol

import torch
from torch import Tensor

from multilogger.components.learners.additive_figures import AdditiveView
from multilogger.components.learners.dr_view import DoublyRobustView
from multilogger.components.learners.exact_batches import ExactSource
from multilogger.components.learners.gauge_draws import Draws
from multilogger.components.learners.measure import Measure
from multilogger.components.learners.memory_source import MemorySource
from multilogger.components.learners.objectives import Objective
from multilogger.components.learners.row_batches import RowSource
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.streamed_log import LearnerLog, StreamedLog
from multilogger.components.learners.streamed_source import StreamedSource
from multilogger.components.learners.wcrm_objective import WCRMObjective
from multilogger.components.policies import Matrix


class Source(Protocol):
    """A log under one objective. Orders follow from the generator, on disk from the seed as well."""

    @property
    def measure(self) -> Measure:
        """What is measured of policies."""

    def rows(self, seed: int, generator: torch.Generator) -> RowSource:
        """Mini-batches for a risk."""

    def contexts(self, seed: int, generator: torch.Generator) -> ExactSource:
        """Mini-batches for a risk and an exact divergence."""

    def draws(self) -> Draws:
        """Samples for a gauge."""

    def additive(self) -> AdditiveView:
        """What an additive loss model is fitted to, and its figures."""

    def doubly_robust(self, seed: int, generator: torch.Generator) -> DoublyRobustView:
        """What doubly robust learning needs beside its additive model."""

    def wcrm(self, wide: Tensor, start: Matrix) -> WCRMObjective:
        """The WCRM objective, of contexts with a column of 1 (m, d + 1) and W_0 (d + 1, q)."""


def open_source(log: LearnerLog, objective: Objective, settings: LearnerSettings) -> Source:
    if isinstance(log, StreamedLog):
        return StreamedSource(log, objective, settings)
    return MemorySource(log, objective, settings)
