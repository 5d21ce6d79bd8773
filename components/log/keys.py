"""Keys of 64 bits that look random: equal ids, rows of a file or rows of features have equal keys.

Keys of contexts decide on which side of a split rows go: they stay as they are from version to version.
"""

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.errors import BadInput, first_line
from multilogger.components.log.unreadable import READ_ERRORS

Keys = NDArray[np.uint64]


def mixed(numbers: NDArray[Any]) -> Keys:
    """splitmix64 of whole numbers: every bit of a key depends on every bit of the number."""
    key = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(key ^ (key >> np.uint64(31)))


def row_keys(where: str, rows: NDArray[np.int64]) -> Keys:
    """A key per row of the file `where`, by their numbers in it: (n,)."""
    file = np.uint64(zlib.crc32(where.encode())) << np.uint64(32)
    return mixed(rows.astype(np.uint64) + file)


def id_keys(ids: Any, what: str) -> Keys:
    """A key per id of an Arrow array without gaps, by the whole number or by the text of it: (n,)."""
    import pandas as pd
    import pyarrow as pa

    if pa.types.is_integer(ids.type):
        return mixed(np.asarray(ids))
    try:
        encoded = ids.cast(pa.string()).dictionary_encode()
    except READ_ERRORS as error:
        raise BadInput(
            f"{what} must hold one id per row, got {ids.type} ({first_line(error, 120)}); cast it"
        ) from error
    words = np.asarray(encoded.dictionary.to_pylist(), dtype=object)
    keys = np.asarray(pd.util.hash_array(words), dtype=np.uint64)
    return np.asarray(keys[np.asarray(encoded.indices)])


def feature_keys(x: Any) -> Keys:
    """A key per row of features (n, d), dense or sparse; equal rows have equal keys."""
    factors = mixed(np.arange(x.shape[1], dtype=np.uint64)) | np.uint64(1)
    if sparse.issparse(x):
        matrix: Any = x
        table: Any = sparse.csr_array(matrix)
        data = np.asarray(table.data, dtype=np.float32)
        bits = np.where(data != 0, mixed(data.view(np.uint32)), np.uint64(0)) * factors[table.indices]
        sums = np.r_[np.uint64(0), np.cumsum(bits, dtype=np.uint64)]
        return mixed(sums[table.indptr[1:]] - sums[table.indptr[:-1]])
    values = np.ascontiguousarray(x, dtype=np.float32) + np.float32(0)  # 0.0 and -0.0 are one
    bits = values.view(np.uint32).astype(np.uint64)
    return mixed((bits * factors).sum(axis=1, dtype=np.uint64))
