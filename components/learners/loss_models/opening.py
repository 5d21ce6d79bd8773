"""The loss model of a log, whatever its actions are, and what is measured of it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from multilogger.components.errors import BadInput
from multilogger.components.learners.loss_models.additive import AdditiveModel
from multilogger.components.learners.loss_models.additive_rows import (
    AdditiveRows,
    ContextMoments,
    GroupedRows,
)
from multilogger.components.learners.loss_models.choice import ChoiceModel, choice_model
from multilogger.components.learners.loss_models.ensemble import LossEnsemble
from multilogger.components.learners.loss_models.figures import LossFigures, MemoryFigures, StreamedFigures
from multilogger.components.learners.loss_models.form import FORMS
from multilogger.components.learners.loss_models.pair_sums import PairSums, Rows
from multilogger.components.log.disk import Chunk, LearnerLog, StreamedLog
from multilogger.components.log.memory import LogPart


class LossModelView(NamedTuple):
    """What a loss model is fitted to, its figures, and how to make it."""

    rows: Any
    figures: LossFigures
    build: Callable[..., LossEnsemble]


def open_loss_model(log: LearnerLog, truth: bool = False) -> LossModelView:
    """What the loss model of a log's action space is fitted to; of a log on disk one pass sums it up.

    With `truth` it is fitted to the right actions, and still measured on the rows.
    """
    rows = ROWS[log.space.name](log)
    form = FORMS[log.space.name]
    figures: LossFigures
    if isinstance(log, StreamedLog):
        figures = StreamedFigures(form, log, rows)
    else:
        figures = MemoryFigures(form, log.part(validation=False), log.part(validation=True))
    if truth:
        return LossModelView(_right_actions(log), figures, ChoiceModel)
    return LossModelView(rows, figures, MODELS[log.space.name])


def _right_actions(log: LearnerLog) -> PairSums:
    if log.truth is None:
        raise BadInput("full-ensemble needs the right actions, got a log without truth; fill it in")
    return PairSums.of_truth(log.truth)


def fit_loss_model(
    view: LossModelView, x: Tensor, outputs: int, settings: Any, generator: torch.Generator
) -> LossEnsemble:
    """An ensemble that is still to be fitted."""
    return view.build(x, view.rows, outputs, settings, generator)


def _additive_rows(log: LearnerLog) -> AdditiveRows:
    if isinstance(log, StreamedLog):
        return ContextMoments(log)
    return GroupedRows(log.part(validation=False))


def _pairs(log: LearnerLog) -> PairSums:
    if isinstance(log, StreamedLog):
        return PairSums.of(map(_columns, log.chunks(validation=False)), log.space.size)
    return PairSums.of([_columns(log.part(validation=False))], log.space.size)


def _columns(rows: LogPart | Chunk) -> Rows:
    return rows.context, rows.action, rows.delta


ROWS: dict[str, Callable[[LearnerLog], Any]] = {"labels": _additive_rows, "one-of": _pairs}
MODELS: dict[str, Callable[..., LossEnsemble]] = {"labels": AdditiveModel, "one-of": choice_model}
"""By the name of the action space."""
