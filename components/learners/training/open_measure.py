"""The measure of a log, wherever its rows are."""

from multilogger.components.learners.training.disk_measure import StreamedMeasure
from multilogger.components.learners.training.measure import Measure
from multilogger.components.learners.training.memory_measure import MemoryMeasure
from multilogger.components.learners.training.objectives import Objective
from multilogger.components.learners.training.rules import Rules
from multilogger.components.log.disk import LearnerLog, StreamedLog


def open_measure(log: LearnerLog, objective: Objective, rules: Rules) -> Measure:
    """What is measured of policies under one objective."""
    if isinstance(log, StreamedLog):
        return StreamedMeasure(log, objective, rules)
    return MemoryMeasure(log, objective, rules)
