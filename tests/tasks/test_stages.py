"""reduce, train-loggers and replay as plain functions on a folder."""

import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from multilogger.components.actions.labels import log_probability
from multilogger.components.datasets.labelled_data import load_split
from multilogger.components.errors import BadInput
from multilogger.components.log.schema import open_log, to_rows
from multilogger.components.loggers.replay import SplitBy
from multilogger.tasks.dataset_files import load_facts, load_summary, load_train
from multilogger.tasks.download import DownloadSettings, download
from multilogger.tasks.engine.artifact import Artifact, manifest_of
from multilogger.tasks.engine.stage import Stage, StageSettings
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.reduce import ReduceSettings, narrow_data, reduce
from multilogger.tasks.replay import LOG_FOLDER, ReplaySettings, replay
from multilogger.tasks.train_loggers import TrainLoggersSettings, load_loggers, load_scores, train_loggers


def make(root: Path, stage: Stage, settings: StageSettings, name: str = "", **inputs: Artifact) -> Artifact:
    """Run a stage as a function and wrap its folder."""
    folder = root / (name or stage.name)
    folder.mkdir()
    stage.call(settings, inputs, StageRun(folder))
    return Artifact(
        stage=stage.name, key="k", path=folder.name, files=manifest_of(folder), run_id="r", root=root
    )


@pytest.fixture
def digits(tmp_path: Path) -> Artifact:
    return make(tmp_path, download, DownloadSettings())


@pytest.fixture
def wide(tmp_path: Path, wide_files: dict[str, str]) -> Artifact:
    settings = DownloadSettings(
        dataset="wide",
        train_path=Path(wide_files["--train"]),
        test_path=Path(wide_files["--test"]),
        features=400,
        labels=5,
    )
    return make(tmp_path, download, settings)


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
    rows = to_rows(open_log(log.folder / LOG_FOLDER).to_table())
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


def test_loggers_share_one_fit(tmp_path: Path, digits: Artifact) -> None:
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(alphas=(0.05, 1.0, 2.0)), data=digits)
    policies = load_loggers(loggers)
    assert [policy.alpha for policy in policies] == [0.05, 1.0, 2.0]
    np.testing.assert_array_equal(policies[0].weights, policies[2].weights)
    scores = load_scores(loggers)
    assert set(scores) == {"logger-1", "logger-2", "logger-3", "crf"}
    assert scores["logger-1"]["exp"] > scores["logger-2"]["exp"] > scores["logger-3"]["exp"]
    assert scores["crf"]["greedy"] < scores["logger-3"]["greedy"] == scores["logger-1"]["greedy"]


def test_ten_loggers_keep_their_order(tmp_path: Path, digits: Artifact) -> None:
    alphas = tuple(0.1 * (j + 1) for j in range(11))
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(alphas=alphas), data=digits)
    assert [policy.alpha for policy in load_loggers(loggers)] == list(alphas)


def test_replay_log_is_complete_and_true(tmp_path: Path, digits: Artifact) -> None:
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(), data=digits)
    log = make(tmp_path, replay, ReplaySettings(passes=(2, 3), seed=4), data=digits, loggers=loggers)
    table = open_log(log.folder / LOG_FOLDER).to_table()
    assert table.num_rows == 5 * 1257
    assert set(table.column_names) >= {"context", "action", "delta", "log_propensity", "logger", "pass"}
    rows, which = to_rows(table), np.asarray(table.column("logger"))
    train, policies = load_train(digits), load_loggers(loggers)
    for k, policy in enumerate(policies):
        expected = log_probability(policy.logits(train.x)[rows.context], rows.action)
        np.testing.assert_array_equal(rows.log_propensities[:, k], expected)
        np.testing.assert_array_equal(rows.log_propensity[which == k], expected[which == k])
    np.testing.assert_array_equal(rows.delta, (rows.action != train.y[rows.context]).sum(axis=1))
    summary = load_summary(log)
    assert summary["logger-2"] == {
        "rows": 3771, "validation_rows": 942, "mean_delta": pytest.approx(rows.delta[which == 1].mean()),
    }  # fmt: skip
    file = pq.ParquetFile(log.folder / LOG_FOLDER / "logger=1" / "pass=2" / "rows.parquet")
    assert file.schema_arrow.metadata[b"alpha"] == b"2.0"
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize("batch_rows", [100, 1000, 100_000])
def test_replay_files_do_not_depend_on_the_batch_size(
    tmp_path: Path, digits: Artifact, batch_rows: int
) -> None:
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(), data=digits)
    one = make(tmp_path, replay, ReplaySettings(), "one", data=digits, loggers=loggers)
    other = make(
        tmp_path, replay, ReplaySettings(batch_rows=batch_rows), "other", data=digits, loggers=loggers
    )
    assert one.digest == other.digest


def test_replay_row_groups_do_not_depend_on_the_batch_size(tmp_path: Path, digits: Artifact) -> None:
    """More rows than a row group, so that batches and groups end at different rows."""
    from multilogger.components.datasets.labelled_data import LabelledData
    from multilogger.tasks.dataset_files import save_dataset

    train = load_train(digits)
    many = train.take(np.arange(20_000) % train.rows)
    folder = tmp_path / "many"
    folder.mkdir()
    save_dataset(StageRun(folder), "many", LabelledData(many.x, many.y), train)
    data = Artifact(stage="s", key="k", path="many", files=manifest_of(folder), run_id="r", root=tmp_path)
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(fraction=0.01), data=data)
    logs = [
        make(tmp_path, replay, ReplaySettings(passes=(1,), batch_rows=b), f"b{b}", data=data, loggers=loggers)
        for b in (999, 8192, 16384, 50_000)
    ]
    assert len({log.digest for log in logs}) == 1
    file = pq.ParquetFile(logs[0].folder / LOG_FOLDER / "logger=0" / "pass=0" / "rows.parquet")
    assert [file.metadata.row_group(g).num_rows for g in range(2)] == [16384, 20_000 - 16384]


def test_split_by_context_reaches_the_files(tmp_path: Path, digits: Artifact) -> None:
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(), data=digits)
    settings = ReplaySettings(split_by=SplitBy.CONTEXT, passes=(2,))
    log = make(tmp_path, replay, settings, data=digits, loggers=loggers)
    rows = to_rows(open_log(log.folder / LOG_FOLDER).to_table())
    aside = set(rows.context[rows.validation].tolist())
    assert aside.isdisjoint(rows.context[~rows.validation].tolist())
    assert len(aside) == round(0.25 * 1257)


def test_passes_must_fit_the_loggers(tmp_path: Path, digits: Artifact) -> None:
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(), data=digits)
    with pytest.raises(BadInput, match="passes has 3 numbers for 2 loggers; give one, or one a logger"):
        make(tmp_path, replay, ReplaySettings(passes=(1, 2, 3)), data=digits, loggers=loggers)


def test_replay_memory_does_not_grow_with_passes(tmp_path: Path, digits: Artifact) -> None:
    import tracemalloc

    import pyarrow as pa

    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(), data=digits)
    peaks = []
    for passes in (1, 12):
        tracemalloc.start()
        settings = ReplaySettings(passes=(passes,), batch_rows=200)
        make(tmp_path, replay, settings, f"passes-{passes}", data=digits, loggers=loggers)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
    assert pa.default_memory_pool().bytes_allocated() < 1e6
