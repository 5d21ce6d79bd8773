"""Keys of rows, ids and features: those of contexts are pinned, for they decide the side of a split."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from multilogger.components.errors import BadInput
from multilogger.components.log.keys import feature_keys, id_keys, row_keys

WHOLE = (pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64())


@pytest.mark.parametrize(
    ("ids", "keys"),
    [
        (pa.array([-5, 7, 2**62]), [1635312068028924514, 7191089600892374487, 47939714376772075]),
        (pa.array(["a", "é"]), [13950350942979735504, 16908809132758853863]),
        (pa.array(["x", "y"]).dictionary_encode(), [7869353157402288317, 14845550277258909838]),
        (pa.array([1.5, -0.0]), [11123337222389435084, 10344252130726373871]),
        (pa.array([True, False]), [10943959787098231763, 2318731665674288243]),
    ],
)
def test_keys_of_ids_stay_as_they_are(ids: Any, keys: list[int]) -> None:
    assert id_keys(ids, "ids").tolist() == keys


def test_keys_of_rows_stay_as_they_are() -> None:
    assert row_keys("f.parquet", np.arange(2)).tolist() == [12310040358430341283, 4773283941251523286]


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers_have_one_key_in_every_kind(kind: Any) -> None:
    assert id_keys(pa.array([3], kind), "ids") == id_keys(pa.array([3]), "ids")


def test_ids_may_fill_all_64_bits() -> None:
    ids = pa.array([0, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64())
    assert len(np.unique(id_keys(ids, "ids"))) == 4


@pytest.mark.parametrize("ids", [pa.array([[1]]), pa.array([{"a": 1}]), pa.array([b"\xff"])])
def test_ids_that_are_no_text_are_told(ids: Any) -> None:
    with pytest.raises(BadInput, match=r"^column 'v' must hold one id per row, got .*; cast it$"):
        id_keys(ids, "column 'v'")


def test_equal_features_have_equal_keys() -> None:
    x = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    kept = sparse.csr_array((np.array([0.0, 1, 1, 1, 1]), [0, 1, 1, 0, 1], [0, 2, 3, 4, 5]), shape=(4, 2))
    for keys in (feature_keys(x), feature_keys(kept)):
        assert keys[0] == keys[1] == keys[3] != keys[2]
