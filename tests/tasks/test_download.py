import bz2
import http.server
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from multilogger.components.datasets.labelled_data import load_split
from multilogger.components.errors import BadInput
from multilogger.tasks.download import DownloadSettings, download
from multilogger.tasks.engine.artifact import sha256_of
from multilogger.tasks.engine.stage_run import StageRun, read_json


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        return None


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A folder over HTTP, on loopback."""
    handler = partial(QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def http_mirror(real_mirror: Path) -> Iterator[str]:
    """The real files over HTTP."""
    with serving(real_mirror) as address:
        yield address


def test_embedded_dataset_needs_nothing(tmp_path: Path) -> None:
    run = StageRun(tmp_path)
    download.call(DownloadSettings(dataset="digits"), {}, run)
    assert {p.name for p in tmp_path.iterdir()} == {"train.safetensors", "test.safetensors", "dataset.json"}
    assert {m.name: m.value for m in run.metrics}["n_train"] == 1257


def test_a_class_of_each_row_is_no_label(tmp_path: Path) -> None:
    run = StageRun(tmp_path)
    download.call(DownloadSettings(dataset="digits-one-of"), {}, run)
    found = {m.name: m.value for m in run.metrics}
    assert found == {"features": 64, "actions": 10, "n_train": 1257, "n_test": 540}


def test_the_kind_of_actions_of_a_registered_dataset_is_its_own_and_no_part_of_the_key() -> None:
    chosen = DownloadSettings(dataset="digits-one-of")
    assert (chosen.actions, "actions" in chosen.identity()) == ("one-of", False)


def test_own_files_of_the_other_kind_are_other_data(wide_files: dict[str, str]) -> None:
    labels, classes = own_settings(wide_files), own_settings(wide_files, actions="one-of")
    assert download.key(labels, {}) != download.key(classes, {})
    assert "actions" not in labels.identity(), "as before there was a choice"


def test_folder_and_url_give_the_same_files(tmp_path: Path, real_mirror: Path, http_mirror: str) -> None:
    for name, mirror in (("folder", str(real_mirror)), ("url", http_mirror)):
        (tmp_path / name).mkdir()
        download.call(DownloadSettings(dataset="yeast", mirror=mirror), {}, StageRun(tmp_path / name))
    files = {p.name for p in (tmp_path / "url").iterdir()}
    assert files == {"train.safetensors", "test.safetensors", "dataset.json"}
    for file in files:
        assert sha256_of(tmp_path / "url" / file) == sha256_of(tmp_path / "folder" / file)
    assert read_json(tmp_path / "url" / "dataset.json")["labels"] == 14


def test_own_files(tmp_path: Path, wide_files: dict[str, str]) -> None:
    settings = own_settings(wide_files)
    download.call(settings, {}, StageRun(tmp_path))
    train = load_split(tmp_path / "train.safetensors")
    assert train.is_sparse
    assert train.x.shape == (300, 400)
    assert set(np.unique(train.y)) == {0, 1}


def own_settings(files: dict[str, str], **changes: object) -> DownloadSettings:
    values: dict[str, object] = {
        "dataset": "wide",
        "train_path": files["--train"],
        "test_path": files["--test"],
        "features": 400,
        "labels": 5,
    }
    return DownloadSettings.model_validate(values | changes)


def test_own_files_enter_the_key_by_content_not_by_place(tmp_path: Path, wide_files: dict[str, str]) -> None:
    copy = tmp_path / "copy.svm.bz2"
    copy.write_bytes(Path(wide_files["--train"]).read_bytes())
    original = own_settings(wide_files)
    assert download.key(own_settings(wide_files, train_path=copy), {}) == download.key(original, {})
    copy.write_bytes(copy.read_bytes() + b"x")
    assert download.key(own_settings(wide_files, train_path=copy), {}) != download.key(original, {})


def test_mirror_enters_the_key_by_content_or_address(tmp_path: Path, real_mirror: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(real_mirror, copy)
    for file in copy.rglob("*"):
        file.chmod(0o755 if file.is_dir() else 0o644)

    def key(mirror: str | None) -> str:
        return download.key(DownloadSettings(dataset="yeast", mirror=mirror), {})

    assert key(str(copy)) == key(str(real_mirror))
    assert len({key(m) for m in (None, "http://a", "http://b", str(copy))}) == 4
    before = key(str(copy))
    other = copy / "multilabel" / "yeast_train.svm.bz2"
    other.write_bytes(bz2.compress(bz2.decompress(other.read_bytes()).replace(b"0.1", b"0.2")))
    assert key(str(copy)) != before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": None}, "need all of --train, --test, --features and --labels"),
        (
            {"train_path": "/nowhere/x.svm"},
            "there is no file '/nowhere/x.svm'; --train takes an svmlight file",
        ),
        ({"features": 0}, "greater than or equal to 1"),
        ({"features": 10**19}, "less than or equal to 16777216"),
        ({"labels": 10**19}, "less than or equal to 10000"),
        ({"labels": 1_000_000}, "less than or equal to 10000"),
    ],
)
def test_incomplete_own_files_are_refused(
    wide_files: dict[str, str], changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        own_settings(wide_files, **changes)


def test_wrong_hash_is_refused(tmp_path: Path, real_mirror: Path, http_mirror: str) -> None:
    for mirror, message in ((str(real_mirror), f"expected {'0' * 64}"), (http_mirror, "expected sha256")):
        settings = DownloadSettings(dataset="yeast", mirror=mirror, train_sha256="0" * 64)
        with pytest.raises(BadInput, match=message):
            download.call(settings, {}, StageRun(tmp_path))


def test_missing_files_are_said(tmp_path: Path, http_mirror: str) -> None:
    with pytest.raises(ValidationError, match=r"the mirror has no file .*tmc2007_train.svm.bz2"):
        DownloadSettings(dataset="tmc", mirror=str(tmp_path))
    with pytest.raises(
        ValidationError, match=r"a mirror is a folder or an http\(s\) URL, without \? or #, got 'ftp://x'"
    ):
        DownloadSettings(dataset="tmc", mirror="ftp://x")
    with pytest.raises(BadInput, match=r"could not fetch http.* in 3 attempts \(HTTPError 404\)"):
        download.call(DownloadSettings(dataset="tmc", mirror=http_mirror), {}, StageRun(tmp_path))


def test_page_instead_of_a_file_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "mirror" / "multilabel"
    folder.mkdir(parents=True)
    for name in ("yeast_train.svm.bz2", "yeast_test.svm.bz2"):
        (folder / name).write_text("<html>not found</html>")
    settings = DownloadSettings(dataset="yeast", mirror=str(tmp_path / "mirror"))
    with pytest.raises(BadInput, match=r"yeast_train.svm.bz2 is not a readable multi-label svmlight file"):
        download.call(settings, {}, StageRun(tmp_path))


def test_server_that_sends_too_much_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "mirror" / "multilabel"
    folder.mkdir(parents=True)
    (folder / "emotions_train.svm.bz2").write_bytes(bytes(2_000_000))
    with serving(tmp_path / "mirror") as address:
        settings = DownloadSettings(dataset="emotions", mirror=address)
        with pytest.raises(BadInput, match=r"emotions_train.svm.bz2 is larger than 832,048 bytes"):
            download.call(settings, {}, StageRun(tmp_path))
        assert settings.identity() == settings.model_copy(update={"max_bytes": 5}).identity()
    assert not list(tmp_path.glob("tmp*"))


@pytest.mark.parametrize("line", [b"\n", b"0 1:1\n"])
def test_files_that_unpack_to_too_much_are_refused_before_anything_is_started(
    tmp_path: Path, wide_files: dict[str, str], line: bytes
) -> None:
    """A registered shape allows gigabytes where it is wide; of so few bytes no file has so many lines."""
    folder = tmp_path / "multilabel"
    folder.mkdir()
    for split in ("train", "test"):
        packed = bz2.compress(line * 1_000_000)
        (folder / f"tmc2007_{split}.svm.bz2").write_bytes(packed)
    with pytest.raises(ValidationError, match=r"has more than 43,038 lines, where tmc has 21,519 rows"):
        DownloadSettings(dataset="tmc", mirror=str(tmp_path))
    assert DownloadSettings(dataset="tmc", mirror=str(tmp_path), max_bytes=2**24).max_bytes == 2**24
    own = tmp_path / "own.bz2"
    own.write_bytes(bz2.compress(line * 5_000_001))
    with pytest.raises(ValidationError, match=r"own.bz2 has more than 5,000,000 lines"):
        own_settings(wide_files, test_path=own)
