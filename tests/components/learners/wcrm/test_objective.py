"""POEM's own cut of weights, from the propensities of a log."""

import math
from dataclasses import replace

import numpy as np
import pytest

from multilogger.components.learners.training.objectives import WEIGHTED
from multilogger.components.learners.training.row_measures import MemoryMeasure, StreamedMeasure
from multilogger.components.learners.wcrm.objective import propensity_ratio
from multilogger.components.learners.wcrm.wcrm import WCRMLearner
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog
from tests.components.every_setting import EverySetting


def test_ratio_of_the_outer_quantiles() -> None:
    propensities = np.geomspace(0.001, 1.0, 1001)
    expected = math.exp(0.8 * math.log(1000.0))
    assert propensity_ratio([np.log(propensities)]) == pytest.approx(expected, rel=0.02)
    assert propensity_ratio(np.array_split(np.log(propensities), 7)) == propensity_ratio(
        [np.log(propensities)]
    )
    assert propensity_ratio([np.full(5, -3.0)]) == 1.0


def test_a_clip_of_0_is_the_log_s_own_in_memory_and_on_disk(
    log: TrainingLog, streamed: StreamedLog, quick: EverySetting
) -> None:
    settings = replace(quick, wcrm_clips=(0.0, 7.0))
    measures = (
        MemoryMeasure(log, WEIGHTED, settings.rules),
        StreamedMeasure(streamed, WEIGHTED, settings.rules),
    )
    ratios = [propensity_ratio(measure.log_propensities()) for measure in measures]
    assert ratios[0] == ratios[1] > 1.5
    clips = {point.clip for point in WCRMLearner(log, settings, 0).grid}
    assert clips == {ratios[0], 7.0}
