"""Both ways in which a log reaches the learners that draw mini-batches: from memory, and from disk."""

from functools import cached_property
from typing import Protocol

import torch

from multilogger.components.errors import BadInput
from multilogger.components.learners.context_batches import SortedRows
from multilogger.components.learners.exact_batches import ExactSource, MemoryContexts, StreamedContexts
from multilogger.components.learners.gauge_draws import CountedDraws, Draws, MemoryDraws
from multilogger.components.learners.gauges import float_logits
from multilogger.components.learners.measure import Measure
from multilogger.components.learners.memory_measure import MemoryMeasure
from multilogger.components.learners.objectives import Objective
from multilogger.components.learners.row_batches import MemoryRows, RowSource, StreamedRows
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.streamed_log import LearnerLog, StreamedLog
from multilogger.components.learners.streamed_measure import StreamedMeasure
from multilogger.components.learners.tensor_rows import TensorRows
from multilogger.components.learners.training_log import TrainingLog


class Source(Protocol):
    """A log under one objective. Orders follow from the generator, on disk from the seed as well."""

    @property
    def measure(self) -> Measure: ...

    def rows(self, seed: int, generator: torch.Generator) -> RowSource: ...

    def contexts(self, seed: int, generator: torch.Generator) -> ExactSource: ...

    def draws(self) -> Draws: ...


def open_source(log: LearnerLog, objective: Objective, settings: LearnerSettings) -> Source:
    if isinstance(log, StreamedLog):
        return StreamedSource(log, objective, settings)
    return MemorySource(log, objective, settings)


def open_measure(log: LearnerLog, objective: Objective, settings: LearnerSettings) -> Measure:
    """For learners that draw no mini-batches of rows."""
    return open_source(log, objective, settings).measure


class MemorySource:
    """A log in memory."""

    def __init__(self, log: TrainingLog, objective: Objective, settings: LearnerSettings) -> None:
        self._objective, self._settings, self._contexts = objective, settings, log.contexts
        self.measure = MemoryMeasure(log, objective, settings)

    @cached_property
    def _rows(self) -> TensorRows:
        return TensorRows.of(self.measure.train)

    def rows(self, seed: int, generator: torch.Generator) -> MemoryRows:
        return MemoryRows(self._rows, self._objective, self._settings.batch_size, generator)

    def contexts(self, seed: int, generator: torch.Generator) -> MemoryContexts:
        rows = SortedRows.of(self.measure.train, self._contexts)
        return MemoryContexts(rows, self._objective, self._settings.batch_size, generator)

    def draws(self) -> MemoryDraws:
        return MemoryDraws(self._rows)


class StreamedSource:
    """A log on disk."""

    def __init__(self, log: StreamedLog, objective: Objective, settings: LearnerSettings) -> None:
        self._log, self._objective, self._settings = log, objective, settings
        self.measure = StreamedMeasure(log, objective, settings)

    def rows(self, seed: int, generator: torch.Generator) -> StreamedRows:
        return StreamedRows(self._log, self._objective, self._settings, seed)

    def contexts(self, seed: int, generator: torch.Generator) -> StreamedContexts:
        return StreamedContexts(self._log, self._objective, self._settings, seed, generator)

    def draws(self) -> CountedDraws:
        if not self._log.logger_logits:
            raise BadInput(
                f"{self._objective.name}-reg of a log on disk draws actions from the loggers' own policies, "
                "got a log without logger_logits; give their logits on all contexts, or raise memory_rows"
            )
        return CountedDraws(self._log.train_contexts, float_logits(self._log.logger_logits))
