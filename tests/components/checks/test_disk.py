"""A log on disk gives the report of the same log in memory, whatever its columns are called."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import multilogger as ml
from multilogger.components.checks.disk import context_ids, log_on_disk
from multilogger.components.checks.report import LogReport
from multilogger.components.errors import BadInput
from multilogger.components.features import row_ids
from multilogger.components.features.frames import Rows
from multilogger.components.own_log.find_source import find_source
from multilogger.components.own_log.mapping import Wanted as Columns
from tests.tasks.own_log.shop import shop_frame


def check_files(path: Path, columns: Columns) -> LogReport:
    return log_on_disk.check_files(find_source(str(path)).open(), columns)


@pytest.mark.parametrize("most", [200_000, 20])
def test_contexts_have_one_set_of_features(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, most: int
) -> None:
    """learn refuses such a log, so check has to find it; also where it remembers few of the contexts."""
    monkeypatch.setattr(context_ids, "MOST_KEYS", most)
    frame = shop_frame(600)
    frame["visit"] = rng.permutation(300)[np.arange(600) % 300]
    columns = replace(OF_SHOP, context="visit", features=("user_*", "at"))
    for name in ("user_age", "user_country", "user_member", "at"):
        frame[name] = frame[name].groupby(frame["visit"]).transform("first")
    frame.to_parquet(tmp_path / "good.parquet")
    assert "context-features" not in codes(check_files(tmp_path / "good.parquet", columns))
    frame.loc[300:, "at"] += pd.Timedelta(seconds=1)  # too little for 32 bits
    frame[:300].to_parquet(tmp_path / "bad-0.parquet")
    frame[300:].to_parquet(tmp_path / "bad-1.parquet")
    report = check_files(tmp_path / "bad-*.parquet", columns)
    found = next(one for one in report.findings if one.code == "context-features")
    assert (found.severity, report.safe) == ("unsafe", False)
    assert found.figure == 1.0
    assert "such as bad-1.parquet, row " in found.what


@pytest.mark.parametrize("missing", ["old", "nobody", "everybody"])
def test_files_and_memory_say_the_same_of_what_a_user_has(tmp_path: Path, missing: str) -> None:
    """Ids, gaps in features and propensities that were not logged; nothing is estimated unless asked."""
    frame = shop_frame(600).assign(user_id=[f"u{i}" for i in range(600)])
    frame["pscore"] = frame["pscore"].mask((frame["policy"] == missing) | (missing == "everybody"))
    frame.to_parquet(tmp_path / "log.parquet")
    names = ["user_age", "user_country", "user_member", "user_id"]
    memory = ml.BanditLog.from_pandas(
        frame, action="item_id", reward="click", propensity="pscore", logger="policy", features=names
    ).check()
    disk = check_files(tmp_path / "log.parquet", replace(OF_SHOP, features=("user_*",)))
    assert {one.line for one in memory.findings} == {one.line for one in disk.findings}
    assert {"id-features", "missing-values"} <= set(codes(disk))
    assert ("propensities-missing" in codes(memory)) == (missing != "nobody")
    assert "propensities-estimated" not in codes(memory)
    assert memory.loggers[0].propensities == pytest.approx(disk.loggers[0].propensities)


def codes(report: LogReport) -> list[str]:
    return [one.code for one in report.findings]


OF_SHOP = Columns(action=("item_id",), reward="click", propensity="pscore", logger="policy")


def frame_of(log: ml.BanditLog) -> pd.DataFrame:
    x = np.asarray(log.x)[log.context]
    return pd.DataFrame(
        {
            "policy": np.array(log.loggers)[log.logger],
            "item": np.array(["jam", "rum", "sea", "tea", "zinc"])[log.action],
            "click": 1.0 - log.loss,
            "pscore": np.exp(log.log_propensity),
            "when": (np.asarray(log.time, dtype=np.float64) * 1e6).astype("datetime64[s]"),
            **{f"user_{i}": x[:, i] for i in range(x.shape[1])},
            "user_country": np.where(x[:, 0] > 0, "at", "de"),
        }
    )


COLUMNS = Columns(
    action=("item",), reward="click", propensity="pscore", logger="policy", time="when", features=("user_*",)
)


def test_the_same_findings_from_files_and_from_memory(worlds: ModuleType, tmp_path: Path) -> None:
    kind = worlds.Kind("own", own_only=True)
    log = worlds.small_action(worlds.healthy(kind, 4))
    frame = frame_of(log)
    frame[:1000].to_parquet(tmp_path / "a.parquet")
    frame[1000:].to_parquet(tmp_path / "b.parquet")
    disk, memory = check_files(tmp_path, COLUMNS), log.check()
    wanted = [one.code for one in memory.findings]
    assert [one.code for one in disk.findings] == wanted
    assert disk.actions == ("jam", "rum", "sea", "tea", "zinc")
    for here, there in zip(disk.loggers, memory.loggers, strict=True):
        assert (here.name, here.rows) == (there.name, there.rows)
        assert np.isclose(here.mean_loss, there.mean_loss)
        assert np.allclose(here.own_weights or (), there.own_weights or ())
        assert np.allclose(here.loss_over_time, there.loss_over_time, atol=0.05)


def test_our_own_files_with_all_propensities(worlds: ModuleType, tmp_path: Path) -> None:
    for number in (0, 6, 7):
        log = worlds.healthy(worlds.KINDS[number], 4).log()
        log.to_parquet(tmp_path / f"{number}.parquet")
        disk, memory = check_files(tmp_path / f"{number}.parquet", Columns()), log.check()
        assert disk.ok, disk
        assert disk.weights == "average"
        assert np.isclose(disk.loggers[1].weights.mean_weight, memory.loggers[1].weights.mean_weight)
        assert disk.contexts == memory.contexts


def test_missing_propensities_are_told_and_what_stands_in_is_not_blamed(
    worlds: ModuleType, tmp_path: Path
) -> None:
    """A feature that tells the actions better than shares do is no fault of the log."""
    frame = frame_of(worlds.healthy(worlds.Kind("own", own_only=True), 4).log())
    item = frame["item"].astype(str)
    rng = np.random.default_rng(0)
    frame["user_kind"] = np.where(rng.random(len(frame)) < 0.5, item, rng.permutation(item))  # a hint
    columns = Columns(
        action=("item",), reward="click", propensity="pscore", logger="policy", features=("user_*",)
    )
    frame.to_parquet(tmp_path / "a.parquet")
    assert "action-not-in-propensities" in {one.code for one in check_files(tmp_path, columns).findings}
    frame.assign(pscore=np.nan).to_parquet(tmp_path / "a.parquet")
    report = check_files(tmp_path, columns)
    codes = {one.code: one.severity for one in report.findings}
    assert codes["propensities-missing"] == "mend"
    assert "action-not-in-propensities" not in codes


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (Columns(), "has no column 'action', what was done; name one of its own with --action"),
        (
            Columns(action=("item",), reward="clicks"),
            "has no column 'clicks'; did you mean 'click'? name one of its own with --reward",
        ),
        (Columns(action=("item",), features=("shop_*",)), "name it with --reward or --loss"),
        (
            Columns(action=("item",), reward="click", features=("shop_*",)),
            "is called 'shop_*' (--features), it has",
        ),
        (Columns(action=("item",), reward="item"), "column 'item' must hold numbers"),
    ],
)
def test_columns_that_are_not_there(
    worlds: ModuleType, tmp_path: Path, columns: Columns, message: str
) -> None:
    frame_of(worlds.healthy(worlds.KINDS[1], 4).log()).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(BadInput) as refusal:
        check_files(tmp_path, columns)
    assert message in str(refusal.value)


def test_an_infinite_feature_is_refused_as_by_the_import(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"action": ["a", "b"] * 50, "reward": [0, 0, 1, 1] * 25, "propensity": 0.5, "x0": 1.0}
    )
    frame.loc[7, "x0"] = -np.inf
    frame.to_parquet(tmp_path / "log.parquet")
    with pytest.raises(BadInput, match=r"log\.parquet, row 7: 'x0' is -inf, infinite or too large"):
        check_files(tmp_path, Columns())


def test_ids_of_rows_are_neither_actions_nor_features(worlds: ModuleType, tmp_path: Path) -> None:
    """Also where one of twenty comes again; numbers with a fraction and times may differ in every row."""
    frame = frame_of(worlds.healthy(worlds.KINDS[0], 4).log()).reset_index(drop=True)
    each = np.arange(len(frame))
    frame["user_word"] = [f"u{i}" for i in np.where(each % 40, each, 0)]
    frame["user_number"] = each * 1_000_003
    frame["user_seen"] = frame["when"] + pd.to_timedelta(each, unit="s")
    frame["user_visits"] = each // 2
    frame.to_parquet(tmp_path / "a.parquet")
    named = replace(COLUMNS, features=(*COLUMNS.features, "when"))
    found = {one.code: one for one in check_files(tmp_path / "a.parquet", named).findings}
    assert found["id-features"].severity == "mend"
    assert found["id-features"].what == "user_word, user_number have another value in nearly every row"
    assert "action-per-row" not in found
    report = check_files(
        tmp_path / "a.parquet", replace(COLUMNS, action=("user_word",), features=("user_0",))
    )
    assert not report.safe
    line = next(one.line for one in report.findings if one.code == "action-per-row")
    assert line.startswith(
        "2,926 different actions in 3,000 rows: nearly every row has one of its own: such a"
    )
    assert line.endswith("name the one that says what was done with --action")


def test_ids_are_counted_within_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_ids, "MOST_KEYS", 500)
    seen, twice = row_ids.RowIds(("id",)), row_ids.RowIds(("id",))
    for start in range(0, 20_000, 1000):
        ids = pa.array(np.arange(start, start + 1000))
        seen.add(Rows(pa.table({"id": ids})))
        for _ in range(2):
            twice.add(Rows(pa.table({"id": ids})))
    assert seen.shares == {"id": 1.0}
    assert not twice.shares
