"""replay as a plain function on a folder."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from multilogger.components.actions.labels import log_probability
from multilogger.components.errors import BadInput
from multilogger.components.log.files import open_log_files
from multilogger.components.log.reading import read_training_log
from multilogger.components.loggers.replay import SplitBy
from multilogger.tasks.dataset_files import load_train
from multilogger.tasks.engine.artifact import Artifact, manifest_of
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.replay import LOG_FOLDER, ReplaySettings, load_summary, replay
from multilogger.tasks.train_loggers import TrainLoggersSettings, load_loggers, train_loggers
from tests.tasks.conftest import make


def test_replay_log_is_complete_and_true(tmp_path: Path, digits: Artifact) -> None:
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(), data=digits)
    log = make(tmp_path, replay, ReplaySettings(passes=(2, 3), seed=4), data=digits, loggers=loggers)
    table = open_log_files(log.folder / LOG_FOLDER, contexts_given=True).dataset.to_table()
    assert table.num_rows == 5 * 1257
    assert set(table.column_names) >= {"context", "action", "delta", "log_propensity", "logger", "pass"}
    own, which = np.asarray(table.column("log_propensity")), np.asarray(table.column("logger"))
    train, policies = load_train(digits), load_loggers(loggers)
    rows = read_training_log(log.folder / LOG_FOLDER, train.x)
    for k, policy in enumerate(policies):
        expected = log_probability(policy.logits(train.x)[rows.context], rows.action)
        np.testing.assert_array_equal(rows.log_propensities[:, k], expected)
        np.testing.assert_array_equal(own[which == k], expected[which == k])
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
    save_dataset(StageRun(folder), "many", LabelledData(many.x, many.y, many.space), train)
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
    rows = read_training_log(log.folder / LOG_FOLDER, load_train(digits).x)
    aside = set(rows.context[rows.validation].tolist())
    assert aside.isdisjoint(rows.context[~rows.validation].tolist())
    assert len(aside) == round(0.25 * 1257)


def test_passes_must_fit_the_loggers(tmp_path: Path, digits: Artifact) -> None:
    loggers = make(tmp_path, train_loggers, TrainLoggersSettings(), data=digits)
    with pytest.raises(BadInput, match="passes has 3 numbers for 2 loggers; give one, or one per logger"):
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
