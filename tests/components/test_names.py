"""What a thing may be called."""

import pytest

from multilogger.components.errors import BadInput
from multilogger.components.names import check_label, check_name, name_from, name_loggers

BAD = (
    "", " ", ".", "..", "../../x", "/etc/passwd", "a/b", "a\\b", ".hidden", "-x", "x.", "a\nb", "a\0b",
    "a:b", "a?b", "x" * 61, "x" * 300, "é" * 300, "\u202ex", "a#b", "~", "a%2fb",
)  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_names_are_refused_in_a_short_line(name: str) -> None:
    with pytest.raises(BadInput, match=r"^the name of a dataset has letters, digits") as refused:
        check_name("dataset", name)
    assert len(str(refused.value)) < 300
    assert "\n" not in str(refused.value)
    check_name("dataset", name_from(name, "log"))


@pytest.mark.parametrize("name", ["digits", "tmc500", "my log 2.parquet", "ünï-cödé_1", "数据", "7"])
def test_good_names_are_kept(name: str) -> None:
    assert check_name("dataset", name) == name
    assert name_from(name, "log") == name


@pytest.mark.parametrize("label", ["", "a\nb", "\x1b[31mred", "x" * 1001, "a\tb"])
def test_loggers_that_would_not_fit_a_line_are_refused(label: str) -> None:
    with pytest.raises(BadInput, match="the name of a logger is 1 to 1000 printable characters"):
        check_label("logger", label)
    check_label("logger", "model[a] · 7/8")


def test_loggers_of_an_own_log_have_their_names() -> None:
    line = "improvement: logger-11, greedy loses 0.1 less than logger-2"
    assert name_loggers(line, tuple("abcdefghijk")) == (
        "improvement: logger k, greedy loses 0.1 less than logger b"
    )
    assert name_loggers(line, ()) == line
    assert name_loggers("below logger-1", ("logger-1",)) == "below logger-1"
