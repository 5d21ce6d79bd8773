import bz2
import contextlib
import gzip
import types
from pathlib import Path

import numpy as np
import pytest

import multilogger as ml
from multilogger.components import unpacking
from multilogger.components.datasets import svmlight
from multilogger.components.datasets.labelled_data import TrainTest, load_split, save_split
from multilogger.components.datasets.registry import DatasetSpec, find_dataset
from multilogger.components.datasets.svmlight import read_splits, read_svmlight
from multilogger.components.errors import BadInput

SPEC = DatasetSpec("tiny", features=4, labels=3)
GOOD = "0,2 1:1 2:2 3:3 4:4\n 1:0.5 2:1 3:1\n1 1:2 4:-1.5\n"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tiny.svm.bz2"
    path.write_bytes(bz2.compress(text.encode()))
    return path


def test_reads_labels_features_and_a_row_without_labels(tmp_path: Path) -> None:
    data = read_svmlight(write(tmp_path, GOOD), SPEC, 3)
    assert not data.is_sparse
    expected = np.array([[1, 2, 3, 4], [0.5, 1, 1, 0], [2, 0, 0, -1.5]])
    np.testing.assert_allclose(np.asarray(data.x, dtype=float), expected)
    np.testing.assert_array_equal(data.y, [[1, 0, 1], [0, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize("filling", ["0 1:1\n", " ", "#", "0"])
@pytest.mark.parametrize("packed", [bz2, gzip])
def test_no_more_text_is_unpacked_than_the_shape_can_need(
    tmp_path: Path, packed: types.ModuleType, filling: str
) -> None:
    """A few kilobytes can hold gigabytes, in many lines or in one."""
    spec = DatasetSpec("tiny", features=4, labels=3, n_train=2, n_test=2)
    path = tmp_path / f"tiny.{ {bz2: 'bz2', gzip: 'gz'}[packed] }"
    path.write_bytes(packed.compress(filling.encode() * 3_000_000))
    message = rf"has more than {spec.most_bytes:,} bytes of text, .* --set download.max_bytes=N"
    with pytest.raises(BadInput, match=message):
        read_svmlight(path, spec, 2)
    with pytest.raises(BadInput, match="has more than 1,000 bytes"):
        read_splits(path, path, SPEC, lambda: None, most_bytes=1000)


def test_own_files_have_the_text_of_their_size_and_rows_that_memory_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows their rows: short ones would be millions of Python objects."""
    monkeypatch.setattr(unpacking, "FREE_BYTES", 10_000)
    monkeypatch.setattr(svmlight, "MOST_ROWS", 50_000)
    rows = b"0 1:1\n" * 100_000
    files = {
        "a.svm": rows,
        "b.gz": gzip.compress(rows),
        "c.bz2": bz2.compress(rows),
        "d.gz": gzip.compress(GOOD.encode() * 50),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=r"a.svm has more than 50,000 lines, .*download.max_bytes=N"):
        read_svmlight(tmp_path / "a.svm", SPEC, None)
    for name in ("b.gz", "c.bz2"):
        with pytest.raises(
            BadInput, match=rf"{name} has more than [\d,]+ bytes of text, .*download.max_bytes=N"
        ):
            read_svmlight(tmp_path / name, SPEC, None)
    assert len(read_svmlight(tmp_path / "d.gz", SPEC, None).y) == 150
    splits = read_splits(tmp_path / "b.gz", tmp_path / "d.gz", SPEC, lambda: None, most_bytes=2**20)
    assert len(splits.train.y) == 100_000


@pytest.mark.parametrize("filling", ["\n", "0\n", "0 1:1\n", "0" + " 1:1" * 50])
def test_a_registered_file_is_counted_before_its_rows_are_read(
    tmp_path: Path, filling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wide shape allows gigabytes: what a file of this size on disk has is less, and so are its lines."""
    spec = DatasetSpec("wide", features=49_060, labels=22, n_train=21_519, n_test=7_077)
    path = tmp_path / "wide.svm.gz"
    one = gzip.compress(filling.encode() * (10_000_000 // len(filling)))
    path.write_bytes(one * 20)
    monkeypatch.setattr("sklearn.datasets.load_svmlight_file", lambda *_, **__: pytest.fail("rows were read"))
    with pytest.raises(BadInput, match=r"has more than ([\d,]+ bytes|43,038 lines).*download.max_bytes=N"):
        read_svmlight(path, spec, spec.n_train)


def test_the_limit_can_be_set_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "FREE_BYTES", 10_000)
    path = tmp_path / "b.gz"
    path.write_bytes(gzip.compress(b"0 1:1\n" * 100_000))
    with pytest.raises(BadInput, match=r"b.gz has more than [\d,]+ bytes of text, .*max_bytes=N"):
        ml.datasets.load_svmlight(path, 4, 3)
    assert ml.datasets.load_svmlight(path, 4, 3, max_bytes=2**20).rows == 100_000
    with pytest.raises(BadInput, match="max_bytes must be 1 or more, got 0"):
        ml.datasets.load_svmlight(path, 4, 3, max_bytes=0)


@pytest.mark.parametrize("packed", [bz2, gzip])
def test_flipped_bytes_of_a_packed_file_are_said(tmp_path: Path, packed: types.ModuleType) -> None:
    good = packed.compress(GOOD.encode() * 50)
    for place in range(len(good)):
        path = tmp_path / f"tiny.{ {bz2: 'bz2', gzip: 'gz'}[packed] }"
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        with contextlib.suppress(BadInput):  # gzip has a time and a name that nobody reads
            read_svmlight(path, SPEC, None)


def test_thin_data_stays_sparse(tmp_path: Path) -> None:
    data = read_svmlight(write(tmp_path, "0 1:1\n1 2:1\n2 4:1\n"), SPEC, None)
    assert data.is_sparse
    assert data.x.shape == (3, 4)


@pytest.mark.parametrize(
    ("text", "rows", "message"),
    [
        ("0 1:1\n", 2, "tiny.svm.bz2 has 1 rows where tiny has 2"),
        ("3 1:1\n", None, r"row 1: label 3 is outside 0\.\.2; labels count from 0"),
        ("1 1:1\n3 1:1\n", None, r"number; if each row has one class, give --actions one-of --classes 3$"),
        ("1,2 1:1\n3 1:1\n", None, r"and --labels gives their number$"),
        ("0 1:1\n-1 1:1\n", None, r"row 2: label -1 is outside 0\.\.2"),
        ("0.5 1:1\n", None, r"row 1: label 0.5 is outside 0\.\.2"),
        ("nan 1:1\n", None, r"row 1: label nan is outside"),
        ("inf 1:1\n", None, r"row 1: label inf is outside"),
        ("0 99999999999999999999:1\n", None, "is not a readable multi-label svmlight file"),
        ("0 1:nan\n", None, "holds a feature that is not finite"),
        ("0 1:inf\n", None, "holds a feature that is not finite"),
        ("0 5:1\n", None, "is not a readable multi-label svmlight file with 4 features"),
        ("0 0:1\n", None, "is not a readable multi-label svmlight file"),
        ("0 2:1 1:1\n", None, "is not a readable multi-label svmlight file"),
        ("hello world\n", None, "is not a readable multi-label svmlight file"),
        ("", None, "tiny.svm.bz2 has no rows"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, rows: int | None, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_svmlight(write(tmp_path, text), SPEC, rows)


CLASSES = DatasetSpec("tiny", features=4, labels=3, loss="zero-one", actions="one-of")


def read_columns(folder: Path, train: str, test: str) -> TrainTest:
    """Splits whose rows have these classes, one a character or a word."""
    for name, column in (("train.svm", train), ("test.svm", test)):
        words = column.split() if " " in column else column
        (folder / name).write_text("".join(f"{c} 1:1 2:1 3:1\n" for c in words))
    return read_splits(folder / "train.svm", folder / "test.svm", CLASSES, lambda: None)


@pytest.mark.parametrize(
    ("train", "test", "classes"),
    [
        ("123", "112", [0, 0, 1]),  # counted from 1, and test lacks the last class
        ("120", "112", [1, 1, 2]),
        ("12", "12", [1, 2]),
        ("7 -1 0", "0 -1 -1", [1, 0, 0]),
        ("124", "4421", [2, 2, 1, 0]),
    ],
)
def test_train_says_where_classes_count_from(
    tmp_path: Path, train: str, test: str, classes: list[int]
) -> None:
    splits = read_columns(tmp_path, train, test)
    assert splits.test.y.tolist() == classes
    words = test.split() if " " in test else test
    assert [(splits.test.classes or range(3))[code] for code in classes] == [int(word) for word in words]
    save_split(tmp_path / "split", splits.test)
    kept = load_split(tmp_path / "split").take(np.arange(2))
    assert (kept.classes, kept.y.tolist()) == (splits.train.classes, classes[:2])


def test_a_replay_calls_actions_as_the_file_does(tmp_path: Path) -> None:
    path = tmp_path / "two.svm"
    path.write_text("".join(f"{'-1' if i % 3 else '+1'} 1:{i % 5} 2:{i % 3}\n" for i in range(60)))
    data = ml.datasets.load_svmlight(path, 2, classes=2)
    log = ml.datasets.replay(data, fraction=0.5, passes=1)
    assert log.actions == (-1, 1)
    policy = log.logger_policies[1]
    assert set(policy.predict(np.asarray(data.x))) <= {-1, 1}


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (
            "1244",
            "5",
            r"test.svm, row 1: class 5 is none of 1, 2, 4; classes are whole numbers from 0, or from",
        ),
        ("1245", "1", r"train.svm, row 3: class 4 is outside 0\.\.2"),
        (
            "-1 1 -1",
            "1 1",
            r"train.svm, row 1: class -1 is outside 0\.\.2; .* and --classes gives their number",
        ),
        ("-1 1.5 3", "1 1", r"train.svm, row 1: class -1 is outside 0\.\.2"),
        ("123", "0", r"test.svm, row 1: class 0 is outside 1\.\.3; classes are whole numbers"),
    ],
)
def test_classes_that_there_are_not(tmp_path: Path, train: str, test: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_columns(tmp_path, train, test)


def test_truncated_archive_is_said(tmp_path: Path) -> None:
    path = write(tmp_path, "0 1:1\n" * 2000)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(BadInput, match="fetch it again, or correct it or --features"):
        read_svmlight(path, SPEC, None)


@pytest.mark.parametrize("name", ["scene", "yeast", "tmc500"])
def test_real_files_have_the_registered_shape(real_mirror: Path, name: str) -> None:
    spec = find_dataset(name)
    assert spec.test_file is not None
    data = read_svmlight(real_mirror / spec.test_file, spec, spec.n_test)
    assert data.x.shape == (spec.n_test, spec.features)
    assert data.y.shape == (spec.n_test, spec.labels)
    assert data.is_sparse == (name == "tmc500")


def test_unknown_dataset_lists_the_known_ones() -> None:
    with pytest.raises(
        BadInput, match="unknown dataset 'mnist'; choose one of digits, scene, yeast, tmc, tmc500"
    ):
        find_dataset("mnist")


CHOICE = DatasetSpec("tiny", features=4, labels=3, actions="one-of")


@pytest.mark.parametrize("text", ["0 1:1\n2 2:1\n1 4:1\n", "1 1:1\n3 2:1\n2 4:1\n"])
def test_reads_classes_from_0_or_from_1(tmp_path: Path, text: str) -> None:
    data = read_svmlight(write(tmp_path, text), CHOICE, 3)
    assert (data.space.name, data.space.size) == ("one-of", 3)
    np.testing.assert_array_equal(data.y, [0, 2, 1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1:1\n3 1:1\n", r"row 2: class 3 is outside 0\.\.2; classes are whole numbers from 0, or from 1"),
        ("1.5 1:1\n", r"row 1: class 1\.5 is outside"),
        ("-1 1:1\n", r"row 1: class -1 is outside"),
        ("0,1 1:1\n", "is not a readable multi-class svmlight file with 4 features"),
    ],
)
def test_bad_classes(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_svmlight(write(tmp_path, text), CHOICE, None)
