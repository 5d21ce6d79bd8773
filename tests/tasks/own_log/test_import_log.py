"""`import-log`: what it writes, how it splits, and what it says of a log that cannot be read."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import multilogger as ml
from multilogger.components.checks.disk.log_on_disk import check_files
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.log.files import open_log_files
from multilogger.components.log.memory import densify
from multilogger.components.log.reading import read_training_log
from multilogger.components.own_log.context_files import read_contexts
from multilogger.components.own_log.find_source import find_source
from multilogger.components.own_log.mapped_files import mapped_files
from multilogger.flows.pipelines.settings import checked_settings
from multilogger.flows.study.plan import study_cells
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage import Stage, StageSettings
from multilogger.tasks.own_log.import_log import import_log
from multilogger.tasks.own_log.import_settings import ImportLogSettings
from tests.tasks.conftest import make
from tests.tasks.own_log.shop import COLUMNS, shop_frame


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.parquet"
    shop_frame().to_parquet(path)
    return path


def run_stage(stage: Stage, settings: StageSettings, folder: Path, **inputs: Artifact) -> Artifact:
    return make(folder.parent, stage, settings, folder.name, **inputs)


def imported(path: Path | str, folder: Path, **changes: Any) -> Artifact:
    return run_stage(import_log, settings_of(path, **changes), folder)


def settings_of(path: Path | str, **changes: Any) -> ImportLogSettings:
    return ImportLogSettings.build({"logs": str(path), "dataset": "shop", **COLUMNS, **changes})


def rows_of(artifact: Artifact, part: str = "") -> pd.DataFrame:
    folder = artifact.folder / part
    log = open_log_files(folder / "log", contexts_given=True).dataset.to_table().to_pandas()
    return pd.DataFrame(log)


def test_every_row_is_kept_once_with_what_it_says(shop: Path, tmp_path: Path) -> None:
    made = imported(shop, tmp_path / "made")
    both = pd.concat([rows_of(made), rows_of(made, "test")])
    frame = shop_frame()
    assert len(both) == len(frame)
    facts = json.loads((made.folder / "dataset.json").read_text())
    assert facts["loggers"] == ["new", "old", "random"]
    assert (facts["features"], facts["labels"], facts["propensities"]) == (10, 3, "some")
    every = imported(shop, tmp_path / "every", propensity=None, propensities="p_new,p_old,p_random")
    assert json.loads((every.folder / "dataset.json").read_text())["propensities"] == "all"
    assert (
        both["logger"].value_counts().sort_index().tolist()
        == frame["policy"].value_counts().sort_index().tolist()
    )
    np.testing.assert_allclose(np.sort(both["log_propensity"]), np.sort(np.log(frame["pscore"])))
    assert both["delta"].sum() == pytest.approx((1 - frame["click"]).sum())
    assert json.loads((made.folder / "columns.json").read_text())["actions"] == ["jam", "pie", "tea"]


def test_contexts_are_the_features_that_the_api_makes(shop: Path, tmp_path: Path) -> None:
    made = imported(shop, tmp_path / "made", test=0.5, validation=0.5)
    log = read_training_log(made.folder / "log", read_contexts(made.folder / "contexts"))
    frame = shop_frame()
    row = int(np.flatnonzero(np.isclose(np.log(frame["pscore"]), log.log_propensities[0, log.logger[0]]))[0])
    columns = FeatureColumns.from_json(json.loads((made.folder / "columns.json").read_text())["features"])
    np.testing.assert_array_equal(densify(log.x[log.context[:1]]), columns(frame.iloc[[row]]))


def test_same_files_give_same_bytes_wherever_they_stand(shop: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "shop.parquet"
    other.parent.mkdir()
    other.write_bytes(shop.read_bytes())
    first, second = settings_of(shop), settings_of(other)
    assert first.identity() == second.identity()
    assert imported(shop, tmp_path / "one").digest == imported(other, tmp_path / "two").digest
    shop_frame(seed=1).to_parquet(other)
    assert settings_of(other).identity() != first.identity()


def test_files_that_changed_are_refused(shop: Path, tmp_path: Path) -> None:
    settings = settings_of(shop)
    shop_frame(seed=1).to_parquet(shop)
    with pytest.raises(ml.BadInput, match="have changed since they were last read"):
        run_stage(import_log, settings, tmp_path / "made")


def test_a_folder_a_glob_and_csv_are_the_same_log(tmp_path: Path) -> None:
    frame, folder = shop_frame(), tmp_path / "logs"
    folder.mkdir()
    for number in range(2):
        frame.iloc[number * 300 : (number + 1) * 300].to_parquet(folder / f"part-{number}.parquet")
    frame.to_csv(tmp_path / "shop.csv.gz", index=False)
    sizes = {
        name: len(rows_of(imported(path, tmp_path / name), "test"))
        for name, path in {"folder": folder, "glob": folder / "part-*.parquet"}.items()
    }
    assert sizes["folder"] == sizes["glob"]
    made = imported(tmp_path / "shop.csv.gz", tmp_path / "csv")
    assert json.loads((made.folder / "dataset.json").read_text())["features"] == 10


def test_by_time_test_is_last(shop: Path, tmp_path: Path) -> None:
    made = imported(shop, tmp_path / "made", split_by="time", time="at", features="user_age,at", test=0.2)
    ages = [densify(read_contexts(made.folder / part / "contexts"))[:, 2] for part in ("", "test")]
    rows, test = rows_of(made), rows_of(made, "test")
    assert len(test) == 120
    assert ages[0].max() == ages[1].min() == ages[1].max() == 1.0  # later than the log counts as its end
    assert (
        ages[0][rows["context"][rows["validation"]]].min()
        > ages[0][rows["context"][~rows["validation"]]].max()
    )


def test_a_given_split_is_kept(tmp_path: Path) -> None:
    frame = shop_frame().assign(part=np.tile(["train", "train", "valid", "test"], 150))
    frame.to_parquet(tmp_path / "shop.parquet")
    made = imported(tmp_path / "shop.parquet", tmp_path / "made", split_column="part")
    assert len(rows_of(made, "test")) == 150
    assert int(rows_of(made)["validation"].sum()) == 150


@pytest.mark.parametrize(
    "visits", [[f"v{i}" for i in range(300)], np.arange(300, dtype=np.uint64) + np.uint64(2**64 - 300)]
)
def test_rows_of_a_context_stay_together(visits: Any, tmp_path: Path) -> None:
    frame = pd.concat([shop_frame(300).assign(visit=visits)] * 2, ignore_index=True)
    frame.to_parquet(tmp_path / "shop.parquet")
    made = imported(tmp_path / "shop.parquet", tmp_path / "made", context="visit")
    rows, test = rows_of(made), rows_of(made, "test")
    assert rows["context"].value_counts().eq(2).all()
    assert test["context"].value_counts().eq(2).all()
    assert rows["context"].nunique() + test["context"].nunique() == 300
    assert read_contexts(made.folder / "contexts").shape[0] == rows["context"].nunique()


def test_label_vectors(tmp_path: Path) -> None:
    frame = shop_frame().assign(mail=lambda f: (f["item_id"] == "tea").astype(int), call=1)
    frame.to_parquet(tmp_path / "shop.parquet")
    made = imported(tmp_path / "shop.parquet", tmp_path / "made", action="mail,call")
    assert settings_of(tmp_path / "shop.parquet", action="mail,call").kind == "labels"
    facts = json.loads((made.folder / "dataset.json").read_text())
    assert facts["labels"] == 2
    assert np.stack(rows_of(made)["action"].tolist()).shape[1] == 2


def test_many_words_are_kept_sparse(tmp_path: Path) -> None:
    frame = shop_frame().assign(user_city=[f"c{i % 50}" for i in range(600)])
    frame.to_parquet(tmp_path / "shop.parquet")
    made = imported(tmp_path / "shop.parquet", tmp_path / "made", max_categories=20, hash_width=64)
    assert json.loads((made.folder / "dataset.json").read_text())["sparse"]
    assert densify(read_contexts(made.folder / "contexts")).shape[1] == 10 + 64


FRAME = shop_frame()


def changed(column: str, row: int, value: object) -> pd.DataFrame:
    frame = shop_frame()
    frame[column] = frame[column].astype(object)
    frame.loc[row, column] = value  # type: ignore[call-overload]
    return frame


@pytest.mark.parametrize(
    ("frame", "changes", "message"),
    [
        (FRAME, {"action": "item"}, "has no column 'item', what was done; did you mean 'item_id'?"),
        (FRAME, {"reward": "clicks"}, "has no column 'clicks'; did you mean 'click'? name one of"),
        (FRAME, {"reward": None}, "has no column of rewards or losses; name it with --reward or --loss"),
        (FRAME, {"features": "users_*"}, "is called 'users_*' (--features), it has user_age"),
        (FRAME, {"features": ""}, "has no features, neither a column 'x' nor x0, x1, ...; name them with"),
        (FRAME, {"features": "click"}, "column 'click' cannot be a feature: it is the action, the outcome"),
        (FRAME, {"loss": "click"}, "the outcome came twice, as --reward and --loss; give one of them"),
        (FRAME, {"reward_range": "0.5,1"}, "shop.parquet, row 0: the reward is 0, outside --reward-range"),
        (FRAME, {"actions": "jam,pie"}, "is not among the 2 of --all-actions; add it, or drop the row"),
        (FRAME.assign(item_id=FRAME.index % 2), {"actions": "0,1,--5"}, "must be of one kind, got int and"),
        (FRAME, {"split_by": "time"}, "a split by time needs the column of times; name it with --time"),
        (FRAME, {"split_by": "time", "time": "user_country"}, "'user_country' (time) must hold times or num"),
        (FRAME, {"split_by": "given"}, "name it with --split-column"),
        (FRAME.assign(click=1), {}, "rewards must vary, column 'click' is 1 in every row; give the least"),
        (FRAME.assign(item_id="tea"), {}, "column 'item_id' (action) is 'tea' in every row; a choice needs"),
        (FRAME.assign(click=3), {"reward": None, "loss": "click"}, "row 0: the loss is 3, above the largest"),
        (FRAME.assign(pscore=2.0), {}, "row 0: propensity is 2, a propensity above 1; give a probability"),
        (FRAME.assign(pscore=-0.5), {}, "row 0: propensity is -0.5, below 0; give a probability, or name a"),
        (FRAME.assign(pscore=0.0), {}, "row 0: propensity is 0, a propensity of 0 for an action that was"),
        (changed("click", 7, None), {}, "shop.parquet, row 7: 'click' is missing, NaN or infinite; fill it"),
        (changed("item_id", 7, None), {}, "shop.parquet, row 7: 'item_id' (action) is missing; fill it in"),
        (changed("policy", 7, None), {}, "shop.parquet, row 7: 'policy' (logger) is missing; fill it in or"),
        (changed("policy", 7, "once"), {}, "logger once has"),
        (FRAME.assign(policy=FRAME["policy"].mask(FRAME.index < 2, "few")), {}, "part, which needs"),
        (changed("user_age", 7, np.inf), {}, "shop.parquet, row 7: 'user_age' is inf, infinite or too large"),
        (FRAME.assign(item_id=0.5), {}, "must hold whole numbers, words or booleans, got double; cast it"),
        (FRAME.assign(p=-0.1), {"propensities": "p,p_new,p_old"}, "row 0: the propensity under logger new"),
        (FRAME, {"propensities": "p_new,p_old"}, "give 2 propensities a row, the log has 3 loggers; give"),
        (FRAME, {"propensities": "p_old,p_new,p_random"}, "in its place among all loggers; order them as"),
        (FRAME.assign(v=FRAME.index % 50), {"context": "v"}, "its features are not those of an earlier row"),
        (FRAME.assign(v=pd.Series([[1]] * 600)), {"context": "v"}, "column 'v' (context) must hold one"),
        (FRAME.assign(part="best"), {"split_column": "part"}, "must say train, validation or test, it is"),
        (FRAME.assign(click=-1e308), {}, "row 0: 'click' is -1e+308, more than 1e+30 from 0; count it in a"),
        (changed("user_age", 7, 1e300), {}, "row 7: 'user_age' is 1e+300, infinite or too large for a feat"),
        (FRAME.head(0), {}, "the log has no rows; check the filter that made it"),
    ],
)  # fmt: skip
def test_bad_logs(frame: pd.DataFrame, changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    frame.to_parquet(tmp_path / "shop.parquet")
    with pytest.raises(ml.BadInput) as caught:
        imported(tmp_path / "shop.parquet", tmp_path / "made", **changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_range_that_descends_is_refused() -> None:
    with pytest.raises(
        ml.BadInput, match=r"--reward-range must be the least and then the largest .* 1e\+30 from 0, got 1,0"
    ):
        checked_settings("import-log", {"logs": "shop.parquet", "reward_range": "1,0"})
    with pytest.raises(ml.BadInput, match=r"at most 1e\+30 from 0, got -1e\+308,1e\+308"):
        checked_settings("import-log", {"logs": "shop.parquet", "reward_range": "-1e308,1e308"})


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(
        ml.BadInput, match=r"there is no file or folder .*nowhere; --logs takes Parquet or CSV"
    ):
        settings_of(tmp_path / "nowhere")
    with pytest.raises(ml.BadInput, match="no files of Parquet or CSV"):
        settings_of(tmp_path)
    (tmp_path / "bad.parquet").write_text("not Parquet")
    with pytest.raises(ml.BadInput, match=r"bad\.parquet cannot be read as parquet"):
        settings_of(tmp_path / "bad.parquet")
    with pytest.raises(ml.BadInput, match="import-log needs the files of a log; name them with --logs"):
        settings_of("")
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    pq.write_table(table.append_column("click", table["click"]), tmp_path / "twice.parquet")
    with pytest.raises(
        ml.BadInput, match=r"^twice\.parquet has 2 columns that are called 'click'; give each"
    ):
        settings_of(tmp_path / "twice.parquet")
    folder = in_two_files(tmp_path / "logs", FRAME)
    (tmp_path / "twice.parquet").rename(folder / "b.parquet")
    with pytest.raises(ml.BadInput, match=r"^b\.parquet has 2 columns that are called 'click'; give each"):
        settings_of(folder)


@pytest.mark.parametrize("name", ["shop.csv", "shop.csv.gz", "shop.parquet"])
def test_a_pipe_is_no_log(name: str, tmp_path: Path) -> None:
    """Nobody writes into it: reading would wait without end."""
    os.mkfifo(tmp_path / name)
    with pytest.raises(ml.BadInput, match=rf"{name} is neither a file nor a folder, and a log is read twice"):
        settings_of(tmp_path / name)
    with pytest.raises(ml.BadInput, match="no files of Parquet or CSV"):
        settings_of(tmp_path)


def test_times_of_other_centuries_and_views(tmp_path: Path) -> None:
    """Kinds that some of Arrow's functions do not have."""
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    seconds = np.linspace(0, 3e14, len(FRAME)).astype(np.int64)
    late = pa.array(seconds, pa.timestamp("s", "+05:30"))
    table = table.set_column(table.column_names.index("at"), "at", late)
    for name in ("item_id", "user_country"):
        place = table.column_names.index(name)
        table = table.set_column(place, name, table[name].cast(pa.string_view()))
    pq.write_table(table, tmp_path / "shop.parquet")
    odd = rows_of(imported(tmp_path / "shop.parquet", tmp_path / "odd"))
    FRAME.to_parquet(tmp_path / "shop.parquet")
    usual = rows_of(imported(tmp_path / "shop.parquet", tmp_path / "usual"))
    assert odd[["action", "delta"]].equals(usual[["action", "delta"]])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"hello", "a.parquet cannot be read as parquet (Parquet file size is 5 bytes"),
        ("a.csv", b"", "a.csv cannot be read as csv (Invalid: CSV parse error: Empty CSV file"),
        ("a.csv", b"item_id,click\ntea,1\njam\n", "Row #3: Expected 2 columns, got 1: jam); mend the files"),
        ("a.csv", b"item_id;click\ntea, 1;1\n", "a.csv has semicolons between values; separate the values"),
        (
            "a.csv",
            b"item_id;click\ntea;1,0;2\n",
            "semicolons between values and decimal commas; separate the",
        ),
        (
            "a.csv",
            "item_id,click\ntea,1,2\n".encode("utf-16"),
            "a.csv is UTF-16, not UTF-8; write it in UTF-8",
        ),
        (
            "a.csv",
            b"item_id,click,user_a,at,pscore,policy\nt,1,1,2,.5,a\nj,oops,1,2,.5,a\n",
            "a.csv, row 1: column 'click' must hold numbers, it is 'oops'; mend the row, or cast the column",
        ),
        ("a.csv", b"item_id;click\ntea;1\n", "one column, 'item_id;click': separate the values by commas"),
        (
            "a.csv",
            "item_id,click,pscore,policy,user_a,at\nt\xe9,1,.5,a,3,1\n".encode("latin-1"),
            "a.csv: column 'item_id' (action) must hold whole numbers, words or booleans, got binary; write",
        ),
    ],
)
def test_files_that_are_something_else(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ml.BadInput) as caught:
        imported(tmp_path / name, tmp_path / "made")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"split_by": "time"}, "a split by time needs the column of times; name it with --time"),
        (
            {"split_by": "time", "time": "user_country"},
            "'user_country' (time) must hold times or numbers, got",
        ),
        ({"split_by": "given"}, "a given split needs the column that says it; name it with --split-column"),
        ({"split_column": "user_country"}, "'user_country' must say train, validation or test, it is"),
        (
            {"split_column": "user_age"},
            "must say train, validation or test, or be true for test rows, got do",
        ),
        (
            {"split_column": "part"},
            "column 'part' says validation of no row, and a policy needs all of train",
        ),
    ],
)
def test_a_split_that_cannot_be_is_said_before_cells_start(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    FRAME.assign(part=np.tile(["train", "test"], 300)).to_parquet(tmp_path / "shop.parquet")
    settings = {"logs": str(tmp_path / "shop.parquet"), **COLUMNS, **changes}
    with pytest.raises(ml.BadInput) as caught:
        study_cells("shop", ["dm"], 1, "auto", None, {f"import-log.{k}": v for k, v in settings.items()})
    assert message in str(caught.value)


def in_two_files(folder: Path, second: pd.DataFrame) -> Path:
    folder.mkdir()
    FRAME.to_parquet(folder / "a.parquet")
    second.to_parquet(folder / "b.parquet")
    return folder


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            FRAME.drop(columns="user_age"),
            "b.parquet has no column 'user_age', which a.parquet has; write the",
        ),
        (
            FRAME.drop(columns="policy"),
            "b.parquet has no column 'policy', which a.parquet has; write the col",
        ),
        (
            FRAME.astype({"user_age": str}),
            "'user_age' holds text in b.parquet and numbers in a.parquet; writ",
        ),
        (FRAME.astype({"item_id": "category"}).assign(item_id=1), "'item_id' holds numbers in b.parquet and"),
        (
            FRAME.astype({"user_member": int}),
            "'user_member' holds numbers in b.parquet and booleans in a.par",
        ),
        (FRAME.astype({"at": str}), "column 'at' holds text in b.parquet and times in a.parquet; write it"),
    ],
)
def test_files_of_one_log_have_the_same_columns(second: pd.DataFrame, message: str, tmp_path: Path) -> None:
    folder = in_two_files(tmp_path / "logs", second)
    with pytest.raises(ml.BadInput) as caught:
        settings_of(folder)
    assert message in str(caught.value)
    with pytest.raises(ml.BadInput) as caught:
        check_files(find_source(str(folder)).open(), settings_of(folder / "a.parquet").wanted)
    assert message in str(caught.value)


def test_files_may_differ_where_nothing_is_lost(tmp_path: Path) -> None:
    """Numbers of another width, booleans among numbers, categories, and propensities that nobody logged."""
    kinds: Any = {"user_age": "float32", "click": bool, "item_id": "category"}
    folder = in_two_files(tmp_path / "logs", FRAME.astype(kinds).drop(columns="pscore"))
    made = imported(folder, tmp_path / "made")
    assert json.loads((made.folder / "dataset.json").read_text())["propensities"] == "some"
    split = tmp_path / "split"
    for name, part in FRAME.groupby("policy"):  # a column that folders say is in no file
        (split / f"policy={name}").mkdir(parents=True)
        part.drop(columns="policy").to_parquet(split / f"policy={name}" / "a.parquet")
    assert settings_of(split).kind == "one-of"


def test_an_empty_cell_of_csv_is_missing_as_in_parquet(tmp_path: Path) -> None:
    frame = FRAME.assign(user_country=FRAME["user_country"].where(FRAME.index % 7 > 0))
    frame.to_parquet(tmp_path / "shop.parquet")
    frame.to_csv(tmp_path / "shop.csv", index=False)
    found = []
    for name in ("shop.parquet", "shop.csv"):
        facts = json.loads(
            (imported(tmp_path / name, tmp_path / f"of-{name}").folder / "columns.json").read_text()
        )
        country = FeatureColumns.from_json(facts["features"]).columns[1]
        report = check_files(find_source(str(tmp_path / name)).open(), settings_of(tmp_path / name).wanted)
        found.append((country.categories, country.missing, [one.line for one in report.findings]))
    assert found[0] == found[1]
    assert found[0][:2] == (("de", "fr"), True)


def test_a_reward_outside_of_the_stated_range_is_called_a_reward_at_every_door(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "shop.parquet")
    settings = settings_of(tmp_path / "shop.parquet", reward_range="0.2,0.5")
    source, stated = settings.open(), settings.stated(settings.open())
    doors: list[Callable[[], object]] = [
        lambda: check_files(source, settings.wanted, stated),
        lambda: mapped_files(source, replace(settings.wanted, features=("user_age",)), stated, None),
        lambda: run_stage(import_log, settings, tmp_path / "made"),
    ]
    for door in doors:
        with pytest.raises(
            ml.BadInput, match=r"shop\.parquet, row \d+: the reward is [01], outside --reward-ra"
        ):
            door()
