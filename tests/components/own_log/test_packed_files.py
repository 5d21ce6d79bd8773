"""A compressed log of few bytes and much text is refused before it is read, at every place that takes one."""

import bz2
import gzip
import types
from pathlib import Path

import pytest
from pyarrow import fs

import multilogger as ml
from multilogger.components import unpacking
from multilogger.components.errors import BadInput
from multilogger.components.log_formats.obd import open_obd
from multilogger.components.own_log.find_source import find_source
from multilogger.components.own_log.packed_files import check_unpacked
from tests.conftest import Cli

HEAD = b"item,click,pscore,policy,age\n"
ROWS = b"jam,1,0.5,a,3\npie,0,0.5,b,4\n" * 200_000
NAMED = ["--action", "item", "--reward", "click", "--propensity", "pscore", "--logger", "policy"]
REFUSED = r"unpacks to more than [\d,]+ bytes of text, as no log of its size on disk has; .*--max-bytes N"


@pytest.fixture(autouse=True)
def little_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "FREE_BYTES", 10_000)


def packed_log(folder: Path, packer: types.ModuleType, rows: bytes = ROWS) -> Path:
    path = folder / f"shop.csv.{'gz' if packer is gzip else 'bz2'}"
    path.write_bytes(packer.compress(HEAD + rows))
    return path


@pytest.mark.parametrize("packer", [gzip, bz2])
@pytest.mark.parametrize("rows", [ROWS, b"\n" * 3_000_000, b"jam" * 3_000_000])
def test_a_log(packer: types.ModuleType, rows: bytes, tmp_path: Path) -> None:
    path = packed_log(tmp_path, packer, rows)
    with pytest.raises(BadInput, match=REFUSED):
        find_source(str(path)).open()
    with pytest.raises(BadInput, match="more than 1,000 bytes of text, the limit that was given"):
        find_source(str(path)).open(max_bytes=1000)


@pytest.mark.parametrize("packer", [gzip, bz2])
def test_what_its_size_or_the_person_allows_is_read(packer: types.ModuleType, tmp_path: Path) -> None:
    path = packed_log(tmp_path, packer)
    rows = sum(len(one) for one in find_source(str(path)).open(max_bytes=2**24).batches(["click"]))
    assert rows == 400_000
    assert find_source(str(packed_log(tmp_path, packer, ROWS[:2800]))).open().names[0] == "item"


def test_a_file_that_is_not_compressed_has_no_limit(tmp_path: Path) -> None:
    path = tmp_path / "shop.csv"
    path.write_bytes(HEAD + ROWS)
    assert find_source(str(path)).open(max_bytes=10).names[0] == "item"


def test_a_file_that_grew_is_counted_again(tmp_path: Path) -> None:
    path = packed_log(tmp_path, gzip, ROWS[:2800])
    find_source(str(path)).open()
    path.write_bytes(gzip.compress(HEAD + ROWS))
    with pytest.raises(BadInput, match=REFUSED):
        find_source(str(path)).open()


def test_another_file_system(tmp_path: Path) -> None:
    packed_log(tmp_path, gzip)
    with pytest.raises(BadInput, match=REFUSED):
        check_unpacked(["shop.csv.gz"], fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), None)


def test_text_of_vowpal_wabbit(tmp_path: Path) -> None:
    path = tmp_path / "log.vw.gz"
    path.write_bytes(gzip.compress(b"1:1:0.5 | a\n2:0:0.5 | b\n" * 100_000))
    with pytest.raises(BadInput, match=REFUSED):
        ml.BanditLog.from_vw(path)
    assert len(ml.BanditLog.from_vw(path, max_bytes=2**23)) == 200_000


@pytest.mark.parametrize("name", ["men.csv", "item_context.csv"])
def test_the_open_bandit_dataset(name: str, tmp_path: Path) -> None:
    for logger in ("bts", "random"):
        folder = tmp_path / logger / "men"
        folder.mkdir(parents=True)
        for one in ("men.csv", "item_context.csv"):
            (folder / f"{one}.gz").write_bytes(gzip.compress(b"x"))
        (folder / f"{name}.gz").write_bytes(gzip.compress(b"\n" * 3_000_000))
    with pytest.raises(BadInput, match=REFUSED):
        open_obd(tmp_path, "men")
    with pytest.raises(BadInput, match=r"has no column|cannot be read"):
        open_obd(tmp_path, "men", max_bytes=2**22)


@pytest.mark.parametrize("words", [["check"], ["learn", "--logs"], ["study", "--logs"]])
def test_commands(words: list[str], typed: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULTILOGGER_HOME", str(tmp_path / "store"))
    path = packed_log(tmp_path, gzip)
    named = [*NAMED, "--features", "age"]
    done = typed(*words, str(path), *named)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "shop.csv.gz unpacks to more than" in done.stderr


def test_the_option_of_a_command(typed: Cli, tmp_path: Path) -> None:
    rows = b"".join(b"jam,1,0.5,a,%d\npie,0,0.5,b,%d\n" % (i % 5, i % 7) for i in range(2000))
    path = packed_log(tmp_path, bz2, rows)
    refused = typed("check", str(path), *NAMED, "--features", "age", "--max-bytes", "1000")
    assert "more than 1,000 bytes of text, the limit that was given" in refused.stderr
    done = typed("check", str(path), *NAMED, "--features", "age", "--max-bytes", "1000000")
    assert done.returncode in (0, 1), done.stderr
