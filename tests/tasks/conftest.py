"""Stages as plain functions on a folder."""

from pathlib import Path

import pytest

from multilogger.tasks.download import DownloadSettings, download
from multilogger.tasks.engine.artifact import Artifact, manifest_of
from multilogger.tasks.engine.stage import Stage, StageSettings
from multilogger.tasks.engine.stage_run import StageRun


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
