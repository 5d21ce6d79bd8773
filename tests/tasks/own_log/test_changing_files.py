"""A log that somebody writes anew while it is read: refused, whichever pass the change falls between."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import multilogger as ml
from multilogger.components.checks.disk.log_on_disk import check_files
from multilogger.components.features.frames import Rows
from multilogger.components.own_log.source import OpenSource
from multilogger.flows.evaluation.evaluate import EvaluateOptions, evaluate_on_logs
from multilogger.flows.pipelines.settings import checked_settings
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.own_log.import_log import import_log
from multilogger.tasks.own_log.import_settings import ImportLogSettings
from tests.tasks.own_log.shop import COLUMNS, shop_frame

NAMED = {"action": "item_id", "reward": "click", "propensity": "pscore", "logger": "policy"}
CHANGED = "shop.parquet changed while they were read; run the command again when nobody writes them"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    shop_frame().to_parquet(tmp_path / "shop.parquet")
    return tmp_path / "shop.parquet"


@pytest.fixture
def replaced_after(shop: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have another log of the same columns stand there after a number of passes."""
    read = OpenSource.batches

    def after(passes: int) -> None:
        left = [passes]

        def batches(self: OpenSource, names: Any) -> Iterator[Rows]:
            yield from read(self, names)
            left[0] -= 1
            if left[0] == 0:
                other = shop.with_name("other")
                shop_frame()[::-1].to_parquet(other)
                other.replace(shop)

        monkeypatch.setattr(OpenSource, "batches", batches)

    return after


@pytest.mark.parametrize("passes", [1, 2])
def test_import(shop: Path, replaced_after: Callable[[int], None], passes: int, tmp_path: Path) -> None:
    settings = ImportLogSettings.build({**COLUMNS, "logs": str(shop)})
    (tmp_path / "made").mkdir()
    replaced_after(passes)
    with pytest.raises(ml.BadInput, match=CHANGED):
        import_log.call(settings, {}, StageRun(tmp_path / "made"))


@pytest.mark.parametrize("passes", [1, 2])
def test_check(shop: Path, replaced_after: Callable[[int], None], passes: int) -> None:
    settings = checked_settings("import-log", {**COLUMNS, "logs": str(shop)})
    assert isinstance(settings, ImportLogSettings)
    source = settings.open()
    replaced_after(passes)
    with pytest.raises(ml.BadInput, match=CHANGED):
        check_files(source, settings.wanted, settings.stated(source))


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_evaluate(shop: Path, replaced_after: Callable[[int], None], passes: int, tmp_path: Path) -> None:
    frame = shop_frame().assign(pscore=0.5)
    frame.to_parquet(shop)
    log = ml.BanditLog.from_pandas(
        frame, action="item_id", reward="click", propensity="pscore", logger="policy", features=["user_age"]
    )
    ml.Naive(epochs=1, hidden=(4,), seed=0).fit(log).save(tmp_path / "policy")
    settings = checked_settings("import-log", {**NAMED, "features": "user_age", "logs": str(shop)})
    assert isinstance(settings, ImportLogSettings)
    options = EvaluateOptions(
        str(tmp_path / "policy"), shop, tmp_path / "out", bootstrap=100, track=False, log=settings,
        mapped=True, validation_only=False,
    )  # fmt: skip
    replaced_after(passes)
    with pytest.raises(ml.BadInput, match=CHANGED):
        evaluate_on_logs(options)
