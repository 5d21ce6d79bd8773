"""What is said of the settings that a method reads, against what it does with them."""

import re
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest

from multilogger.components.errors import BadInput
from multilogger.components.learners import learn as learning
from multilogger.components.learners.learn import Learned
from multilogger.components.learners.methods import METHODS, all_settings, readers_text, reads, unread
from multilogger.components.learners.training.settings import RiskSettings, settings_about
from multilogger.components.log.disk import StreamedLog
from multilogger.components.log.memory import TrainingLog
from tests.components.every_setting import LABEL_METHODS, EverySetting, learn

OTHER_TEXTS = {
    "divergence": "exact",
    "evidence": "weights",
    "family": "naive",
    "loss": "crowding",
    "loss_shift": "poem",
    "start": "rates",
    "weights": "raw",
}
PAIRS = [(method, name) for method in LABEL_METHODS for name in settings_about(METHODS[method].settings)]

# Under which settings a change of one shows, where it does not show under the usual ones.
LOOSE = {"kappa": 1e6, "constraint_tolerance": 1e9}
FAST = LOOSE | {"epochs": 6, "risk_rate": 0.3}
SHOWS: dict[str, dict[str, Any]] = {
    "warm_start_rate": {"warm_start": 1},
    "patience": {"epochs": 12, "patience": 1, "risk_rate": 0.3, "policy_rate": 0.3},
    "clip": {"clip": 1.05},
    "weights": {"clip": 1.05},
    "lambda_floor": {"lambda_floor": 0.3},
    "least_mean_weight": FAST | {"least_mean_weight": 0.001, "wcrm_l2s": (1.0,), "wcrm_iterations": 20},
    "most_mean_weight": FAST | {"most_mean_weight": 1e9},
    "least_effective_rows": LOOSE,
    "constraint_tolerance": {"constraint_tolerance": 0.0},
    "input_dropout": {"ensemble": True},
    "start": {"ensemble": True},
    "most_epochs": {"epochs": 0, "most_epochs": 2},
}
OTHERS: dict[str, Any] = {
    "clip": 1.5,
    "patience": 6,
    "batch_size": 20,
    "context_batch": 20,
    "lambda_floor": 0.45,
    "constraint_floor": 0.45,
    "least_mean_weight": 0.999,
    "most_mean_weight": 1.001,
    "least_effective_rows": 1e6,
    "least_variance": 0.24,
    "pessimism": 100.0,
    "constraint_tolerance": 1e9,
    "shift_share": 0.5,
}


def another(name: str, value: Any) -> Any:
    """A valid value that is not this one."""
    if name in OTHERS:
        return OTHERS[name]
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return type(value)(OTHER_TEXTS[name])
    if isinstance(value, tuple):
        return (*value, 7)
    return value + 1 if isinstance(value, int) else 0.5 * value + 0.1


Outcome = tuple[str, tuple[bytes, ...]]
Before = Callable[[str, EverySetting, bool], Outcome]


def outcome(learned: Learned) -> Outcome:
    """Every figure of every epoch, and the bits of the policy."""
    weights = learned.policy.network.state_dict().values()
    return repr(learned.records), tuple(part.numpy().tobytes() for part in weights)


@pytest.fixture
def usual(quick: EverySetting) -> EverySetting:
    """A short run whose constraint moves the policy in every step."""
    return replace(
        quick, epochs=3, kappa=1e-6, warm_up_steps=50, warm_up_epochs=1, model_epochs=2,
        wcrm_clips=(10.0,), wcrm_l2s=(1e-2,), wcrm_rounds=1, wcrm_iterations=5,
    )  # fmt: skip


@pytest.fixture(scope="module")
def before(log: TrainingLog, streamed: StreamedLog) -> Before:
    """What a method learns before any setting is changed: once for all of its settings."""
    return cache(
        lambda method, settings, on_disk: outcome(learn(method, streamed if on_disk else log, settings, 0))
    )


def test_circumstances_are_of_settings_that_there_are() -> None:
    assert SHOWS.keys() | OTHERS.keys() <= {name for _, name in PAIRS}


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_what_is_learned_depends_on_every_setting_that_is_read(
    method: str, name: str, log: TrainingLog, streamed: StreamedLog, usual: EverySetting, before: Before
) -> None:
    """Where it should; what stands outside the key changes no bit."""
    settings = replace(usual, **SHOWS.get(name, {}))
    if (method, name) == ("dr", "most_epochs"):  # its own epochs are those of its policy
        settings = replace(settings, epochs=usual.epochs, model_epochs=0)
    other = replace(settings, **{name: another(name, getattr(settings, name))})
    # A log of more than memory_rows rows is read from disk; there dr takes its rows in batches.
    on_disk = name == "memory_rows" or (method, name) == ("dr", "batch_size")
    first = before(method, settings, on_disk and name != "memory_rows")
    same = first == outcome(learn(method, streamed if on_disk else log, other, 0))
    keyed = settings_about(METHODS[method].settings)[name].keyed
    changes = keyed or name == "loss"
    assert same is not changes


def test_settings_of_another_method_are_refused(log: TrainingLog) -> None:
    message = "weighted takes WeightedSettings, got RiskSettings; make one of the method's own settings"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        learning.learn("weighted", log, RiskSettings(), 0)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_read_is_what_the_settings_have(method: str) -> None:
    own = {field.name for field in fields(METHODS[method].settings)}
    every = {field.name for field in fields(EverySetting)}
    assert {name for name in every if reads(method, name)} == own
    assert unread(method, sorted(own)) == []
    assert [text.partition(":")[0] for text in unread(method, sorted(every))] == sorted(every - own)


def test_references_read_nothing() -> None:
    assert not reads("crf", "clip")
    assert not reads("logger-1", "pessimism")


def test_every_setting_is_listed_once_with_who_reads_it() -> None:
    listed = all_settings()
    assert listed.keys() == {field.name for field in fields(EverySetting)}
    assert listed["standardise"] == "scale inputs to mean 0 and variance 1"
    assert listed["pessimism"].startswith("all but ls, ix, additive, dm, full-information: standard errors ")
    assert "balanced-exact: bound of the divergence's excess" in listed["kappa"]
    assert listed["tau"].startswith("naive-reg, weighted-reg, balanced-reg: temperature of ")
    assert listed["hidden"].startswith("all but wcrm, full-information: nodes of ")


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("standardise", ""),
        ("pessimism", "all but ls, ix, additive, dm, full-information"),
        ("tau", "naive-reg, weighted-reg, balanced-reg"),
        ("hidden", "all but wcrm"),
        ("folds", "additive, additive-soft, dm, dr, auto"),
        ("clip", "all but ls, ix, additive-ips, full-information"),
        (
            "passes_per_epoch",
            "all but wcrm, additive, additive-soft, dm, dr, auto, full-information",
        ),
    ],
)
def test_readers_for_a_person(setting: str, text: str) -> None:
    """All: nothing. Most: those that do not. Else those that do."""
    assert readers_text(setting) == text


def test_what_is_wrong_with_a_setting() -> None:
    assert unread("weighted", ["tau", "clip"]) == [
        "tau: weighted does not read it (read by naive-reg, weighted-reg, balanced-reg)"
    ]
    assert unread("crf", ["clip"]) == ["clip: crf learns nothing"]
    assert unread("weighted-reg", ["tau", "clip", "lambda_floor"]) == []
    assert unread("wcrm", ["epochs"]) == ["epochs: wcrm does not read it (read by all but wcrm)"]
    assert unread("additive-soft", ["folds"]) == []
