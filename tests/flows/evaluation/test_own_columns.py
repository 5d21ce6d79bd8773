"""`check` and `evaluate` of own logs: any columns, CSV and Parquet, folders, globs, a file of options."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import multilogger as ml
from multilogger.components.errors import BadInput
from multilogger.flows.cli.log_options import log_settings
from multilogger.flows.evaluation.check import check_logs
from multilogger.flows.evaluation.evaluate import Evaluated, EvaluateOptions, evaluate_on_logs
from multilogger.flows.evaluation.which_rows import ITS_OWN_ROWS

COLUMNS: dict[str, Any] = {
    "action": ["item"], "reward": "click", "propensity": "pscore", "logger": "policy", "features": ["user_*"],
}  # fmt: skip
ROWS = 400


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One log as two Parquet files, as two CSV files, and a policy that was learned from it."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "policy": np.array(["old", "new"])[rng.integers(0, 2, ROWS)],
            "item": np.array(["jam", "rum", "tea"])[rng.integers(0, 3, ROWS)],
            "click": rng.integers(0, 2, ROWS),
            "pscore": np.full(ROWS, 1 / 3),
            "user_age": rng.normal(size=ROWS),
            "user_land": np.array(["de", "fr", "it"])[rng.integers(0, 3, ROWS)],
        }
    )
    root = tmp_path_factory.mktemp("own")
    for kind in ("parquet", "csv"):
        (root / kind).mkdir()
    for part, rows in enumerate((frame[:150], frame[150:])):
        rows.to_parquet(root / "parquet" / f"{part}.parquet")
        rows.to_csv(root / "csv" / f"{part}.csv", index=False)
    (root / "shop.toml").write_text(
        f'logs = "{root}/parquet"\naction = "item"\nreward = "click"\npropensity = "pscore"\n'
        'logger = "policy"\nfeatures = ["user_*"]\n'
    )
    named = {name: value[0] if name == "action" else value for name, value in COLUMNS.items()}
    log = ml.BanditLog.from_pandas(frame, **named | {"features": ["user_age", "user_land"]})
    ml.Naive(epochs=1, hidden=(4,), seed=0).fit(log).save(root / "policy")
    return root


def evaluated(root: Path, logs: str | None, **log: Any) -> Evaluated:
    settings = log_settings(logs, log)
    return evaluate_on_logs(
        EvaluateOptions(
            policy=str(root / "policy"), logs=Path(settings.logs), log=settings, mapped=bool(log),
            bootstrap=100, validation_only=False, track=False,
        )
    )  # fmt: skip


@pytest.mark.parametrize("where", ["parquet", "parquet/?.parquet", "csv", "csv/*.csv"])
def test_every_kind_of_files_is_one_log(logs: Path, where: str) -> None:
    report = check_logs(log_settings(f"{logs}/{where}", COLUMNS))
    assert report.safe
    assert f"{ROWS} rows" in str(report)
    done, usual = evaluated(logs, f"{logs}/{where}", **COLUMNS), evaluated(logs, f"{logs}/parquet", **COLUMNS)
    assert done.result.rows == ROWS
    assert done.source.loss == "expected loss = 1 - click, lower is better"
    assert "mean loss: expected loss = 1 - click, lower is better)" in str(report)
    assert done.result.estimates == usual.result.estimates


@pytest.mark.parametrize(
    ("ages", "learned", "found"),
    [([[1.0, 2.0]] * ROWS, 1, 2), ([[]] * ROWS, 1, 0)],
    ids=["lists", "empty lists"],
)
def test_as_many_numbers_as_the_policy_learned_from(
    logs: Path, tmp_path: Path, ages: Any, learned: int, found: int
) -> None:
    table = pq.read_table(logs / "parquet")
    values = pa.array(ages, pa.list_(pa.float64()))
    place = table.column_names.index("user_age")
    pq.write_table(table.set_column(place, "user_age", values), tmp_path / "odd.parquet")
    message = f"'user_age' holds {found} numbers per row, the log of the policy had {learned}; give those"
    with pytest.raises(ml.BadInput, match=message):
        evaluated(logs, str(tmp_path / "odd.parquet"), **COLUMNS)


def test_loggers_beyond_64_bits_with_a_sign(logs: Path, tmp_path: Path) -> None:
    table = pq.read_table(logs / "parquet")
    place = table.column_names.index("policy")
    wide = pa.array(np.arange(ROWS, dtype=np.uint64) % 2 + 2**63)
    pq.write_table(table.set_column(place, "policy", wide), tmp_path / "wide.parquet")
    done = evaluated(logs, str(tmp_path / "wide.parquet"), **COLUMNS)
    assert [one.name for one in done.result.loggers] == [str(2**63), str(2**63 + 1)]


def test_a_log_that_encodes_its_columns_anew_is_refused(logs: Path, tmp_path: Path) -> None:
    """Words stand in another order there, so that its features are not those of the policy."""
    frame = pd.read_parquet(logs / "parquet").replace({"user_land": {"it": "aa"}})
    named: dict[str, Any] = {"action": "item", "reward": "click", "propensity": "pscore", "logger": "policy"}
    log = ml.BanditLog.from_pandas(frame, **named, features=["user_age", "user_land"])
    log.to_parquet(tmp_path / "anew.parquet")
    with pytest.raises(BadInput, match="as its columns were encoded anew"):
        evaluated(logs, str(tmp_path / "anew.parquet"))


def test_the_estimate_is_that_of_the_python_api(logs: Path) -> None:
    frame = pd.concat([pd.read_parquet(logs / "parquet" / f"{part}.parquet") for part in (0, 1)])
    chances = ml.load_policy(logs / "policy").predict_proba(frame)
    place = frame["item"].map({"jam": 0, "rum": 1, "tea": 2}).to_numpy()
    weights = np.asarray(chances)[np.arange(ROWS), place] / frame["pscore"].to_numpy()
    by_hand = float(np.mean(weights * (1 - frame["click"].to_numpy())))
    found = {one.name: one.value for one in evaluated(logs, f"{logs}/csv", **COLUMNS).result.estimates}
    assert found["naive"] == pytest.approx(by_hand, rel=1e-5)


def test_a_file_of_options_names_the_log_too(logs: Path) -> None:
    assert check_logs(log_settings(None, {"columns": logs / "shop.toml"})).safe
    assert evaluated(logs, None, columns=logs / "shop.toml").result.rows == ROWS


def test_under_a_policy_csv_is_held_as_parquet_is(logs: Path) -> None:
    reports = [
        str(check_logs(log_settings(f"{logs}/{where}", COLUMNS), logs / "policy"))
        for where in ("csv/*.csv", "parquet/*.parquet")
    ]
    assert reports[0] == reports[1]
    assert "the policy over the logger" in reports[0]


@pytest.mark.parametrize(
    ("where", "changed", "message"),
    [
        ("none", {}, "there is no file or folder"),
        ("csv/*.parquet", {}, "no files of Parquet or CSV"),
        (".", {}, "has both Parquet and CSV files"),
        (
            "csv",
            {"reward": "clicks"},
            "has no column 'clicks'; did you mean 'click'? name one of",
        ),
        ("csv", {"loss": "click"}, "the outcome came twice, as --reward and --loss"),
    ],
)
def test_what_cannot_be_read(logs: Path, where: str, changed: dict[str, Any], message: str) -> None:
    given = COLUMNS | changed
    for call in (check_logs, lambda settings: evaluated(logs, settings.logs, **given)):
        with pytest.raises(BadInput, match=re.escape(message)):
            call(log_settings(f"{logs}/{where}", given))


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("logged", ["none", "some", "rest in a table"])
def test_propensities_that_are_missing_are_estimated_as_python_does_it(
    logs: Path, tmp_path: Path, kind: str, logged: str
) -> None:
    frame = pd.concat([pd.read_parquet(logs / "parquet" / f"{part}.parquet") for part in (0, 1)])
    frame["pscore"] = frame["pscore"].mask((frame["policy"] == "old").to_numpy() | (logged == "none"))
    given = dict(COLUMNS)
    if logged == "none":
        frame = frame.drop(columns="pscore")
        del given["propensity"]
    if logged == "rest in a table":
        frame = frame.assign(p_new=0.3, p_old=1 / 3).drop(columns="pscore")
        frame["p_new"] = frame["p_new"].mask(frame["policy"] == "new")
        del given["propensity"]
        given["propensities"] = ["p_new", "p_old"]
    path = tmp_path / f"log.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    done = evaluated(logs, str(path), **given)
    policy = ml.load_policy(logs / "policy")
    named = {name: value[0] if name == "action" else value for name, value in given.items()}
    log = ml.BanditLog.from_pandas(frame, **named | {"features": policy.columns})
    by_hand = ml.evaluate(policy, log.estimate_propensities(seed=0), bootstrap=100)
    found = {one.name: one.value for one in done.result.estimates}
    assert found["naive"] == pytest.approx(by_hand.estimates["naive"].value, rel=1e-5)
    assert found["balanced-sn"] == pytest.approx(by_hand.estimates["balanced-sn"].value, rel=1e-5)
    assert "of the propensities under every logger are estimated" in " ".join(done.notes)


def test_estimated_propensities_are_said(logs: Path, tmp_path: Path) -> None:
    """Those of one logger are not logged; Python completes the log and writes which they are."""
    frame = pd.read_parquet(logs / "parquet" / "1.parquet")
    frame["pscore"] = frame["pscore"].mask(frame["policy"] == "old")
    named = {**COLUMNS, "action": "item", "features": ["user_age", "user_land"]}
    ml.BanditLog.from_pandas(frame, **named).estimate_propensities().to_parquet(tmp_path / "log.parquet")
    said = "of the propensities under every logger are estimated, not logged"
    assert said in str(check_logs(log_settings(str(tmp_path / "log.parquet"), {})))
    settings = log_settings(str(tmp_path / "log.parquet"), {})
    options = EvaluateOptions(
        policy=str(logs / "policy"), logs=tmp_path / "log.parquet", log=settings, bootstrap=100, track=False
    )
    assert any(said in note for note in evaluate_on_logs(options).notes)
    assert not any(said in note for note in evaluated(logs, f"{logs}/csv", **COLUMNS).notes)


def test_the_files_that_a_policy_was_learned_from_are_known_again(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the digest in the manifest of the import, which the manifest of the policy names by its key."""
    monkeypatch.setenv("MULTILOGGER_HOME", str(tmp_path))
    shutil.copytree(logs / "policy", tmp_path / "policy")
    (tmp_path / "policy" / "manifest.json").write_text('{"inputs": {"data": {"key": "abc"}}, "files": {}}')
    imported = tmp_path / "artifacts" / "import-log" / "abc" / "manifest.json"
    warned: list[bool] = []
    for digest in (log_settings(f"{logs}/parquet", COLUMNS).found_digest(), "another", None):
        imported.parent.mkdir(parents=True, exist_ok=True)
        imported.write_text(json.dumps({"settings": {"digest": digest}}))
        done = evaluated(tmp_path, f"{logs}/parquet", **COLUMNS)
        warned.append(ITS_OWN_ROWS in done.result.warnings)
    imported.unlink()
    warned.append(ITS_OWN_ROWS in evaluated(tmp_path, f"{logs}/parquet", **COLUMNS).result.warnings)
    assert warned == [True, False, False, False]


def test_no_log_is_named() -> None:
    with pytest.raises(BadInput, match="name the files of the log"):
        log_settings(None, {})
