import pytest

from multilogger.components.errors import BadInput
from multilogger.flows.pipelines.settings import flat, parse_assignments, pipeline_settings
from multilogger.flows.pipelines.wiring import LEARN, PREPARE


def test_defaults_are_the_papers() -> None:
    settings = pipeline_settings(PREPARE, "yeast", seed=7)
    loggers, replay = settings["train-loggers"].params(), settings["replay"].params()
    assert (loggers["alphas"], loggers["fraction"]) == ([0.05, 2.0], 0.2)
    assert (replay["passes"], replay["validation"]) == ([4], 0.25)
    assert loggers["seed"] == replay["seed"] == 7


def test_assignments_reach_their_stage() -> None:
    texts = ["alphas=0.05,1,2", "train-loggers.C=0.03", "passes=[1,4,4]", "split_by=context", "svd_dims=50"]
    settings = pipeline_settings(PREPARE, "tmc", 0, settings=parse_assignments(texts, stages=PREPARE))
    assert (
        flat(settings).items()
        >= {
            "train-loggers.C": 0.03,
            "replay.split_by": "context",
            "reduce.svd_dims": 50,
        }.items()
    )
    assert settings["train-loggers"].params()["alphas"] == [0.05, 1.0, 2.0]
    assert settings["replay"].params()["passes"] == [1, 4, 4]


def test_bare_name_belongs_to_the_named_stage_first() -> None:
    assert parse_assignments(["seed=3"], "replay") == {"replay.seed": 3}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["C"], "--set takes key=value, got 'C'"),
        (["colour=red"], "unknown setting 'colour'; 'multilogger stages' lists"),
        (["replay.C=1"], "unknown setting 'replay.C'; 'multilogger stages' lists"),
        (["fractoin=1"], "unknown setting 'fractoin'; did you mean 'fraction'\\? 'multilogger stages' lists"),
        (["seed=1"], "belongs to several stages; write train-loggers.seed or replay.seed"),
        (["C=-1"], "bad setting train-loggers.C: input should be greater than 0, got -1"),
        (["C=strong"], "bad setting train-loggers.C: .*, got 'strong'"),
        (["alphas="], r"bad setting train-loggers.alphas.0: .*, got ''"),
        (["alphas=[]"], "bad setting train-loggers.alphas: .*at least 1 item"),
        (["alphas=2,0"], "bad setting train-loggers.alphas.1: input should be greater than 0"),
        (["passes=1.5"], "bad setting replay.passes.0: .*integer"),
        (["fraction=1.5"], "less than or equal to 1, got 1.5"),
        (["validation=1"], "less than 1, got 1"),
        (["C=Infinity"], "bad setting train-loggers.C: .*finite"),
        (["passes=1,2,3"], "passes has 3 numbers for 2 loggers"),
        (["download.dataset=scene"], "the dataset is named by --dataset"),
        (["learn.actions=one-of"], "learn.actions is named by --actions"),
        (["split_by=day"], "should be 'row' or 'context', got 'day'"),
    ],
)
def test_bad_assignments(texts: list[str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        pipeline_settings(PREPARE, "digits", 0, settings=parse_assignments(texts, stages=PREPARE))


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("logger-3", "no reference 'logger-3' of 2 loggers; choose one of logger-1, logger-2, crf, best"),
        ("logger-0", "unknown method 'logger-0'"),
        ("1", "unknown method '1'"),
    ],
)
def test_a_logger_that_there_is_not_is_no_method(method: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        pipeline_settings(LEARN, "digits", 0, settings={"learn.method": method})


@pytest.mark.parametrize(
    ("dataset", "settings", "message"),
    [
        (
            "digits-one-of",
            {"learn.method": "additive"},
            "^additive is not for one-of actions, which digits-one",
        ),
        (
            "digits",
            {"learn.method": "dm"},
            "^dm is not for label vectors, which digits has; choose one of w.*dr",
        ),
        ("digits-one-of", {"reduce.labels": 3}, "reduce.labels keeps some of the labels, got 3"),
        (
            "digits-one-of",
            {"download.actions": "labels"},
            "digits-one-of has actions of the kind one-of, got",
        ),
        (
            "digits",
            {"download.actions": "many"},
            "bad setting download.actions: .*'labels' or 'one-of', got 'm",
        ),
    ],
)
def test_what_does_not_fit_the_actions(dataset: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        pipeline_settings(LEARN, dataset, 0, settings=settings)


def test_own_files_have_the_preset_of_their_kind_of_actions(wide_settings: dict[str, object]) -> None:
    """And the same key, whatever was said of them: the numbers are what counts."""
    one_of = {**wide_settings, "download.actions": "one-of", "learn.method": "balanced"}
    chosen = pipeline_settings(LEARN, "wide", 0, settings=one_of)["learn"]
    registered = pipeline_settings(LEARN, "digits-one-of", 0, settings={"learn.method": "balanced"})["learn"]
    assert chosen.params()["hidden"] == [256]
    assert chosen.identity() == registered.identity()
    labels = pipeline_settings(LEARN, "wide", 0, settings={**wide_settings, "learn.method": "balanced"})[
        "learn"
    ]
    assert labels.params()["hidden"] != [256]


def test_more_loggers_are_more_references() -> None:
    settings = {"learn.method": "logger-3", "train-loggers.alphas": [0.1, 1, 2]}
    assert pipeline_settings(LEARN, "digits", 0, settings=settings)["learn"].params()["method"] == "logger-3"


def test_unknown_dataset() -> None:
    with pytest.raises(BadInput, match=r"^unknown dataset 'mnist'; choose one of digits"):
        pipeline_settings(PREPARE, "mnist", 0)


@pytest.mark.parametrize("preset", [[], {"a": 1}, 3, None])
def test_a_preset_of_another_kind(preset: object) -> None:
    with pytest.raises(BadInput, match=r"^unknown preset"):
        pipeline_settings(LEARN, "digits", 0, settings={"learn.preset": preset})
