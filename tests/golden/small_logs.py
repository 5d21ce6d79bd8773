"""Small logs of digits, as labels and as classes, and of pairwise, made the same way for ever."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from multilogger.components.actions.arrays import Matrix
from multilogger.components.actions.space import ActionSpace
from multilogger.components.datasets.embedded import (
    load_digits_classes,
    load_digits_split,
    load_pairwise_split,
)
from multilogger.components.datasets.labelled_data import LabelledData
from multilogger.components.datasets.losses import find_loss
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog
from multilogger.components.log.reading import open_streamed_log, read_training_log
from multilogger.components.log.schema import LogRows, log_file, log_schema, to_table
from multilogger.components.loggers.replay import ReplayPlan, SplitBy, replay_pass

LOSSES = {"digits": "hamming", "pairwise": "crowding", "digits-one-of": "zero-one"}
LOADERS = {
    "digits": load_digits_split,
    "pairwise": load_pairwise_split,
    "digits-one-of": load_digits_classes,
}
CONTEXTS, PASSES, ALPHAS = 240, (2, 3), (0.1, 1.0)


class SmallLog:
    """A log on disk with what a learner may know beside it."""

    def __init__(self, dataset: str, folder: Path) -> None:
        train = LOADERS[dataset]().train.take(np.arange(CONTEXTS))
        self._train, self._folder, self._logits = train, folder, _logger_logits(train)
        plan = ReplayPlan(seed=7, validation_share=0.3, split_by=SplitBy.ROW, batch_rows=1000)
        for logger, passes in enumerate(PASSES):
            for pass_ in range(passes):
                rows = replay_pass(
                    train.space, list(self._logits), train.y, logger, pass_, plan, find_loss(LOSSES[dataset])
                )
                _write(next(rows), train.space, folder, logger, pass_)

    def in_memory(self) -> TrainingLog:
        return read_training_log(self._folder, self._train.x, self._logits, self._train.y)

    def on_disk(self) -> StreamedLog:
        return open_streamed_log(self._folder, self._train.x, self._logits, self._train.y)


def _logger_logits(train: LabelledData) -> tuple[Matrix, ...]:
    """Linear loggers: the difference of a label's class means, with no fit whose last bits could move."""
    x = np.asarray(train.x, dtype=np.float64)
    y = train.y if train.space.action_shape else np.eye(train.space.size)[train.y]
    truth = y.astype(np.float64)
    slopes = [x[own == 1].mean(axis=0) - x[own == 0].mean(axis=0) for own in truth.T]
    scores = (x - x.mean(axis=0)) @ np.array(slopes).T
    return tuple(alpha * scores for alpha in ALPHAS)


def _write(rows: LogRows, space: ActionSpace, folder: Path, logger: int, pass_: int) -> None:
    path = log_file(folder, logger, pass_)
    path.parent.mkdir(parents=True)
    schema = log_schema(space, len(ALPHAS))
    pq.write_table(to_table(rows, schema), path, row_group_size=90)
