import numpy as np
import torch

from multilogger.components.learners.reg.draws import CountedDraws, MemoryDraws, float_logits
from multilogger.components.learners.training.row_batches import TensorRows
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog

DRAWN = 200_000


def frequencies(contexts: torch.Tensor, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.bincount(contexts.numpy(), minlength=count) / len(contexts)


def test_counts_draw_contexts_as_rows_do(log: TrainingLog, streamed: StreamedLog) -> None:
    rows = MemoryDraws(TensorRows.of(log.part(validation=False)))
    counted = CountedDraws(log.space.torch, streamed.train_contexts, float_logits(log.logger_logits))
    part = log.part(validation=False)
    for logger in (0, 1, None):
        own = part.context if logger is None else part.context[part.logger == logger]
        expected = np.bincount(own, minlength=log.contexts) / len(own)
        for draws in (rows, counted):
            drawn = draws.contexts(logger, DRAWN, torch.Generator().manual_seed(0))
            found = frequencies(drawn, log.contexts)
            assert (found[expected == 0] == 0).all()
            error = np.sqrt(expected * (1 - expected) / DRAWN)
            assert (np.abs(found - expected) <= 5 * error).all()


def test_drawn_actions_are_those_of_the_logger(log: TrainingLog, streamed: StreamedLog) -> None:
    draws = CountedDraws(log.space.torch, streamed.train_contexts, float_logits(log.logger_logits))
    drawn = draws.logged(1, DRAWN, torch.Generator().manual_seed(0))
    chances = torch.sigmoid(torch.from_numpy(log.logger_logits[1]))[drawn.contexts]
    assert set(drawn.actions.flatten().tolist()) == {0.0, 1.0}
    gap = (drawn.actions.double() - chances).mean(dim=0)
    assert gap.abs().max() < 5 * 0.5 / np.sqrt(DRAWN)
    assert drawn.actions.var(dim=0).min() > 0.1
