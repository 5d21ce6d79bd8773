"""The measure of a log, wherever its rows are."""

from multilogger.components.learners.measure import Measure
from multilogger.components.learners.memory_measure import MemoryMeasure
from multilogger.components.learners.objectives import Objective
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.streamed_log import LearnerLog, StreamedLog
from multilogger.components.learners.streamed_measure import StreamedMeasure


def open_measure(log: LearnerLog, objective: Objective, settings: LearnerSettings) -> Measure:
    """What is measured of policies under one objective."""
    if isinstance(log, StreamedLog):
        return StreamedMeasure(log, objective, settings)
    return MemoryMeasure(log, objective, settings)
