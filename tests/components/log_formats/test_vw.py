"""`BanditLog.from_vw`: contextual-bandit text of Vowpal Wabbit."""

import bz2
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import multilogger as ml

SIMPLE = "1:2:0.4 | a c\n3:0.5:0.2 | b d\n4:1.2:0.5 | a b c\n2:1:0.3 | b c\n3:1.5:0.7 | a d\n"
EVENTS = """\
shared |User age:30 city:rome
|Item tea
0:-1:0.75 |Item rum

shared |User age:50
1:0:0.25 |Item tea
|Item rum
"""


def write(folder: Path, text: str, name: str = "log.txt") -> Path:
    path = folder / name
    data = text.encode()
    packed = {".gz": gzip.compress(data), ".bz2": bz2.compress(data)}
    path.write_bytes(packed.get(path.suffix, data))
    return path


@pytest.mark.parametrize("name", ["log.txt", "log.txt.gz", "log.dat.bz2"])
def test_lines_by_hand(name: str, tmp_path: Path) -> None:
    log = ml.BanditLog.from_vw(write(tmp_path, SIMPLE, name), logger="old", actions=4)
    assert repr(log) == "BanditLog(rows=5, contexts=5, features=4, actions=4, loggers=['old'])"
    assert log.actions == (1, 2, 3, 4)
    assert log.columns.names == ("a", "c", "b", "d")
    np.testing.assert_array_equal(log.action, [0, 2, 3, 1, 2])
    np.testing.assert_allclose(log.loss, [1.5, 0.0, 0.7, 0.5, 1.0])
    assert log.reward_range == (-2.0, -0.5)
    np.testing.assert_allclose(np.exp(log.log_propensity), [0.4, 0.2, 0.5, 0.3, 0.7])
    expected = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]]
    np.testing.assert_array_equal(np.asarray(log.x), expected)


def test_namespaces_values_tags_and_words(tmp_path: Path) -> None:
    text = (
        "1:0:0.5 'first|u:2 age:1.5 age:1 |i n:-1 city:rome\n"
        "2:1:0.5 second| plain:3\n"
        "\n"
        "3:0:1 | plain |u age:1e1"
    )
    log = ml.BanditLog.from_vw(write(tmp_path, text), cost_range=(0, 2))
    assert log.columns.names == ("u^age", "i^n", "i^city=rome", "plain")
    np.testing.assert_allclose(np.asarray(log.x), [[5, -1, 1, 0], [0, 0, 0, 3], [10, 0, 0, 1]])
    assert log.actions == (1, 2, 3)
    assert log.reward_range == (-2, 0)
    assert log.max_loss == 2


def test_a_file_per_logger_and_a_policy_that_takes_the_names(tmp_path: Path) -> None:
    second = "1:0:0.9 | a e\n2:1:0.05 | e\n3:1:0.02 | a\n4:2:0.03 | a\n"
    files = {"old": write(tmp_path, SIMPLE * 4), "new": write(tmp_path, second * 4, "new.txt")}
    log = ml.BanditLog.from_vw(files)
    assert log.loggers == ("new", "old")
    np.testing.assert_array_equal(log.logger, [1] * 20 + [0] * 16)
    with pytest.warns(UserWarning, match="passed the guard"):  # so few rows judge no epoch
        policy = ml.Naive(epochs=1, hidden=(2,), batch_size=4).fit(log)
    frame = {name: [1.0, 0.0] for name in "acbde"}
    np.testing.assert_allclose(
        policy.predict_proba(pd.DataFrame(frame)), policy.predict_proba(np.array([[1.0] * 5, [0.0] * 5]))
    )


def test_events_of_cb_adf(tmp_path: Path) -> None:
    log = ml.BanditLog.from_vw(write(tmp_path, EVENTS))
    assert log.actions == ("Item tea", "Item rum")
    np.testing.assert_array_equal(log.action, [1, 0])
    assert log.columns.names == ("User^age", "User^city=rome")
    np.testing.assert_array_equal(np.asarray(log.x), [[30, 1], [50, 0]])
    np.testing.assert_array_equal(log.loss, [0, 1])
    np.testing.assert_allclose(np.exp(log.log_propensity), [0.75, 0.25])


def test_many_features_stay_sparse(tmp_path: Path) -> None:
    text = "".join(f"{1 + i % 2}:{i % 2}:0.5 | f{i}\n" for i in range(50))
    assert sparse.issparse(ml.BanditLog.from_vw(write(tmp_path, text)).x)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "log.txt has no rows; give a log with at least one line"),
        (
            "1:0:0.5 a b\n",
            "log.txt, line 1: a line is 'action:cost:probability | features', got no bar in '1:0:0.5 a b'; "
            "mend it",
        ),
        (SIMPLE + "| a b\n", "log.txt, line 6: the line has no label; drop it, as nobody acted there"),
        (
            SIMPLE + "1 2:1:0.5 | a\n",
            "log.txt, line 6: a label is 'action:cost:probability', once a line, got '1 2:1:0.5'; keep the "
            "action that was taken, with its cost and probability",
        ),
        (
            "2:1 | a\n",
            "log.txt, line 1: a label is 'action:cost:probability', once a line, got '2:1'; keep the action "
            "that was taken, with its cost and probability",
        ),
        ("1:x:0.5 | a\n", "log.txt, line 1: the cost must be a number, got 'x'; mend it"),
        ("1:nan:0.5 | a\n", "log.txt, line 1: the cost must be a number, got 'nan'; mend it"),
        (
            "1:1:0 | a\n",
            "log.txt, line 1: the probability is 0, outside (0, 1]; give that with which the action was "
            "taken, or drop the line",
        ),
        (
            "1:1:1.5 | a\n",
            "log.txt, line 1: the probability is 1.5, outside (0, 1]; give that with which the action was "
            "taken, or drop the line",
        ),
        ("1:1:0.5 | a:inf\n", "log.txt, line 1: feature a is inf; fill it in or leave it out"),
        ("1:1:0.5 |u:k a\n", "log.txt, line 1: the factor of namespace u must be a number, got 'k'; mend it"),
        (
            "1:1:0.5 |\n2:0:0.5 |\n",
            "the log has no features behind its bars; a policy needs some to decide by",
        ),
        (
            "1:1:0.5 | a\n2:1:0.5 | b\n",
            "costs must vary, got 1 in every line; give the least and the largest possible one as cost_range",
        ),
        ("shared 1:0:0.5 | a\n", "log.txt, line 1: a shared line has no label, got '1:0:0.5'; take it out"),
        (
            "shared | a\n| tea\n| rum\n",
            "log.txt, line 1: of an event's 2 actions one has the label 'action:cost:probability', got 0; "
            "label the one that was taken",
        ),
        (
            EVENTS + "\nshared |User age:1\n0:0:1 |Item tea\n|Item gin\n",
            "log.txt, line 9: every event must offer the same actions, 'Item",
        ),
        (
            "shared | a\n0:0:1 | tea\n| tea\n",
            "log.txt, line 1: two actions of the event have the same features; tell them apart",
        ),
        (
            SIMPLE + EVENTS,
            "log.txt, line 6: lines before were 'action:cost:probability | features'; keep both kinds in "
            "files of their own",
        ),
        (
            EVENTS + "\n" + SIMPLE,
            "log.txt, line 9: an event of --cb_adf begins with a line 'shared |'; add it",
        ),
        (
            "1:0:0.5 | a\n9:1:0.5 | b\n",
            "the log, row 1: action 9 is not one of the 4 actions 1, 2, 3, 4; mend it, or list it among all "
            "possible actions",
        ),
    ],
)
def test_bad_text(text: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ml.BadInput) as caught:
        ml.BanditLog.from_vw(path, actions=None if "shared" in text else 4)
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(message)


def test_costs_outside_what_was_said(tmp_path: Path) -> None:
    with pytest.raises(ml.BadInput, match=r"log.txt, line 1: the cost is 2, outside cost_range \(0, 1\)"):
        ml.BanditLog.from_vw(write(tmp_path, SIMPLE), cost_range=(0, 1))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("none.txt", None, "there is no file .*none.txt; give text of Vowpal Wabbit"),
        ("log.txt", b"1:0:0.5 | \xff\xfe\n", "log.txt, after line 0: cannot be read as text .*UTF-8"),
        ("log.gz", b"1:0:0.5 | a\n", "log.gz, after line 0: cannot be read as text"),
        (
            "log.gz",
            gzip.compress(SIMPLE.encode() * 99, mtime=0)[:60],
            "log.gz, after line .*: cannot be read as text",
        ),
    ],
)
def test_files_that_are_no_text(name: str, data: Any, message: str, tmp_path: Path) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(ml.BadInput, match=message):
        ml.BanditLog.from_vw(tmp_path / name)
