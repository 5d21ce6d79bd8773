"""The loss model of a log, whatever its actions are, and what is measured of it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.space import ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.learners.loss_models.additive import AdditiveModel
from multilogger.components.learners.loss_models.additive_rows import (
    AdditiveRows,
    ContextMoments,
    GroupedRows,
)
from multilogger.components.learners.loss_models.blend import BlendedModel
from multilogger.components.learners.loss_models.choice import ChoiceModel, ContestedModel, choice_model
from multilogger.components.learners.loss_models.ensemble import LossEnsemble
from multilogger.components.learners.loss_models.figures import LossFigures, MemoryFigures, StreamedFigures
from multilogger.components.learners.loss_models.form import FORMS
from multilogger.components.learners.loss_models.pair_sums import PairRows, PairSums
from multilogger.components.learners.loss_models.settings import FitSize, LossModelSettings, Start
from multilogger.components.learners.loss_models.starts import StartingPoint, begin, plans_of, too_large
from multilogger.components.learners.loss_models.truth import LabelsModel, TruthFigures
from multilogger.components.log.disk import Chunk, LearnerLog, StreamedLog
from multilogger.components.log.memory import SideRows
from multilogger.components.policies.policy import Standardisation


class LossModelView(NamedTuple):
    """What a loss model is fitted to, its figures, and how to make it."""

    rows: Any
    figures: LossFigures
    build: Callable[..., LossEnsemble]
    space: ActionSpace
    best_logits: Matrix | None = None
    rows_of_context: float = 1.0


def open_loss_model(log: LearnerLog, truth: bool = False, every_row: bool = False) -> LossModelView:
    """What the loss model of a log's action space is fitted to; of a log on disk one pass sums it up.

    With `truth` it is fitted to the right actions, and still measured on the rows. With `every_row` it is
    fitted to the validation rows too, if they are in memory: folds are of contexts, so that a row is still
    judged by a member that has not seen it.
    """
    rows = ROWS[log.space.name](log, every_row)
    form = FORMS[log.space.name]
    figures: LossFigures
    if isinstance(log, StreamedLog):
        figures = StreamedFigures(form, log, rows)
    else:
        figures = MemoryFigures(form, log.part(validation=False), log.part(validation=True))
    if truth:
        return _right_actions(log, figures)
    share = log.rows / log.contexts
    return LossModelView(rows, figures, MODELS[log.space.name], log.space, best_logger_logits(log), share)


def best_logger_logits(log: LearnerLog) -> Matrix | None:
    """The logits (m, size) of the logger with the lowest mean loss on training rows, if they are known."""
    if not log.logger_logits:
        return None
    if isinstance(log, StreamedLog):
        means = log.train.delta_sums / log.train.counts
    else:
        part = log.part(validation=False)
        means = np.bincount(part.logger, part.delta, minlength=log.loggers) / part.counts
    return log.logger_logits[int(np.argmin(means))]


def _right_actions(log: LearnerLog, figures: LossFigures) -> LossModelView:
    if log.truth is None:
        raise BadInput("full information needs the right actions, got a log without truth; fill it in")
    if log.space.action_shape:
        known = TruthFigures(figures, log.truth)
        return LossModelView(log.truth, known, LabelsModel, log.space, best_logger_logits(log))
    return LossModelView(PairSums.of_truth(log.truth), figures, ChoiceModel, log.space)


def fit_loss_model(
    view: LossModelView,
    x: Tensor,
    standardisation: Standardisation,
    settings: LossModelSettings,
    generator: torch.Generator,
) -> LossEnsemble:
    """An ensemble that is still to be fitted."""
    size = view.space.size
    around = StartingPoint(standardisation, view.space.torch, view.best_logits)
    plans = () if settings.start is Start.SCRATCH else plans_of(settings.start, around)
    if too_large(x, size):
        plans = plans[:1]
    several = len(plans) if settings.start in (Start.BEST, Start.BLEND) else 0
    race = settings.race(FitSize(len(x), x.shape[1], size, view.rows_of_context), several)
    settings = replace(settings, epochs=race.epochs)
    model = view.build(x, view.rows, size, settings, generator)
    if not plans or isinstance(model, ContestedModel):
        return model
    others = [view.build(x, view.rows, size, settings, generator, model.fold) for _ in plans[1:]]
    candidates = [model, *others]
    for candidate, plan in zip(candidates, plans, strict=True):
        begin(candidate, plan, around)
    names = [plan.name for plan in plans]
    return BlendedModel(candidates, names, view.figures.score, settings.start is Start.BLEND, race)


def _additive_rows(log: LearnerLog, every_row: bool) -> AdditiveRows:
    if isinstance(log, StreamedLog):
        return ContextMoments(log)
    return GroupedRows(log.rows_of(every_row))


def _pairs(log: LearnerLog, every_row: bool) -> PairSums:
    if isinstance(log, StreamedLog):
        return PairSums.of(map(_columns, log.chunks(validation=False)), log.space.size)
    return PairSums.of([_columns(log.rows_of(every_row))], log.space.size)


def _columns(rows: SideRows | Chunk) -> PairRows:
    return rows.context, rows.action, rows.delta


ROWS: dict[str, Callable[[LearnerLog, bool], Any]] = {"labels": _additive_rows, "one-of": _pairs}
MODELS: dict[str, Callable[..., LossEnsemble]] = {"labels": AdditiveModel, "one-of": choice_model}
"""By the name of the action space."""
