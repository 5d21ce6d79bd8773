"""The contexts of rows as keys of 64 bits: rows of one context have one key, and keys look random."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.errors import BadInput
from multilogger.components.evaluation.context_logits import ContextLogits
from multilogger.components.evaluation.loss_models.cross_fitting import FOLDS
from multilogger.components.log.files import ColumnBatch
from multilogger.components.log.keys import Keys, id_keys, mixed, row_keys
from multilogger.components.log.unreadable import distinct

Places = NDArray[np.int64]


def context_keys(chunk: ColumnBatch, column: str | None) -> Keys:
    """One key per context; rows of a log without contexts have one each."""
    if column is None:
        return row_keys(chunk.where, chunk.rows)
    import pyarrow as pa

    values = chunk.batch.column(column)
    if values.null_count:
        raise BadInput(f"column 'context' is missing in {values.null_count} rows; fill it in or drop them")
    if pa.types.is_nested(values.type):
        raise BadInput(f"column 'context' must hold one label per row, got {values.type}; cast it")
    if pa.types.is_floating(values.type):
        numbers = np.asarray(values).astype(np.float64)
        if gaps := int(np.isnan(numbers).sum()):
            raise BadInput(f"column 'context' is NaN in {gaps} rows; fill it in, or leave the column out")
        return mixed((numbers + 0.0).view(np.uint64))  # 0.0 and -0.0 are one
    return id_keys(values, "column 'context'")


def fold_of(keys: Keys, salt: int) -> Places:
    """The fold of each context in cross-fitting, drawn by its key: (n,)."""
    return (mixed(keys ^ np.uint64(salt)) % np.uint64(FOLDS)).astype(np.int64)


@dataclass(frozen=True)
class ContextTable:
    """Contexts that stand apart from the log: their logits, and where each label stands among them."""

    contexts: ContextLogits
    column: str

    def places(self, chunk: ColumnBatch) -> Places:
        """The place of each row's context: (n,)."""
        each = distinct(chunk.batch.column(self.column), self.column)
        labels = each.values
        found = np.array([self.contexts.place.get(label, -1) for label in labels], dtype=np.int64)
        if len(found) and found.min() < 0:
            unknown = [label for label, place in zip(labels, found, strict=True) if place < 0]
            raise BadInput(
                f"contexts of the log are not among the {len(self.contexts.place)} contexts given, the first "
                f"being {unknown[0]!r}; give all of them"
            )
        return np.asarray(found[each.place])
