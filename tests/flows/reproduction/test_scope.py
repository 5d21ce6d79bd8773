"""Presets of a reproduction: how they are named, and which methods depend on them."""

import re

import pytest

from multilogger.components.errors import BadInput
from multilogger.components.learners.presets import PRESETS
from multilogger.flows.reproduction import scope
from multilogger.flows.reproduction.plan import check_plan, plan_of
from multilogger.flows.reproduction.reproduce import reproduce
from multilogger.flows.reproduction.scope import Scope, chosen_presets, presets_that_matter
from multilogger.tasks.learn_settings import preset_numbers
from tests.components.every_setting import EverySetting


@pytest.mark.parametrize(
    ("presets", "single", "found"),
    [
        (None, None, ("tuned",)),
        ([], None, ("tuned",)),
        (None, "paper", ("paper",)),
        (["paper", "tuned", "paper"], None, ("paper", "tuned")),
    ],
)
def test_presets_are_named_by_a_list_or_by_the_old_parameter(
    presets: list[str] | None, single: str | None, found: tuple[str, ...]
) -> None:
    assert chosen_presets(presets, single) == found


def test_presets_are_not_named_twice() -> None:
    message = "presets are named once, got presets=['tuned'] and preset='paper'; leave preset out"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        chosen_presets(["tuned"], "paper")


def test_the_flow_takes_both_parameters() -> None:
    assert reproduce.validate_parameters({"preset": "paper"})["preset"] == "paper"
    assert reproduce.validate_parameters({"presets": ["paper"]})["presets"] == ["paper"]


@pytest.mark.parametrize(
    "method", ["logger-2", "crf", "best-logger-greedy", "additive", "additive-soft", "dr"]
)
def test_what_does_not_depend_on_the_preset_is_run_under_the_last(method: str) -> None:
    assert presets_that_matter(("tuned", "paper"), "yeast", method) == ("paper",)


@pytest.mark.parametrize("method", ["naive", "weighted-reg", "balanced-exact", "wcrm"])
def test_what_depends_on_it_is_run_under_each(method: str) -> None:
    assert presets_that_matter(tuple(PRESETS), "yeast", method) == tuple(PRESETS)


def test_a_setting_that_a_method_does_not_read_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    taus = {"paper": 4.0, "tuned": 1.0}
    monkeypatch.setattr(
        scope, "preset", lambda name, _data, method, _actions: EverySetting(tau=taus[name]).of(method)
    )
    assert presets_that_matter(tuple(taus), "yeast", "weighted") == ("tuned",)
    assert presets_that_matter(tuple(taus), "yeast", "weighted-reg") == ("paper", "tuned")


def test_a_plan_has_every_cell_once() -> None:
    asked = Scope(("yeast",), ("naive", "crf"), seeds=2, presets=("paper", "tuned"))
    cells = plan_of("table2", asked)["table2"]
    assert [(c.method, c.preset, c.seed) for c in cells] == [
        ("naive", "paper", 0),
        ("naive", "paper", 1),
        ("naive", "tuned", 0),
        ("naive", "tuned", 1),
        ("crf", "tuned", 0),
        ("crf", "tuned", 1),
    ]


def test_a_sweep_binds_by_the_preset_of_its_cell() -> None:
    cells = plan_of("figure2", Scope(seeds=1, presets=("paper", "tuned")))["figure2"]
    kappas = {(c.preset, c.chosen()["learn"].params()["kappa"]) for c in cells if c.tau is not None}
    assert kappas == {
        (name, preset_numbers(name, "yeast", "naive-reg")["kappa"]) for name in ("paper", "tuned")
    }
    assert len({kappa for _, kappa in kappas}) == 2


def test_a_scope_says_its_presets() -> None:
    asked = Scope(seeds=2, presets=("paper", "tuned"))
    assert asked.command("table2") == "multilogger reproduce table2 --seeds 2 --preset paper --preset tuned"
    assert asked.params()["preset"] == "paper, tuned"


def test_no_preset_is_no_reproduction() -> None:
    with pytest.raises(BadInput, match="at least one preset, got none; choose paper, "):
        Scope(presets=())


def test_an_unknown_preset_is_refused_though_no_method_reads_it() -> None:
    parameters = {
        "target": "table2",
        "datasets": ["yeast"],
        "methods": ["crf"],
        "seeds": 1,
        "presets": ["best", "tuned"],
        "mirror": None,
        "settings": {},
    }
    with pytest.raises(BadInput, match=f"^unknown preset 'best'; choose one of {', '.join(PRESETS)}$"):
        check_plan(parameters)
