"""Contexts that are too large to hold: the same numbers from a mapped file, or one line without room."""

import os
from typing import NamedTuple

import numpy as np
import pytest
import torch

from multilogger.components.errors import BadInput
from multilogger.components.policies import large_arrays, networks
from multilogger.components.policies.feature_scaling import BLOCK_ROWS, moments, scaled
from multilogger.components.policies.large_arrays import empty_floats
from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import PolicyNetwork, network_logits


class Disk(NamedTuple):
    """What the system says of a disk, in blocks of one byte."""

    f_bavail: int
    f_frsize: int = 1


def test_a_mapped_file_has_the_bits_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(3 * BLOCK_ROWS + 5, 7)).astype(np.float32)
    found = moments(x)
    mean, scale = found.mean.astype(np.float32), found.spread.astype(np.float32)
    held = scaled(x, mean, scale)
    assert not isinstance(held, np.memmap)
    monkeypatch.setattr(large_arrays, "LARGEST_HELD", x.nbytes - 1)
    mapped = scaled(x, mean, scale)
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(mapped, held)
    rows = torch.tensor([5, 0, 3 * BLOCK_ROWS + 4])
    assert torch.equal(torch.from_numpy(mapped).index_select(0, rows), torch.from_numpy(held)[rows])


def test_a_full_disk_is_told_unless_memory_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: Disk(100))
    assert not isinstance(empty_floats((10, 10), largest_held=0), np.memmap)
    with pytest.raises(BadInput, match=r"1,000,000,000 contexts of 1,000 features, 4000\.0 GB, fit neither"):
        empty_floats((10**9, 1000))
    with pytest.raises(BadInput, match=r"\(0\.0 GB left\); make room there, name another folder by TMPDIR"):
        empty_floats((10**9, 1000))


@pytest.mark.parametrize("batch_norm", [False, True])
def test_many_contexts_in_lots_have_the_bits_of_all_at_once(
    batch_norm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = PolicyNetwork(9, 4, NetworkSize((16,), batch_norm), torch.Generator().manual_seed(0))
    x = torch.randn(5000, 9, generator=torch.Generator().manual_seed(1))
    whole = network_logits(network, x)
    monkeypatch.setattr(networks, "WHOLE_ROWS", 2048)
    np.testing.assert_array_equal(network_logits(network, x), whole)
