"""`multilogger study --logs`: from a Parquet file to a table, a page and a champion, by the real command."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess, run
from typing import Any

import numpy as np
import pytest

import multilogger as ml
from multilogger.components.reproduction.results import CellResult
from multilogger.flows.pipelines.held_out import held_out_lines, held_out_rows, rival, verdict
from multilogger.flows.pipelines.registered_logs import registered_logs, with_registered_log
from multilogger.flows.study.command import command_of
from multilogger.flows.study.page import study_page
from multilogger.flows.study.plan import study_cells
from multilogger.flows.study.verdicts import StudiedCell, chosen, conclusion, study_rows, units_text
from multilogger.flows.terminal.terminal import Terminal
from multilogger.tasks.engine.store import Store
from multilogger.tasks.own_log.estimate import HeldOut, WithInterval
from multilogger.tasks.own_log.import_settings import ImportLogSettings
from tests.tasks.own_log.shop import shop_frame

Cli = Callable[..., CompletedProcess[str]]
MAPPING = """
action = "item_id"
reward = "click"
propensity = "pscore"
logger = "policy"
features = ["user_*", "at"]
"""


def test_from_a_log_to_a_champion(cli: Cli, store_root: Path, tmp_path: Path) -> None:
    frame = shop_frame(900)
    frame.loc[frame["policy"] == "old", "pscore"] = np.nan  # one logger without propensities
    frame.to_parquet(tmp_path / "shop.parquet")
    (tmp_path / "columns.toml").write_text(MAPPING)
    words = ["study", "--logs", str(tmp_path / "shop.parquet"), "--columns", str(tmp_path / "columns.toml")]
    words += ["--method", "balanced", "--method", "weighted", "--seeds", "1", "--set", "learn.epochs=2"]
    done = cli(*words, "--out", str(tmp_path / "study"))
    assert done.returncode == 0, done.stderr
    assert "logger old: " in done.stderr
    assert "user_country: 2 words, one feature each" in done.stderr
    assert "shop: " in done.stdout
    assert "is the first champion" in done.stdout
    page = (tmp_path / "study" / "study.html").read_text()
    assert "No true labels exist in a log" in page
    assert "Some propensities were not logged and are estimated" in page
    policies = sorted((Store(store_root).artifacts / "learn").glob("*/policy.json"))
    assert len(policies) == 2
    loaded = ml.load_policy(policies[0].parent)
    assert set(loaded.predict(frame.head(50))) <= {"jam", "pie", "tea"}
    again = cli(*words, "--out", str(tmp_path / "study"))
    assert "Computed    0 cells, 2 from the cache" in again.stdout
    refused = cli(
        "study", "--logs", str(tmp_path / "shop.parquet"), "--reward", "clicks", "--action", "item_id"
    )
    assert refused.returncode == 2
    assert "has no column 'clicks'; did you mean 'click'? name one of its own with --reward" in refused.stderr


@pytest.mark.parametrize(
    ("logger", "options", "said"),
    [
        ("old", ["--all-actions", "jam,pie"], "'tea'"),
        ("o\x01ld", [], "the name of a logger is 1 to 1000 printable characters"),
    ],
)
def test_a_wrong_input_of_all_cells_is_that_of_the_command(
    logger: str, options: list[str], said: str, typed: Cli, store_root: Path, tmp_path: Path
) -> None:
    """What can only be held against the rows is refused by the command, in one line, before any cell."""
    frame = shop_frame(300)
    frame.assign(policy=frame["policy"].replace("old", logger)).to_parquet(tmp_path / "shop.parquet")
    (tmp_path / "columns.toml").write_text(MAPPING)
    words = ["study", "--logs", str(tmp_path / "shop.parquet"), "--columns", str(tmp_path / "columns.toml")]
    words += ["--method", "weighted", "--seeds", "1", "--out", str(tmp_path / "study")]
    refused = typed(*words, *options)
    assert refused.returncode == 2, refused.stderr
    (line,) = refused.stderr.splitlines()
    assert line.startswith("multilogger: ")
    assert said in line
    assert not list((Store(store_root).artifacts).glob("learn/*"))
    assert not (tmp_path / "study" / "study.html").exists()


def test_a_setting_that_no_method_reads_is_refused() -> None:
    with pytest.raises(ml.BadInput, match=r"none of these methods reads learn\.kappa; leave it out, or name"):
        study_cells("digits", ["weighted", "naive"], 1, "tuned", None, {"learn.kappa": 1.0})
    assert study_cells("digits", ["weighted", "naive-reg"], 1, "tuned", None, {"learn.kappa": 1.0})


def test_a_log_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its files say is in the settings that the command hands to the flow."""
    shop_frame(300).to_parquet(tmp_path / "shop.parquet")
    columns = {"action": "item_id", "reward": "click", "features": "user_*"}
    typed_settings = {f"import-log.{name}": column for name, column in columns.items()}
    typed_settings["import-log.logs"] = str(tmp_path / "shop.parquet")
    known = study_cells("shop", ["weighted"], 1, "auto", None, typed_settings)[0].settings
    monkeypatch.setattr(ImportLogSettings, "open", lambda _: pytest.fail("the files are looked at again"))
    again = study_cells("shop", ["weighted"], 1, "auto", None, known)[0]
    assert again.settings == known
    said = [command_of("shop", ["weighted"], 1, "auto", None, s) for s in (typed_settings, known)]
    assert said[0] == said[1]


def held_out(low: float, high: float, trusted: bool = True) -> HeldOut:
    middle = (low + high) / 2
    return HeldOut(
        method="dr", rows=100, contexts=100, level=0.95, policy=WithInterval(value=0.4, low=0.3, high=0.5),
        loggers={"old": WithInterval(value=0.4 - middle, low=0.2, high=0.6)}, best="old",
        difference=WithInterval(value=middle, low=low, high=high), trusted=trusted,
        sentence="Trust none of them.",
        warnings=(), mean_weight=1.0, effective_rows=80.0, estimates={}, max_loss=2.0,
        reward_range=(0.0, 2.0), largest_loss=1.0,
    )  # fmt: skip


def studied(method: str, seed: int, risk: float, found: HeldOut) -> StudiedCell:
    return StudiedCell(CellResult("shop", method, "tuned", seed, 0.4, None, risk), found)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (held_out(-0.2, -0.1), "It is better than the best logger"),
        (held_out(0.1, 0.2), "It is worse than the best logger: deploy the logger."),
        (held_out(-0.1, 0.1), "The log cannot tell it apart from the best logger"),
        (held_out(-0.2, -0.1, trusted=False), "The log cannot judge it: Trust none of them."),
    ],
)
def test_the_verdict_is_that_of_the_interval(found: HeldOut, said: str) -> None:
    lines = conclusion([studied("dr", 0, 0.3, found)])
    assert said in lines[1]


def test_a_policy_has_to_beat_every_logger() -> None:
    """The logger that seemed best elsewhere was unlucky on test: another one may be as good."""
    best = held_out(-0.2, -0.1)
    other = WithInterval(value=-0.05, low=-0.12, high=0.02)
    open_still = best.model_copy(update={"differences": {"old": best.difference, "new": other}})
    assert verdict(open_still) == "not told apart from the best logger"
    said = conclusion([studied("dr", 0, 0.3, open_still)])[1]
    assert "Logger new may be as good: the policy minus new is +0.1000 (-0.0400 to +0.2400)." in said
    assert "The log cannot tell it apart" in said
    assert held_out_lines(open_still)[0].endswith("the policy minus new is +0.1000 (-0.0400 to +0.2400).")
    beaten = other.model_copy(update={"high": -0.01})
    assert verdict(best.model_copy(update={"differences": {"new": beaten}})) == "better than the best logger"
    unknown = other.model_copy(update={"high": None})
    assert rival(best.model_copy(update={"differences": {"new": unknown}})) == "new"
    rows = held_out_rows(open_still.model_copy(update={"loggers": {"old": best.policy, "new": best.policy}}))
    assert rows[2]["the policy minus it"] == "+0.1000 (-0.0400 to +0.2400)"


def test_validation_chooses_and_rewards_are_shown_in_their_own_unit() -> None:
    cells = [studied("dr", 0, 0.3, held_out(-0.2, -0.1)), studied("dr", 1, 0.2, held_out(-0.1, 0.1))]
    row = study_rows(cells)[0]
    assert row["seed"] == "1"
    assert row["test"] == "1.2000 (1.0000 to 1.4000)"
    assert row["against the best logger"] == "+0.0000 (-0.2000 to +0.2000)"


def test_what_may_not_be_champion_is_not_the_one_to_deploy() -> None:
    """It stands in the table, below the others, and says why."""
    barred = studied("dr", 0, 0.1, held_out(-0.2, -0.1))
    barred = replace(barred, result=replace(barred.result, barred="its mean weight is off"))
    cells = [barred, studied("naive", 0, 0.3, held_out(-0.2, -0.1))]
    best = chosen(cells)
    assert best is not None
    assert best.result.method == "naive"
    assert conclusion(cells)[0].startswith(
        "naive (seed 0) has the least validation risk of 2 policies of 2 methods, but for 1 that may not be "
        "chosen, and is the one to deploy"
    )
    rows = study_rows(cells)
    assert [(row["method"], row["note"]) for row in rows] == [
        ("naive", ""),
        ("dr", "not to be chosen: its mean weight is off"),
    ]
    assert chosen([barred]) is None
    assert conclusion([barred])[0] == "No policy may be chosen; the table says why."


def test_rewards_and_losses_are_told_apart_beside_each_other() -> None:
    cells = [studied("dr", 0, 0.3, held_out(-0.2, -0.1))]
    assert units_text(cells) == (
        ": test is the mean reward, higher is better; validation risk is the expected loss = "
        "(2 - reward) / 2, lower is better"
    )
    losses = held_out(-0.2, -0.1).model_copy(update={"reward_range": None})
    assert units_text([studied("dr", 0, 0.3, losses)]).startswith(": test is the mean loss, lower is better;")
    assert held_out_lines(cells[0].held_out or losses)[1].endswith("lower is better.)")
    assert units_text([StudiedCell(cells[0].result)]) == ""


def test_two_seeds_say_nothing_of_their_spread() -> None:
    cells = [studied("dr", seed, 0.3, held_out(-0.2, -0.1 + seed / 50)) for seed in range(3)]
    assert ["±" in study_rows(cells[:n])[0]["mean over seeds"] for n in (1, 2, 3)] == [False, False, True]
    assert ["fewer than 3 seeds" in " ".join(conclusion(cells[:n])) for n in (1, 2, 3)] == [
        False,
        True,
        False,
    ]


def test_of_equal_risks_the_same_one_is_chosen_whatever_the_order() -> None:
    """auto may choose what dm gives: the table, the conclusion and the champion must name one of them."""
    good = held_out(-0.2, -0.1)
    cells = [studied("auto", 1, 0.3, good), studied("dm", 1, 0.3, good), studied("dm", 2, 0.3, good)]
    for order in (cells, cells[::-1]):
        best = chosen(order)
        assert best is not None
        assert (best.result.method, best.result.seed) == ("dm", 1)
        assert [row["method"] for row in study_rows(order)] == ["dm", "auto"]
        assert "the one to deploy of these." in conclusion(order)[0]
        assert "have the same: of equal risks auto comes after what it chooses from" in conclusion(order)[0]
    assert "the same" not in conclusion([studied("dm", 0, 0.3, good), studied("auto", 0, 0.4, good)])[0]


@pytest.mark.parametrize(
    ("mirror", "settings", "said"),
    [
        (None, {}, ["--dataset", "shop"]),
        ("https://me:secret@host/data", {}, ["--dataset", "shop", "--mirror", "https://***@host/data"]),
        (None, {"learn.hidden": [8, 4]}, ["--dataset", "shop", "--set", "learn.hidden=[8, 4]"]),
        (None, {"import-log.logs": "a b"}, ["--logs", "a b", "--name", "shop"]),
        (None, {"import-log.logs": "a", "import-log.reward": "r"}, ["--logs", "a", "--name", "shop", "..."]),
        (None, {"download.train_path": "a"}, ["--dataset", "shop", "..."]),
    ],
)
def test_the_command_on_the_page_says_all_or_that_it_does_not(
    mirror: str | None, settings: dict[str, Any], said: list[str]
) -> None:
    words = shlex.split(command_of("shop", ["dr"], 2, "auto", mirror, settings))
    how = ["--method", "dr", "--seeds", "2", "--preset", "auto"]
    assert words[:2] == ["multilogger", "study"]
    assert sorted(words[2:]) == sorted([*how, *said])


def test_a_published_log_is_named_and_its_columns_are_known() -> None:
    name = next(iter(registered_logs()))
    settings = with_registered_log(name, "/data", {})
    assert command_of(name, ["dr"], 1, "auto", "/data", settings) == (
        f"multilogger study --dataset {name} --mirror /data --method dr --seeds 1 --preset auto"
    )


def test_a_study_of_failures_says_so() -> None:
    failed = StudiedCell(CellResult("shop", "dr", "tuned", 0, None, None, error="no rows"))
    assert conclusion([failed]) == ["No policy was learned; the table says why."]
    assert study_rows([failed])[0]["test"] == "failed: no rows"


def test_a_failed_method_stands_beside_the_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row has every column, the page and the terminal show both, and only policies are counted."""
    failed = StudiedCell(CellResult("shop", "dr", "tuned", 0, None, None, error="no rows"))
    cells = [studied("naive", 0, 0.3, held_out(-0.2, -0.1)), studied("naive", 1, 0.4, held_out(-0.2, 0.1))]
    cells += [replace(failed, result=replace(failed.result, seed=seed)) for seed in (0, 1)]
    rows = study_rows(cells)
    assert [(row["method"], row["seeds"]) for row in rows] == [("naive", "2"), ("dr", "0 of 2")]
    assert list(rows[0]) == list(rows[1])
    monkeypatch.setenv("COLUMNS", "200")  # a narrow terminal would fold the words
    Terminal().table("Methods", rows)
    assert "failed: no rows" in capsys.readouterr().out
    assert "failed: no rows" in study_page("t", conclusion(cells), {"Methods": rows}, [], "c")
    lines = conclusion(cells)
    assert "least validation risk of 2 policies of 1 method," in lines[0]
    assert lines[-1] == "2 of 4 cells failed; the first, dr (seed 0): no rows"


def test_a_plan_is_checked_before_prefect_is_loaded(command: str) -> None:
    """Else Prefect would have its settings before they are made: its lines, and a second server."""
    code = (
        "import sys; from multilogger.flows.study.plan import study_cells; "
        "study_cells('digits', ['naive'], 1, 'tuned', None, {}); "
        "print([name for name in ('prefect', 'mlflow') if name in sys.modules])"
    )
    python = Path(command).with_name("python")
    done = run([python, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
