"""All that learners ask of a log on disk."""

import torch
from torch import Tensor

from multilogger.components.errors import BadInput
from multilogger.components.learners.additive_figures import AdditiveView, StreamedFigures
from multilogger.components.learners.context_moments import ContextMoments
from multilogger.components.learners.dr_view import DoublyRobustView
from multilogger.components.learners.exact_batches import StreamedContexts
from multilogger.components.learners.free_form_rows import StreamedFreeFormRows
from multilogger.components.learners.gauge_draws import CountedDraws
from multilogger.components.learners.gauges import float_logits
from multilogger.components.learners.influence import StreamedInfluence
from multilogger.components.learners.objectives import Objective
from multilogger.components.learners.policy_rows import StreamedPolicyRows
from multilogger.components.learners.row_batches import StreamedRows
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.streamed_log import StreamedLog
from multilogger.components.learners.streamed_measure import StreamedMeasure
from multilogger.components.learners.wcrm_objective import StreamedObjective
from multilogger.components.policies import Matrix


class StreamedSource:
    """The `Source` of `sources.py`."""

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

    def additive(self) -> AdditiveView:
        moments = ContextMoments(self._log)
        return AdditiveView(moments, StreamedFigures(self._log, moments))

    def doubly_robust(self, seed: int, generator: torch.Generator) -> DoublyRobustView:
        rows = self.rows(seed, generator)
        return DoublyRobustView(
            free=StreamedFreeFormRows(self._log, rows),
            policy=StreamedPolicyRows(self._log, rows, self._settings),
            influence=StreamedInfluence(self._log, self._settings.clip),
            generator=generator,
            streamed=rows,
        )

    def wcrm(self, wide: Tensor, start: Matrix) -> StreamedObjective:
        return StreamedObjective(wide, self._log, self.measure.loss_shift(), start)
