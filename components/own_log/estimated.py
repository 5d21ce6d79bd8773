"""What files say of propensities that were not logged but estimated: `BanditLog.to_parquet` writes it."""

import numpy as np

from multilogger.components.log.schema import ESTIMATED
from multilogger.components.own_log.source import OpenSource


def estimated_share(source: OpenSource) -> float:
    """The share of the propensities under every logger that is estimated; 0 where files do not say."""
    import pyarrow as pa

    if ESTIMATED not in source.names:
        return 0.0
    kind = source.kind(ESTIMATED)
    if not pa.types.is_nested(kind) or not pa.types.is_boolean(kind.value_type):
        return 0.0
    found = [
        rows.column(ESTIMATED, ESTIMATED).combine_chunks().flatten().to_numpy(zero_copy_only=False)
        for rows in source.batches([ESTIMATED])
    ]
    return float(sum(np.sum(part) for part in found) / max(sum(map(len, found)), 1))


def estimated_line(share: float) -> str:
    """What a reader of any figure has to know."""
    return (
        f"{share:.1%} of the propensities under every logger are estimated, not logged: every figure that "
        "weighs rows rests on estimates, and its interval does not know their error"
    )
