"""A log that stands in memory as an Arrow table, read by those who read Parquet files."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from multilogger.components.log.files import BATCH_ROWS, ColumnBatch, LogFiles


@dataclass(frozen=True)
class TableFiles(LogFiles):
    """`dataset` is an Arrow table; `base` is what messages call it."""

    @property
    def rows(self) -> int:
        return int(self.dataset.num_rows)

    @property
    def stated_loggers(self) -> set[object]:
        return set()

    def batches(self, names: list[str]) -> Iterator[ColumnBatch]:
        """The rows in batches of the size that files are read in, so that sums have the same bits."""
        chosen = self.dataset.select(names).combine_chunks()
        for start in range(0, self.rows, BATCH_ROWS):
            for batch in chosen.slice(start, BATCH_ROWS).to_batches():
                yield ColumnBatch(str(self.base), np.arange(start, start + len(batch), dtype=np.int64), batch)
