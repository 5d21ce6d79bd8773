"""Which cells the study of the constraint is made of, and a small one end to end."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from multilogger.components.errors import BadInput
from multilogger.components.reproduction.tables.constraint import AXES
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.reproduction import studies
from multilogger.flows.reproduction.plan import plan_of
from multilogger.flows.reproduction.reproduce import reproduce
from multilogger.flows.reproduction.scope import Scope
from multilogger.flows.reproduction.studies import STUDY_VARIES, points
from multilogger.flows.reproduction.tables import reproduction_notes, reproduction_tables

METHODS = ("naive", "naive-reg", "weighted", "weighted-reg", "wcrm")


def planned(dataset: str = "yeast", **scope: object) -> list[Cell]:
    return plan_of("constraint", Scope(datasets=(dataset,), seeds=1, **scope))["constraint"]  # type: ignore[arg-type]


def at(cells: list[Cell], method: str, axis: str, level: str, objective: str) -> Cell:
    place = (method, axis, level, objective)
    (found,) = [cell for cell in cells if (cell.method, cell.axis, cell.level, cell.objective) == place]
    return found


def key_settings(cell: Cell) -> list[object]:
    """What decides the result of each stage, whatever the preset is called."""
    return [settings.identity() for settings in cell.chosen().values()]


def test_every_point_has_every_method() -> None:
    cells = plan_of("constraint", Scope(seeds=2))["constraint"]
    assert {cell.dataset for cell in cells} == {"yeast"}
    assert Counter(cell.axis for cell in cells) == {
        "objective": 7 * 5 * 2, "passes": 4 * 2 * 5 * 2, "alpha": 4 * 2 * 5 * 2, "labels": 4 * 2 * 5 * 2,
    }  # fmt: skip
    assert {cell.method for cell in cells} == set(METHODS)
    assert {cell.chosen()["train-loggers"].params()["C"] for cell in cells} == {0.03}
    # 6 steps, ours, and 9 other levels under both; WCRM has ten logs.
    assert len({str(key_settings(cell)) for cell in cells}) == 2 * ((6 + 1 + 9 * 2) * 4 + 10)


@pytest.mark.parametrize("method", METHODS)
def test_axes_meet_in_one_point_that_runs_once(method: str) -> None:
    cells = planned()
    for objective in ("printed", "ours"):
        bases = [
            at(cells, method, axis, AXES[axis].base, objective) for axis in ("passes", "alpha", "labels")
        ]
        assert len({cell.pipeline()["evaluate"] for cell in bases}) == 1
    printed = at(cells, method, "passes", "4", "printed")
    first = AXES["objective"].base
    assert key_settings(at(cells, method, "objective", first, first)) == key_settings(printed)
    ours = at(cells, method, "passes", "4", "ours")
    assert at(cells, method, "objective", "whole shift, cut", "ours").pipeline() == ours.pipeline()
    for cell in (ours, printed):
        scope = Scope(datasets=("yeast",), methods=(method,), seeds=1, presets=(cell.preset,))
        (table2,) = plan_of("table2", scope)["table2"]
        assert cell.pipeline() == table2.pipeline()


def test_steps_change_the_objective_and_keep_the_printed_constraint() -> None:
    cells = [cell for cell in planned() if cell.axis == "objective" and cell.objective != "ours"]
    found = {
        cell.level: tuple(
            cell.chosen()["learn"].params()[name] for name in ("loss_shift", "shift_share", "weights")
        )
        for cell in cells
        if cell.method == "weighted-reg"
    }
    assert found == {
        "no shift, raw": ("none", 1.0, "raw"),
        "half shift, raw": ("baseline", 0.5, "raw"),
        "whole shift, raw": ("baseline", 1.0, "raw"),
        "no shift, cut": ("none", 1.0, "clip"),
        "half shift, cut": ("baseline", 0.5, "clip"),
        "whole shift, cut": ("baseline", 1.0, "clip"),
    }
    numbers = [cell.chosen()["learn"].params() for cell in cells if cell.method.endswith("-reg")]
    assert len({(n["kappa"], n["inner_iterations"], n["tau"]) for n in numbers}) == 1
    assert {n["clip"] for n in numbers if n["weights"] == "clip"} == {30.0}
    assert len({cell.pipeline()["evaluate"] for cell in cells if cell.method == "wcrm"}) == 1


def test_levels_reach_the_log() -> None:
    cells = planned()
    passes = [
        at(cells, "naive", "passes", level, "ours").chosen()["replay"] for level in ("1", "2", "4", "16")
    ]
    assert [settings.params()["passes"] for settings in passes] == [[1], [2], [4], [16]]
    alphas = [
        at(cells, "naive", "alpha", level, "printed").chosen()["train-loggers"]
        for level in ("0.5", "1", "2", "4")
    ]
    assert [settings.params()["alphas"] for settings in alphas] == [[0.05, a] for a in (0.5, 1.0, 2.0, 4.0)]
    labels = [
        at(cells, "wcrm", "labels", level, "ours").chosen()["reduce"] for level in ("2", "4", "8", "all")
    ]
    assert [settings.params()["labels"] for settings in labels] == [2, 4, 8, 0]


def test_a_dataset_has_no_more_labels_than_it_has() -> None:
    kept = dict.fromkeys(cell.level for cell in planned("scene") if cell.axis == "labels")
    assert list(kept) == ["2", "4", "all"]


@pytest.mark.parametrize("name", STUDY_VARIES)
def test_what_the_study_varies_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match=f"^constraint varies {name} itself; leave it out$"):
        planned(settings={name: 1})


def test_study_varies_everything_that_its_axes_name() -> None:
    assert STUDY_VARIES == (
        "learn.clip", "learn.loss_shift", "learn.shift_share", "learn.weights",
        "reduce.labels", "replay.passes", "train-loggers.alphas",
    )  # fmt: skip


def test_methods_and_presets_are_its_own() -> None:
    with pytest.raises(BadInput, match=r"^constraint has methods of its own .*; leave --method out$"):
        planned(methods=("naive",))
    message = (
        r"^constraint has presets of its own \(printed-objective, tuned\), got paper; leave --preset out$"
    )
    with pytest.raises(BadInput, match=message):
        planned(presets=("paper",))
    everything = plan_of("all", Scope(datasets=("digits",), seeds=1, presets=("paper",)))
    assert {cell.preset for cell in everything["constraint"]} == {"printed-objective", "tuned"}


def test_a_cell_says_where_in_the_study_it_stands() -> None:
    cells = planned()
    assert at(cells, "naive", "labels", "4", "ours").name == "yeast · naive · seed 0 · labels 4, ours"
    step = at(cells, "naive", "objective", "no shift, cut", "no shift, cut")
    assert step.name == "yeast · naive · seed 0 · printed-objective · objective no shift, cut"


@pytest.mark.early
def test_two_points_end_to_end(store_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = [point for point in points() if (point.axis, point.level) == ("labels", "4")]
    monkeypatch.setattr(studies, "points", lambda _: two)
    quick = {"learn.epochs": 2, "learn.wcrm_rounds": 1, "learn.wcrm_iterations": 2, "learn.warm_up_steps": 2}
    done = reproduce("constraint", ["digits"], seeds=1, out=str(tmp_path), settings=quick, workers=1)
    assert done.failures == []
    with (tmp_path / "constraint.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["level"], row["objective"], row["estimator"]) for row in rows] == [
        ("4", objective, estimator)
        for objective in ("printed", "ours")
        for estimator in ("naive", "weighted")
    ]
    assert all(0 < float(row["direct_mean"]) < 4 for row in rows), "of four labels no more can be wrong"
    assert rows[0]["wcrm_mean"] == rows[2]["wcrm_mean"]
    assert rows[0]["direct_mean"] != rows[2]["direct_mean"]
    assert (tmp_path / "constraint-digits.svg").exists()
    (title,) = reproduction_tables(done.reproduction)
    assert title == "When does the constraint help? EXP, and its change to the direct twin"
    assert reproduction_notes(done.reproduction)[0].startswith("digits: One seed has no interval")
    assert len(list((store_root / "artifacts" / "learn").iterdir())) == 9
