"""What a message shows of an address."""

import pickle
import re
from collections.abc import Callable

import pytest

from multilogger.components.datasets.registry import find_dataset
from multilogger.components.errors import BadInput, meant, without_secrets
from multilogger.components.learners.methods import find_method
from multilogger.flows.reproduction.scope import check_presets
from multilogger.tasks.learn_settings import LearnSettings

SHOWN = {
    "https://anna:geheim@host/x": "https://***@host/x",
    "at postgresql+psycopg2://u:p@ss@db:5432/runs (no)": "at postgresql+psycopg2://***@db:5432/runs (no)",
    "https://geheim@host": "https://***@host",
    "mysql://u:sla/sh@db/x": "mysql://***@db/x",
    "postgresql://db/x?user=u&password=geheim&a=1": "postgresql://db/x?user=u&password=***&a=1",
    "two: http://a:b@c and http://d:e@f/": "two: http://***@c and http://***@f/",
    "https://host/x?access_token=geheim": "https://host/x?access_token=***",
    "no file anna:geheim@host:1/x": "no file ***@host:1/x",
    "no file http:/anna:ge/heim@host/x": "no file http:/***@host/x",
}
KEPT = (
    "https://host:8080/a@b",
    "sqlite:////data/me@home/mlflow.db",
    "mail me@example.org",
    "http://127.0.0.1:4200/api",
    "key=value",
    "models:/multilogger-yeast@champion",
    "host:8080/a@b",
    "got 12:30, mail me@example.org",
)


@pytest.mark.parametrize("text", SHOWN)
def test_logins_are_hidden(text: str) -> None:
    assert without_secrets(text) == SHOWN[text]
    assert str(BadInput(text)) == SHOWN[text]


@pytest.mark.parametrize("text", KEPT)
def test_other_text_is_kept(text: str) -> None:
    assert without_secrets(text) == text


def test_what_a_terminal_would_obey_is_written_out() -> None:
    assert str(BadInput("no file a\x1b[2Jb\x07\u202e; mend é")) == r"no file a\x1b[2Jb\x07\u202e; mend é"
    assert str(BadInput("b\udcff.parquet is bad")) == r"b\udcff.parquet is bad"


def test_message_survives_the_way_to_another_process() -> None:
    assert str(pickle.loads(pickle.dumps(BadInput("got 3")))) == "got 3"


def test_a_refusal_is_one_short_line_whatever_came() -> None:
    line = str(BadInput(f"an action is one of 0, 1, got {'x' * 5000!r}\nand more; drop the row"))
    assert len(line) <= 380
    assert line.startswith("an action is one of 0, 1, got 'xxx")
    assert line.endswith("and more; drop the row")
    assert "\n" not in line
    assert str(BadInput("two  blanks stay")) == "two  blanks stay"


def test_what_a_misspelt_name_may_have_meant() -> None:
    known = ["balanced", "Click", 3]
    assert meant("balancd", known) == "did you mean 'balanced'? "
    assert meant("click", known) == "did you mean 'Click'? "
    assert meant("balanced", known) == meant("zzz", known) == meant("", known) == ""
    doors: list[tuple[Callable[[], object], str]] = [
        (lambda: find_method("balancd"), "did you mean 'balanced'? choose one of"),
        (lambda: find_dataset("digts"), "did you mean 'digits'? choose one of"),
        (lambda: check_presets(["tund"]), "did you mean 'tuned'? choose one of"),
        (lambda: LearnSettings.build({"method": "dmm"}), "did you mean 'dm'? choose one of"),
        (lambda: LearnSettings.build({"preset": "papr"}), "did you mean 'paper'? choose one of"),
    ]
    for refused, said in doors:
        with pytest.raises(BadInput, match=re.escape(said)):
            refused()
