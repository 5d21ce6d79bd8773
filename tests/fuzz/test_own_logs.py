"""Odd files and columns as a person's own log: `learn --logs` and `check` take them or say why not."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import multilogger as ml
from multilogger.components.checks.disk.log_on_disk import check_files
from multilogger.components.errors import BadInput
from multilogger.components.features.columns import UnseenValues
from multilogger.flows.cli.log_options import log_settings
from multilogger.flows.evaluation.evaluate import EvaluateOptions, evaluate_on_logs
from multilogger.flows.pipelines.settings import checked_settings
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.own_log.import_log import import_log
from multilogger.tasks.own_log.import_settings import ImportLogSettings
from tests.fuzz.columns import odd_column
from tests.fuzz.doors import ODD, damaged, knock, odd

ROWS = 60
NAMED = {"action": "item", "reward": "click", "propensity": "pscore", "logger": "policy"}


def shop() -> dict[str, Any]:
    """Words, numbers, booleans, times and gaps; three actions of two loggers."""
    rng = np.random.default_rng(0)
    return {
        "item": rng.choice(["jam", "pie", "tea"], ROWS).tolist(),
        "click": (rng.random(ROWS) < 0.5).astype(float).tolist(),
        "pscore": [0.3 if i % 3 else None for i in range(ROWS)],
        "policy": ["ab"[i % 2] for i in range(ROWS)],
        "user_age": [float(i) if i % 7 else None for i in range(ROWS)],
        "user_city": [f"c{i % 5}" for i in range(ROWS)],
        "user_member": [bool(i % 2) for i in range(ROWS)],
        "at": pd.date_range("2026-01-01", periods=ROWS, freq="h").to_list(),
        "visit": list(range(ROWS)),
    }


def settings_of(path: Path, rng: np.random.Generator) -> ImportLogSettings:
    """The usual columns, some of them by an odd name, and one of the three splits."""
    given: dict[str, Any] = {**NAMED, "features": "user_*,at", "logs": str(path), "dataset": "shop"}
    if rng.random() < 0.3:
        given |= {"context": "visit"}
    if rng.random() < 0.3:
        given |= {"split_by": "time", "time": "at"}
    if rng.random() < 0.1:
        given[list(NAMED)[rng.integers(0, len(NAMED))]] = str(odd(rng))
    settings = checked_settings("import-log", given)
    assert isinstance(settings, ImportLogSettings)
    return settings


def look_and_import(path: Path, folder: Path, rng: np.random.Generator) -> None:
    settings = settings_of(path, rng)
    source = settings.open()
    look = rng.random() < 0.5
    if look:
        check_files(source, settings.wanted, settings.stated(source))
        return
    folder.mkdir(exist_ok=True)
    built = ImportLogSettings.build(settings.model_dump())
    import_log.call(built, {}, StageRun(folder))


def test_own_parquet(tmp_path: Path) -> None:
    path = tmp_path / "shop.parquet"

    def own_parquet(rng: np.random.Generator) -> None:
        known = shop()
        name = list(known)[rng.integers(0, len(known))]
        pq.write_table(pa.table({**known, name: odd_column(ROWS, rng)}), path)
        if rng.random() < 0.2:
            path.write_bytes(damaged(path.read_bytes(), rng))
        look_and_import(path, tmp_path / "made", rng)

    knock(own_parquet)


def test_own_log_to_judge_by(tmp_path: Path) -> None:
    """A policy that encodes columns, on files in which one of them is odd."""
    path, policy = tmp_path / "shop.parquet", tmp_path / "policy"
    features = ["user_age", "user_city", "user_member", "at"]
    frame = pd.DataFrame({**shop(), "pscore": 0.3})
    log = ml.BanditLog.from_pandas(
        frame, action="item", reward="click", propensity="pscore", logger="policy", features=features
    )
    ml.Naive(epochs=1, hidden=(4,), seed=0).fit(log).save(policy)

    def own_log_to_judge_by(rng: np.random.Generator) -> None:
        known = {**shop(), "pscore": [0.3] * ROWS}
        name = list(known)[rng.integers(0, len(known))]
        pq.write_table(pa.table({**known, name: odd_column(ROWS, rng)}), path)
        named = {**NAMED, "features": features} | ({"context": "visit"} if rng.random() < 0.3 else {})
        settings = log_settings(str(path), named)
        out = tmp_path / "out"
        options = EvaluateOptions(
            str(policy), path, out, bootstrap=100, track=False, log=settings, mapped=True
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenValues)
            evaluate_on_logs(options)

    knock(own_log_to_judge_by)


def test_own_csv(tmp_path: Path) -> None:
    path = tmp_path / "shop.csv"
    whole = pd.DataFrame(shop()).to_csv(index=False).encode()

    def own_csv(rng: np.random.Generator) -> None:
        content = damaged(whole, rng)
        if rng.random() < 0.3:
            content = content.replace(b"tea", repr(odd(rng)).encode(errors="replace"), 3)
        path.write_bytes(content)
        look_and_import(path, tmp_path / "made", rng)

    knock(own_csv)


def test_mapping_files(tmp_path: Path) -> None:
    """What --columns names: TOML and YAML of any content."""
    log = tmp_path / "shop.parquet"
    pq.write_table(pa.table(shop()), log)
    toml = "".join(f'{name} = "{column}"\n' for name, column in NAMED.items()) + 'features = ["user_*"]\n'
    yaml = "".join(f"{name}: {column}\n" for name, column in NAMED.items()) + "features: [user_age]\n"

    def mapping_file(rng: np.random.Generator) -> None:
        suffix, text = (("toml", toml), ("yaml", yaml))[rng.integers(0, 2)]
        path = tmp_path / f"columns.{suffix}"
        content = damaged(text.encode(), rng)
        if rng.random() < 0.5:
            name = [*NAMED, "features", "test_share", "max_loss", "name"][rng.integers(0, len(NAMED) + 4)]
            sign = "=" if suffix == "toml" else ":"
            value = ODD[rng.integers(0, len(ODD))]
            content = f"{name} {sign} {value!r}\n".encode(errors="replace")
        path.write_bytes(content)
        settings = log_settings(str(log), {"columns": path})
        source = settings.open()
        check_files(source, settings.wanted, settings.stated(source))

    knock(mapping_file)


def test_the_whole_log_is_taken(tmp_path: Path) -> None:
    """Else nothing above would be of the log's oddness."""
    path = tmp_path / "shop.parquet"
    pq.write_table(pa.table(shop()), path)
    given = {**NAMED, "features": "user_*,at", "logs": str(path), "dataset": "shop"}
    (tmp_path / "made").mkdir()
    import_log.call(ImportLogSettings.build(given), {}, StageRun(tmp_path / "made"))
    with pytest.raises(BadInput, match="no column 'clicks'"):
        ImportLogSettings.build({**given, "reward": "clicks"})
