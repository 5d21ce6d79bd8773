"""A long log in parts says what it says in memory, whoever works on the parts."""

from dataclasses import astuple
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks import long_log
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.evaluation import PolicyEvaluation
from multilogger.components.evaluation.loss_models.registry import DrModel
from multilogger.components.log.files import open_log_files
from multilogger.components.log.parts import log_parts, mapper
from multilogger.components.long_log import summing
from multilogger.flows.evaluation import evaluate

ROWS = 6000


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of contexts with four rows each, in row groups of 500; and a policy."""
    folder = tmp_path_factory.mktemp("long")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_log, "BATCH", 500)
        patch.setattr(long_log, "FILE_ROWS", 2200)
        long_log.write_log(folder / "log", ROWS, 4)
    long_log.write_policy(folder / "policy")
    return folder


def altered(place: Path, name: str, drop: str | None = None, contexts: int | None = None) -> Path:
    """The same log without a column, or with few contexts."""
    folder = place / name
    if not folder.exists():
        folder.mkdir()
        for path in sorted((place / "log").glob("*.parquet")):
            table = pq.read_table(path)
            if drop is not None:
                table = table.drop_columns([drop])
            if contexts is not None:
                few = np.asarray(table["context"]) % contexts
                table = table.set_column(0, "context", [few.astype(str)])
            pq.write_table(table, folder / path.name, row_group_size=500)
    return folder


def evaluated(
    place: Path, log: Path, monkeypatch: pytest.MonkeyPatch, long: bool, workers: int = 1, **where: Any
) -> PolicyEvaluation:
    monkeypatch.setattr(evaluate, "LONG_ROWS", 0 if long else ROWS)
    monkeypatch.setattr(summing, "PART_ROWS", 1100)
    options = evaluate.EvaluateOptions(
        str(place / "policy"), log, bootstrap=400, track=False, workers=workers, **where
    )
    return evaluate.evaluate_on_logs(options).result


@pytest.mark.parametrize("change", [None, "context", "log_propensities"])
def test_parts_say_what_memory_says(place: Path, change: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the resamples, and `dr`, whose model has other folds."""
    log = place / "log" if change is None else altered(place, f"without-{change}", drop=change)
    short, long = (evaluated(place, log, monkeypatch, way) for way in (False, True))
    assert (long.rows, long.contexts, long.clip) == (short.rows, short.contexts, short.clip)
    for mine, theirs in zip(long.estimates, short.estimates, strict=True):
        near = 0.2 * theirs.standard_error if mine.name == "dr" else 1e-12
        assert mine.value == pytest.approx(theirs.value, rel=0, abs=near), mine.name
        assert mine.standard_error == pytest.approx(theirs.standard_error, rel=0.15)
        assert mine.effective_rows == pytest.approx(theirs.effective_rows, rel=1e-9)
        assert (mine.bernstein is None) == (theirs.bernstein is None)
        if mine.bernstein is not None and theirs.bernstein is not None:
            assert mine.bernstein.high == pytest.approx(theirs.bernstein.high, rel=1e-9)
    for soft, theirs_soft in zip(long.smoothed, short.smoothed, strict=True):
        assert soft.name == theirs_soft.name
        assert astuple(soft)[1:] == pytest.approx(astuple(theirs_soft)[1:], rel=1e-9)
    for one, other in zip(long.loggers, short.loggers, strict=True):
        assert astuple(one)[1:] == pytest.approx(astuple(other)[1:], rel=1e-9)
    assert long.warnings == short.warnings


def test_smrdr_has_its_weights_in_parts_too(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model: dict[str, Any] = {"dr_model": DrModel.SMRDR}
    short, long = (evaluated(place, place / "log", monkeypatch, way, **model) for way in (False, True))
    mine, theirs = (next(row for row in one.estimates if row.name == "dr") for one in (long, short))
    assert mine.value == pytest.approx(theirs.value, rel=0, abs=0.3 * theirs.standard_error)
    assert mine.standard_error == pytest.approx(theirs.standard_error, rel=0.15)
    bare = altered(place, "without-all", drop="log_propensities")
    for way in (False, True):
        with pytest.raises(BadInput, match="'smrdr' of dr needs the propensities of each action under every"):
            evaluated(place, bare, monkeypatch, way, **model)


def test_words_for_contexts_and_too_few_of_them(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = altered(place, "few", contexts=12)
    short, long = (evaluated(place, log, monkeypatch, way) for way in (False, True))
    assert (long.contexts, long.recommendation) == (12, short.recommendation)
    assert long.warnings == short.warnings


def test_two_workers_give_the_same_bits(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (evaluated(place, place / "log", monkeypatch, True, workers) for workers in (1, 2))
    assert one == two


def test_dask_gives_the_same_bits_whether_or_not_it_shares_our_disk(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster of an address is not known to share it; one without contexts needs no disk."""
    bare = altered(place, "without-context", drop="context")
    here = [evaluated(place, log, monkeypatch, True) for log in (place / "log", bare)]
    ours = evaluated(place, place / "log", monkeypatch, True, 2, runner="dask")
    assert ours == here[0]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        where = {"runner": "dask", "address": cluster.scheduler_address}
        theirs = [evaluated(place, log, monkeypatch, True, 2, **where) for log in (place / "log", bare)]
    assert theirs == here


def test_parts_have_every_row_once(place: Path) -> None:
    files = open_log_files(place / "log", contexts_given=False)
    parts = log_parts(files, 1100)
    assert [part.first for part in parts] == np.r_[0, np.cumsum([part.rows for part in parts])][:-1].tolist()
    assert max(part.rows for part in parts) <= 1100
    rows = [
        (b.where, row) for part in parts for b in part.batches(files, ["delta"]) for row in b.rows.tolist()
    ]
    assert len(rows) == len(set(rows)) == ROWS
    assert rows == [(b.where, row) for b in files.batches(["delta"]) for row in b.rows.tolist()]


def test_results_come_in_order() -> None:
    with mapper(2) as work:
        assert list(work(abs, range(-9, 0))) == list(range(9, 0, -1))


def test_a_log_whose_losses_never_vary_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = place / "constant"
    folder.mkdir()
    table = pq.read_table(place / "log")
    pq.write_table(table.set_column(3, "delta", [np.ones(ROWS)]), folder / "a.parquet", row_group_size=900)
    with pytest.raises(BadInput, match="the losses of all rows are 1; losses that never vary"):
        evaluated(place, folder, monkeypatch, True)
