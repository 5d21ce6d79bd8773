"""All that learners ask of a log in memory."""

from functools import cached_property

import torch
from torch import Tensor

from multilogger.components.learners.additive_figures import AdditiveView, MemoryFigures
from multilogger.components.learners.additive_rows import GroupedRows
from multilogger.components.learners.context_batches import SortedRows
from multilogger.components.learners.dr_view import DoublyRobustView
from multilogger.components.learners.exact_batches import MemoryContexts
from multilogger.components.learners.free_form_rows import MemoryFreeFormRows
from multilogger.components.learners.gauge_draws import MemoryDraws
from multilogger.components.learners.influence import MemoryInfluence
from multilogger.components.learners.memory_measure import MemoryMeasure
from multilogger.components.learners.objectives import Objective
from multilogger.components.learners.policy_rows import MemoryPolicyRows
from multilogger.components.learners.row_batches import MemoryRows
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.tensor_rows import TensorRows
from multilogger.components.learners.training_log import TrainingLog
from multilogger.components.learners.wcrm_objective import MemoryObjective
from multilogger.components.policies import Matrix


class MemorySource:
    """The `Source` of `sources.py`; every order follows from the generator alone."""

    def __init__(self, log: TrainingLog, objective: Objective, settings: LearnerSettings) -> None:
        self._objective, self._settings, self._contexts = objective, settings, log.contexts
        self.measure = MemoryMeasure(log, objective, settings)
        self._train, self._validation = self.measure.train, self.measure.validation

    @cached_property
    def _rows(self) -> TensorRows:
        return TensorRows.of(self._train)

    def rows(self, seed: int, generator: torch.Generator) -> MemoryRows:
        return MemoryRows(self._rows, self._objective, self._settings.batch_size, generator)

    def contexts(self, seed: int, generator: torch.Generator) -> MemoryContexts:
        rows = SortedRows.of(self._train, self._contexts)
        return MemoryContexts(rows, self._objective, self._settings.batch_size, generator)

    def draws(self) -> MemoryDraws:
        return MemoryDraws(self._rows)

    def additive(self) -> AdditiveView:
        return AdditiveView(GroupedRows(self._train), MemoryFigures(self._train, self._validation))

    def doubly_robust(self, seed: int, generator: torch.Generator) -> DoublyRobustView:
        return DoublyRobustView(
            free=MemoryFreeFormRows(self._train, self._settings, generator),
            policy=MemoryPolicyRows(self._train, self._settings, generator),
            influence=MemoryInfluence(self._train, self._validation, self._settings.clip),
            generator=generator,
        )

    def wcrm(self, wide: Tensor, start: Matrix) -> MemoryObjective:
        return MemoryObjective(wide, self._train, self.measure.loss_shift(), start)
