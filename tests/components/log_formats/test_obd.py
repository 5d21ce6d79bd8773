"""`datasets.load_obd`: the Open Bandit Dataset as published, in a small copy of its layout and for real."""

import bz2
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import multilogger as ml
from multilogger.components.log_formats.obd import read_obd
from multilogger.flows.cli.log_options import log_name, own_log
from multilogger.flows.pipelines.registered_logs import with_registered_log
from multilogger.tasks.own_log.import_settings import ImportLogSettings

USERS = ",".join(f"user_feature_{i}" for i in range(4))
HEAD = f",timestamp,item_id,position,click,propensity_score,{USERS},user-item_affinity_0,user-item_affinity_1"
ITEMS = ",item_id,item_feature_0,item_feature_1\n0,0,-0.5,aa\n1,1,0.25,bb\n"
DAY = "2019-11-24 00:0"
RANDOM = f"""{HEAD}
0,{DAY}1:00.5+00:00,1,3,0,0.5,u,v,w,x,0.0,1.0
1,{DAY}2:00.5+00:00,0,1,1,0.5,u,v,w,y,0.0,0.0
"""
BTS = f"""{HEAD}
0,{DAY}3:00.5+00:00,1,2,1,0.75,u,v,w,x,0.0,0.0
1,{DAY}4:00.5+00:00,1,1,0,0.9,t,v,w,x,2.0,0.0
2,{DAY}5:00.5+00:00,0,1,0,0.125,u,v,w,x,0.0,0.0
"""


def write(base: Path, packed: bool = False, **changed: str) -> Path:
    """The layout of campaign men, as text or compressed."""
    texts = {"random": RANDOM, "bts": BTS, "random_items": ITEMS, "bts_items": ITEMS.replace("aa", "cc")}
    for name, text in (texts | changed).items():
        logger, _, items = name.partition("_")
        path = base / "obd" / logger / "men" / ("item_context.csv" if items else "men.csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        if packed:
            path.with_name(path.name + ".bz2").write_bytes(bz2.compress(text.encode()))
        else:
            path.write_text(text)
    return base


@pytest.mark.parametrize("packed", [False, True])
def test_layout_by_hand(packed: bool, tmp_path: Path) -> None:
    log = ml.datasets.load_obd("men", write(tmp_path, packed))
    assert repr(log) == "BanditLog(rows=5, contexts=5, features=9, actions=2, loggers=['bts', 'random'])"
    assert log.actions == (0, 1)
    assert log.columns.names[:5] == (
        "position=1", "position=2", "position=3", "user_feature_0=t", "user_feature_0=u",
    )  # fmt: skip
    np.testing.assert_array_equal(log.action, [1, 1, 0, 1, 0])
    np.testing.assert_array_equal(log.loss, [0, 1, 1, 1, 0])
    np.testing.assert_allclose(np.exp(log.log_propensity), [0.75, 0.9, 0.125, 0.5, 0.5])
    assert log.log_propensities is not None
    expected = [[0.75, 0.5], [0.9, 0.5], [0.125, 0.5], [np.nan, 0.5], [np.nan, 0.5]]
    np.testing.assert_allclose(np.exp(log.log_propensities), expected)
    assert log.time is not None
    assert str(log.time[0]).startswith("2019-11-24T00:03:00.5")


def test_affinities_and_the_folder_itself(tmp_path: Path) -> None:
    log = ml.datasets.load_obd("men", write(tmp_path) / "obd", affinities=True)
    assert log.columns.names[-2:] == ("user-item_affinity_0", "user-item_affinity_1")
    np.testing.assert_array_equal(np.asarray(log.x)[:, -2:], [[0, 0], [2, 0], [0, 0], [0, 1], [0, 0]])


@pytest.mark.parametrize(
    ("campaign", "changed", "message"),
    [
        ("boys", {}, "a campaign is one of all, men, women, got 'boys'"),
        (
            "all",
            {},
            r"there is no file .*obd/bts/all/all.csv, plain, .bz2 or .gz; give the folder of the Open",
        ),
        ("men", {"bts": "a,b\n1,2\n"}, "bts/men/men.csv has no column timestamp; give the file as it was"),
        ("men", {"bts": ""}, r"bts/men/men.csv cannot be read as CSV \(.*\); fetch it again"),
        (
            "men",
            {"random": RANDOM.replace("0,1,1,0.5", "0,1,1,0.25")},
            r"random/men/men.csv, row 1: the random logger has propensity 0.25, not 1/2 = 0.5; give the",
        ),
        (
            "men",
            {"bts_items": ITEMS.replace("0.25", "0.75")},
            "item_context.csv must have the same items with the same item_feature_0; give both files of one",
        ),
        (
            "men",
            {"bts": BTS.replace(",1,2,1,0.75", ",7,2,1,0.75")},
            "the log, row 0: action 7 is not one of the 2 actions 0, 1",
        ),
    ],
)
def test_bad_files(campaign: str, changed: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(ml.BadInput, match=message):
        ml.datasets.load_obd(campaign, write(tmp_path, False, **changed))


def test_affinities_that_are_not_there(tmp_path: Path) -> None:
    cut = "\n".join(line.rsplit(",", 1)[0] for line in BTS.splitlines())
    with pytest.raises(ml.BadInput, match="has no column user-item_affinity_1; read it without affinities"):
        read_obd(write(tmp_path, bts=cut), "men", affinities=True)


def test_export_for_the_commands(tmp_path: Path) -> None:
    columns = ml.datasets.export_obd("men", write(tmp_path), tmp_path / "out")
    settings = own_log({"columns": columns}, None)
    assert log_name({"columns": columns}) == "obd-men"
    assert settings["import-log.logs"] == str(tmp_path / "out" / "log.parquet")
    assert settings["import-log.actions"] == ["0", "1"]
    assert settings["import-log.features"] == ["position", "user_feature_*"]
    table = pq.read_table(settings["import-log.logs"])
    assert table.num_rows == 5
    named = [settings[f"import-log.{one}"] for one in ("reward", "propensity", "logger", "time")]
    assert set(named) <= set(table.column_names)


def test_registered_logs_read_the_published_layout(tmp_path: Path) -> None:
    settings = with_registered_log("obd-men", str(write(tmp_path)), {"import-log.split_by": "context"})
    values = {name.partition(".")[2]: value for name, value in settings.items()}
    built = ImportLogSettings.build(values)
    assert (built.actions, built.kind, built.split_by) == (("0", "1"), "one-of", "context")
    source = built.open()
    mapping = built.mapping(source)
    assert mapping.features == (
        "position",
        "user_feature_0",
        "user_feature_1",
        "user_feature_2",
        "user_feature_3",
    )
    assert mapping.time == "timestamp"
    rows = list(source.batches([*mapping.named, *mapping.features]))
    assert [one.where.split("/")[-3] for one in rows] == ["bts", "random"]
    assert rows[0].table.column("position").to_pylist() == ["2", "1", "1"]
    np.testing.assert_allclose(
        rows[0].matrix(mapping.propensities, ""), [[0.75, 0.5], [0.9, 0.5], [0.125, 0.5]]
    )
    items = tmp_path / "obd" / "random" / "men" / "item_context.csv"
    items.write_text(items.read_text().replace("bb", "dd"))
    assert built.found_digest() != built.digest


def test_registered_logs_need_files_on_this_machine() -> None:
    assert with_registered_log("shop", None, {}) == {}
    for mirror in (None, "https://example.org"):
        with pytest.raises(ml.BadInput, match=r"obd-all is read from files on this machine.*with --mirror"):
            with_registered_log("obd-all", mirror, {})


class Uniform:
    """The random logger as a policy."""

    def __init__(self, items: int) -> None:
        self.items = items

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return np.full((len(x), self.items), 1.0 / self.items)


@pytest.mark.parametrize(
    ("campaign", "items", "ips", "error", "rate"),
    [("men", 34, 0.0030, 0.0008, 0.0046), ("all", 80, 0.0024, 0.0009, 0.0038)],
)
def test_the_random_policy_from_the_samplers_rows_agrees_with_its_own(
    campaign: str, items: int, ips: float, error: float, rate: float, real_mirror: Path
) -> None:
    log = ml.datasets.load_obd(campaign, real_mirror)
    sampler, random = log.of("bts"), log.of("random")
    assert (len(sampler), len(random), len(log.actions)) == (10_000, 10_000, items)
    np.testing.assert_allclose(np.exp(random.log_propensity), 1 / items)

    click, weight = 1.0 - sampler.loss, 1 / items / np.exp(sampler.log_propensity)
    plain, own = float(np.mean(weight * click)), float(np.mean(1.0 - random.loss))
    off = float(np.std(weight * click, ddof=1)) / 100
    assert (round(plain, 4), round(off, 4), round(own, 4)) == (ips, error, rate)
    both = np.hypot(off, np.std(random.loss, ddof=1) / 100)
    assert abs(plain - own) < 2 * both

    judged = ml.evaluate(Uniform(items), sampler, bootstrap=200, seed=0)
    itself = ml.evaluate(Uniform(items), random, bootstrap=200, seed=0).estimates["naive-sn"]
    for name in ("naive-sn", "dr"):
        shown = judged.estimates[name].bootstrap
        assert shown.low <= 1 - own <= shown.high
        assert shown.high - shown.low > 2 * 1.96 * off  # no less than plain IPS is off
    exact = {46: (33.678, 61.358), 38: (26.891, 52.158)}[round(10_000 * own)]  # of a Poisson count
    assert 1 - exact[1] / 10_000 - 2e-4 < itself.bootstrap.low < 1 - exact[1] / 10_000 + 1e-6
    assert 1 - exact[0] / 10_000 - 1e-6 < itself.bootstrap.high < 1 - exact[0] / 10_000 + 2e-4
    assert "not told apart from the best logger's" in judged.recommendation
    assert "most differences between policies cannot be told" in judged.warnings[-1]
