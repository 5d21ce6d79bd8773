"""A log as the additive loss model and its policies need it, in memory or on disk."""

from dataclasses import dataclass

from multilogger.components.learners.additive_figures import AdditiveFigures, MemoryFigures, StreamedFigures
from multilogger.components.learners.additive_rows import AdditiveRows, GroupedRows
from multilogger.components.learners.context_moments import ContextMoments
from multilogger.components.learners.measure import Measure
from multilogger.components.learners.memory_measure import MemoryMeasure
from multilogger.components.learners.objectives import Objective
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.streamed_log import LearnerLog, StreamedLog
from multilogger.components.learners.streamed_measure import StreamedMeasure


@dataclass(frozen=True)
class AdditiveView:
    """What is measured of policies, what the model is fitted to, and what is measured of the model."""

    measure: Measure
    rows: AdditiveRows
    figures: AdditiveFigures


def open_additive_view(log: LearnerLog, objective: Objective, settings: LearnerSettings) -> AdditiveView:
    if isinstance(log, StreamedLog):
        moments = ContextMoments(log)
        return AdditiveView(StreamedMeasure(log, objective, settings), moments, StreamedFigures(log, moments))
    measure = MemoryMeasure(log, objective, settings)
    figures = MemoryFigures(measure.train, measure.validation)
    return AdditiveView(measure, GroupedRows(measure.train), figures)
