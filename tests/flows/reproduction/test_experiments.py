"""Which cells a table or figure is made of."""

import pytest

from multilogger.components.errors import BadInput
from multilogger.components.learners.presets.tuned import NEVER_BINDS
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.reproduction.experiments import EXPERIMENTS, STUDIES
from multilogger.flows.reproduction.plan import TARGETS, plan_of
from multilogger.flows.reproduction.scope import Scope
from multilogger.flows.reproduction.studies import CHOICES
from multilogger.tasks.learn_settings import preset_numbers


def test_table2_is_datasets_by_methods_by_seeds() -> None:
    scope = Scope(datasets=("scene", "yeast"), methods=("naive", "crf"), seeds=3)
    cells = plan_of("table2", scope)["table2"]
    assert [(c.dataset, c.method, c.seed) for c in cells[:4]] == [
        ("scene", "naive", 0),
        ("scene", "naive", 1),
        ("scene", "naive", 2),
        ("scene", "crf", 0),
    ]
    assert len(cells) == 2 * 2 * 3


def test_yeast_has_the_loggers_of_table_2_there_and_those_of_figure_1_elsewhere() -> None:
    table = plan_of("table2", Scope(datasets=("yeast",), methods=("naive",), seeds=1))["table2"][0]
    figure = plan_of("figure1", Scope(seeds=1))["figure1"][0]
    assert table.chosen()["train-loggers"].params()["C"] == 0.03
    assert figure.chosen()["train-loggers"].params()["C"] == 0.1


def test_figure1_varies_the_replays_of_the_first_logger_only() -> None:
    cells = plan_of("figure1", Scope(seeds=1))["figure1"]
    swept = [c for c in cells if c.method == "weighted-reg"]
    assert [c.replay_count for c in swept] == [1, 2, 4, 8, 16]
    assert [c.chosen()["replay"].params()["passes"] for c in swept] == [[n, 4] for n in (1, 2, 4, 8, 16)]
    assert {c.method for c in cells if c.replay_count is None} == {"logger-1", "logger-2", "crf"}


@pytest.mark.parametrize(("figure", "method"), [("figure2", "naive"), ("figure3", "weighted")])
def test_temperature_sweeps_have_ten_temperatures_and_two_lines(figure: str, method: str) -> None:
    cells = plan_of(figure, Scope(seeds=1))[figure]
    swept = [c for c in cells if c.tau is not None]
    assert [c.tau for c in swept] == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]
    assert {c.method for c in swept} == {f"{method}-reg"}
    assert [c.chosen()["learn"].params()["tau"] for c in swept] == [c.tau for c in swept]
    assert {c.method for c in cells if c.tau is None} == {method, "wcrm"}


@pytest.mark.parametrize("dataset", ["scene", "yeast", "tmc500", "digits"])
def test_sweeps_have_a_constraint_that_binds(dataset: str) -> None:
    for figure in ("figure1", "figure2", "figure3"):
        cells = plan_of(figure, Scope(datasets=(dataset,), seeds=1))[figure]
        swept = [c for c in cells if c.method.endswith("-reg")]
        assert swept
        assert all(c.chosen()["learn"].params()["kappa"] < NEVER_BINDS for c in swept)


def test_sweeps_of_the_printed_settings_keep_the_printed_constraint() -> None:
    cells = plan_of("figure2", Scope(seeds=1, presets=("paper",)))["figure2"]
    printed = preset_numbers("paper", "yeast", "naive-reg")["kappa"]
    assert {c.chosen()["learn"].params()["kappa"] for c in cells if c.tau is not None} == {printed}


@pytest.mark.parametrize("preset", CHOICES)
def test_every_choice_differs_from_the_default(preset: str) -> None:
    cells, own = plan_of("choices", Scope(seeds=1, presets=(preset,)))["choices"], CHOICES[preset]
    assert [(c.method, c.choice) for c in cells] == [(m, name) for m in own for name in own[m]]
    assert len({c.pipeline()["evaluate"] for c in cells}) == len(cells)


def test_choices_are_changes_of_presets_that_they_know() -> None:
    message = "choices are changes of the presets paper and tuned, got printed-objective; name one of these"
    with pytest.raises(BadInput, match=f"^{message}$"):
        plan_of("choices", Scope(seeds=1, presets=("printed-objective",)))


def test_pairwise_has_a_dataset_of_its_own() -> None:
    with pytest.raises(BadInput, match="leave --dataset out"):
        plan_of("pairwise", Scope(datasets=("scene",), seeds=1))


def test_all_has_everything_and_its_methods_are_those_of_table_2() -> None:
    plan = plan_of("all", Scope(datasets=("digits",), methods=("naive",), seeds=1))
    assert set(plan) == {*EXPERIMENTS, *STUDIES}
    assert {c.method for c in plan["table2"]} == {"naive"}
    assert {c.dataset for part in plan.values() for c in part} == {"digits", "pairwise"}
    assert "weighted-reg" in {c.method for c in plan["figure3"]}


def test_one_of_has_every_method_that_chooses_one_of_k() -> None:
    cells = plan_of("one-of", Scope(datasets=("digits-one-of",), seeds=2))["one-of"]
    methods = {c.method for c in cells}
    assert {
        "logger-1",
        "logger-2",
        "best-logger-greedy",
        "crf",
        "full-information",
    } < methods
    assert {"dm", "dr", "wcrm", "naive-reg", "balanced-exact"} < methods
    assert not {"additive", "additive-soft"} & methods
    assert len(cells) == 2 * len(methods)
    assert {c.chosen()["learn"].params()["actions"] for c in cells} == {"one-of"}
    table = {c.method for c in plan_of("table2", Scope(datasets=("digits",), seeds=1))["table2"]}
    assert "additive" in table
    assert "dm" not in table


@pytest.mark.parametrize(
    ("scope", "tables"),
    [
        (
            Scope(datasets=("digits", "digits-one-of"), seeds=1),
            {"table2": {"digits"}, "one-of": {"digits-one-of"}},
        ),
        (Scope(datasets=("digits-one-of",), seeds=1), {"table2": set(), "one-of": {"digits-one-of"}}),
        (Scope(datasets=("digits",), methods=("dm",), seeds=1), {"table2": set(), "one-of": set()}),
        (
            Scope(methods=("logger-1",), seeds=1),
            {"table2": {"scene", "yeast", "tmc"}, "one-of": {"digits-one-of"}},
        ),
    ],
)
def test_of_everything_each_table_takes_its_own_kind_of_actions(
    scope: Scope, tables: dict[str, set[str]]
) -> None:
    """Without a mirror there is one dataset of one-of actions."""
    plan = plan_of("all", scope)
    assert {name: {c.dataset for c in plan[name]} for name in tables} == tables


def test_own_settings_win_over_the_experiments() -> None:
    scope = Scope(datasets=("yeast",), methods=("naive",), seeds=1, settings={"train-loggers.C": 1.0})
    cell = plan_of("table2", scope)["table2"][0]
    assert cell.chosen()["train-loggers"].params()["C"] == 1.0


def test_own_settings_reach_the_methods_that_read_them() -> None:
    methods = ("logger-1", "weighted", "weighted-reg")
    scope = Scope(datasets=("scene",), methods=methods, seeds=1, settings={"learn.tau": 2.0})
    assert [cell.settings for cell in plan_of("table2", scope)["table2"]] == [{}, {}, {"learn.tau": 2.0}]


@pytest.mark.parametrize(
    ("target", "scope", "message"),
    [
        ("table3", Scope(), "unknown target 'table3'; choose one of " + ", ".join(TARGETS)),
        ("table2", Scope(methods=("magic",)), "unknown method 'magic'"),
        ("table2", Scope(datasets=("mars",)), "unknown dataset 'mars'"),
        ("table2", Scope(presets=("best",)), "unknown preset 'best'"),
        ("table2", Scope(settings={"learn.tau": -1}), "tau must be above 0"),
        (
            "table2",
            Scope(methods=("weighted",), settings={"learn.tau": 2}),
            "none of these methods reads learn.tau",
        ),
        ("table2", Scope(settings={"learn.method": "naive"}), "learn.method is named by --method"),
        ("table2", Scope(settings={"learn.seed": 3}), "learn.seed is the seed of the cell"),
        ("figure2", Scope(settings={"learn.tau": 2}), "figure2 varies learn.tau itself"),
        ("choices", Scope(settings={"learn.clip": 5, "learn.hidden": "8"}), "choices varies learn.hidden"),
        (
            "table2",
            Scope(datasets=("satimage",)),
            "table2 is for label vectors, and satimage has one-of actions; choose among digits, scene",
        ),
        (
            "one-of",
            Scope(datasets=("digits-one-of", "scene")),
            "one-of is for one-of actions, and scene has label vectors; choose among digits-one-of, sat",
        ),
        ("constraint", Scope(datasets=("satimage",)), "constraint is for label vectors, and satimage"),
        (
            "loggers",
            Scope(datasets=("digits-one-of",)),
            "additive is not for one-of actions, which digits-one",
        ),
        (
            "table2",
            Scope(datasets=("digits",), methods=("dm",)),
            "dm is not for label vectors, which digits has",
        ),
        ("figure2", Scope(methods=("naive",)), "a temperature sweep has methods of its own"),
        ("choices", Scope(methods=("naive",)), "choices has methods of its own"),
    ],
)
def test_wrong_input_is_said_before_anything_runs(target: str, scope: Scope, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        plan_of(target, scope)


def test_no_seed_is_no_reproduction() -> None:
    with pytest.raises(BadInput, match="--seeds must be a number from 1 to 1,000, got 0"):
        Scope(seeds=0)


def test_a_cell_says_where_it_stands() -> None:
    assert Cell(dataset="yeast", method="naive", seed=3).name == "yeast · naive · seed 3"
    assert Cell(dataset="yeast", method="naive-reg", tau=2.5).name == "yeast · naive-reg · seed 0 · tau 2.5"
    assert Cell(dataset="yeast", method="naive", replay_count=8).place == "8 replays of logger 1"
    printed = Cell(dataset="yeast", method="naive", preset="paper", tau=2.0)
    assert printed.name == "yeast · naive · seed 0 · paper · tau 2"
