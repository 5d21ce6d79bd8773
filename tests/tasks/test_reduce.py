"""reduce as a plain function on a folder."""

import re
from pathlib import Path

import numpy as np
import pytest

from multilogger.components.datasets.labelled_data import load_split
from multilogger.components.errors import BadInput
from multilogger.components.log.reading import read_training_log
from multilogger.tasks.dataset_files import load_facts, load_train
from multilogger.tasks.download import DownloadSettings, download
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.reduce import ReduceSettings, narrow_data, reduce
from multilogger.tasks.replay import LOG_FOLDER, ReplaySettings, replay
from multilogger.tasks.train_loggers import TrainLoggersSettings, train_loggers
from tests.tasks.conftest import make


def test_reduce_fits_on_train_and_leaves_a_dataset(tmp_path: Path, wide: Artifact) -> None:
    reduced = make(tmp_path, reduce, ReduceSettings(svd_dims=20), data=wide)
    assert load_facts(reduced).features == 20
    before, after = load_train(wide), load_train(reduced)
    np.testing.assert_array_equal(before.y, after.y)
    from safetensors.numpy import load_file

    axes = load_file(reduced.folder / "svd.safetensors")["axes"]
    test_before, test_after = (load_split(a.folder / "test.safetensors").x for a in (wide, reduced))
    np.testing.assert_allclose(np.asarray(test_after), np.asarray(test_before @ axes.T), atol=1e-5)
    assert (reduced.folder / "explained_variance.png").stat().st_size > 1000


def test_reduce_is_skipped_for_narrow_or_dense_data(wide: Artifact, tmp_path: Path) -> None:
    assert narrow_data(ReduceSettings(svd_dims=20), {"data": wide}) is None
    assert narrow_data(ReduceSettings(), {"data": wide}) == "400 sparse features need no reduction to 1000"
    assert narrow_data(ReduceSettings(svd_dims=80), {"data": wide}) is None
    assert narrow_data(ReduceSettings(svd_dims=81), {"data": wide}) is not None
    assert narrow_data(ReduceSettings(svd_dims=300, svd_from=400), {"data": wide}) is None
    assert narrow_data(ReduceSettings(svd_dims=300, svd_from=401), {"data": wide}) is not None
    assert narrow_data(ReduceSettings(svd_dims=400, svd_from=1), {"data": wide}) is not None
    dense = make(tmp_path, download, DownloadSettings(), "dense")
    assert (
        narrow_data(ReduceSettings(svd_dims=8), {"data": dense}) == "64 dense features need no reduction to 8"
    )


def test_fewer_labels_reach_everything_that_follows(tmp_path: Path, digits: Artifact) -> None:
    """Digits has one label in each row; of its ten classes the three that train has most of are kept."""
    before = load_train(digits)
    fewer = make(tmp_path, reduce, ReduceSettings(labels=3), data=digits)
    after, facts = load_train(fewer), load_facts(fewer)
    most = sorted(np.argsort(-before.y.sum(axis=0, dtype=int), kind="stable")[:3])
    np.testing.assert_array_equal(after.y, before.y[:, most])
    np.testing.assert_array_equal(after.x, before.x)
    assert (facts.labels, facts.features, facts.n_test) == (3, 64, 540)
    assert facts.rows_without_label == (after.y.sum(axis=1) == 0).sum() > 0
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(), data=fewer)
    log = make(tmp_path, replay, ReplaySettings(passes=(1,)), data=fewer, loggers=loggers)
    rows = read_training_log(log.folder / LOG_FOLDER, load_train(fewer).x)
    assert rows.action.shape == (2 * 1257, 3)
    assert rows.delta.max() <= 3


def test_wide_data_with_fewer_labels_is_reduced_too(tmp_path: Path, wide: Artifact) -> None:
    both = make(tmp_path, reduce, ReduceSettings(svd_dims=20, labels=2), "both", data=wide)
    svd = make(tmp_path, reduce, ReduceSettings(svd_dims=20), "svd", data=wide)
    assert (load_facts(both).features, load_facts(both).labels) == (20, 2)
    np.testing.assert_array_equal(load_train(both).x, load_train(svd).x)


def test_number_of_labels_is_skipped_refused_and_keyed(tmp_path: Path, digits: Artifact) -> None:
    inputs = {"data": digits}
    same = "64 dense features need no reduction to 1000"
    assert [narrow_data(ReduceSettings(labels=n), inputs) for n in (0, 10, 9)] == [same, same, None]
    message = re.escape("the labels kept must be at least 1 and at most all 10, got 11")
    with pytest.raises(BadInput, match=f"^{message}"):
        make(tmp_path, reduce, ReduceSettings(labels=11), data=digits)
    assert ReduceSettings().identity() == {"svd_dims": 1000, "svd_seed": 0}
    assert ReduceSettings(labels=4).identity() == {"svd_dims": 1000, "svd_seed": 0, "labels": 4}
