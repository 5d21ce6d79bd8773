"""A served policy: MLflow's own server, started as a user starts it, and asked over HTTP."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import mlflow
import numpy as np
import pandas as pd
import pytest
from mlflow.exceptions import MlflowException
from mlflow.pyfunc.scoring_server import infer_and_parse_data

import multilogger as ml
from tests.waiting import answers, free_port, wait_for

ROWS = 240


def logged_frame(seed: int = 0) -> pd.DataFrame:
    """Numbers, words, booleans and gaps; an item, and two labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, ROWS).astype(float),
            "country": rng.choice(["it", "no", "jp"], ROWS),
            "member": rng.random(ROWS) < 0.5,
            "item": rng.choice(["tea", "jam", "rum"], ROWS),
            "mail": rng.integers(0, 2, ROWS),
            "call": rng.integers(0, 2, ROWS),
            "policy": rng.choice(["old", "new"], ROWS),
        }
    )
    frame.loc[rng.random(ROWS) < 0.1, "age"] = np.nan
    frame["click"] = (rng.random(ROWS) < np.where(frame["item"] == "tea", 0.7, 0.3)).astype(float)
    return frame


def learned(action: Any, propensity: float) -> ml.Policy:
    frame = logged_frame().assign(pscore=propensity)
    log = ml.BanditLog.from_pandas(
        frame, action=action, reward="click", reward_range=(0, 1), propensity="pscore", logger="policy",
        features=["age", "country", "member"],
    )  # fmt: skip
    return ml.Naive(epochs=3, hidden=(8,), risk_rate=0.05, seed=0).fit(log).policy_


POLICIES = {"one-of": lambda: learned("item", 1 / 3), "labels": lambda: learned(["mail", "call"], 0.25)}


@contextmanager
def server(model: Path, log: Path) -> Iterator[str]:
    """`mlflow models serve` on a free port."""
    port = free_port()
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", str(model), "--env-manager", "local"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, "-h", "127.0.0.1", "-p", str(port), "--workers", "1"],
            stdout=out,
            stderr=out,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: answers(f"{address}/ping"), process, log.read_text)
        yield address
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)


def post(address: str, body: Any) -> tuple[int, Any]:
    request = urllib.request.Request(
        f"{address}/invocations", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


RECORDS: list[dict[str, object]] = [
    {"age": 31, "country": "it", "member": True},
    {"age": None, "country": "jp", "member": False},
    {"age": 52.5, "country": "fr", "member": True},  # a country that the log does not have
]
FRAME = pd.DataFrame(RECORDS)
SPLIT = {"columns": ["age", "country", "member"], "data": [list(one.values()) for one in RECORDS]}


@pytest.mark.early
@pytest.mark.filterwarnings("ignore::multilogger.components.features.columns.UnseenValues")
@pytest.mark.parametrize("kind", POLICIES)
def test_the_server_takes_raw_frames_and_closes_the_loop(kind: str, tmp_path: Path) -> None:
    policy = POLICIES[kind]()
    ml.save_mlflow_model(policy, tmp_path / "model")
    with server(tmp_path / "model", tmp_path / "server.log") as address:
        status, found = post(address, {"dataframe_records": RECORDS})
        assert status == 200, found
        asked = pd.DataFrame(found["predictions"])
        assert list(asked.columns) == [str(name) for name in policy.actions]
        np.testing.assert_allclose(asked.to_numpy(), policy.predict_proba(FRAME), rtol=1e-6)
        assert post(address, {"dataframe_split": SPLIT}) == (200, found)

        body = {"dataframe_split": SPLIT, "params": {"decide": True, "seed": 7}}
        status, first = post(address, body)
        assert status == 200, first
        assert post(address, body) == (200, first)  # sent again
        decided = pd.DataFrame(first["predictions"])
        assert list(decided.columns) == ["action", "propensity", "log_propensity", "sample_id"]
        np.testing.assert_allclose(
            decided["log_propensity"], policy.log_proba(FRAME, decided["action"].tolist()), rtol=1e-6
        )
        np.testing.assert_allclose(np.exp(decided["log_propensity"]), decided["propensity"])
        assert len({UUID(one) for one in decided["sample_id"]}) == len(RECORDS)

        one = {"dataframe_records": RECORDS[:1], "params": {"decide": True, "seed": 7}}
        other = {"dataframe_records": RECORDS[1:2], "params": {"decide": True, "seed": 7}}
        ids = {post(address, each)[1]["predictions"][0]["sample_id"] for each in (one, other)}
        assert len(ids) == 2  # a seed that is used again gives other requests draws of their own
        free = {"dataframe_records": RECORDS, "params": {"decide": True}}
        assert post(address, free) != post(address, free)

        for wrong, message in (
            ({"dataframe_records": [{"country": "it"}]}, "the request has no column 'member'; give every"),
            (
                {"dataframe_records": RECORDS, "params": {"dcide": True}},
                "params may have decide, seed, not 'd",
            ),
            ({"dataframe_records": RECORDS, "params": {"decide": "perhaps"}}, "decide"),
        ):
            status, told = post(address, wrong)
            assert status == 400
            assert message in told["message"]
            assert "\n" not in told["message"] or message == "decide"  # which MLflow says itself

        # What was decided becomes the next log, with the reward that came later.
        again = logged_frame(1)[["age", "country", "member"]]
        rows = json.loads(again.to_json(orient="records"))
        status, later = post(address, {"dataframe_records": rows, "params": {"decide": True}})
        assert status == 200, later
    log_frame = again.join(pd.DataFrame(later["predictions"]))
    log_frame["click"] = (np.arange(ROWS) % 3 == 0).astype(float)
    log = ml.BanditLog.from_pandas(
        log_frame.assign(policy="served"), reward="click", logger="policy", log_propensity="log_propensity",
        features=policy.columns, actions=None if kind == "labels" else policy.actions,
    )  # fmt: skip
    next_policy = ml.Naive(epochs=3, hidden=(8,), risk_rate=0.05, seed=1).fit(log).policy_
    assert next_policy.predict_proba(again).shape == (ROWS, len(policy.actions))
    itself = ml.evaluate(policy, log, bootstrap=100).estimates["naive"]
    assert itself.mean_weight == pytest.approx(1.0, abs=1e-6)  # the propensities are those of the policy


def test_decisions_without_a_server() -> None:
    policy = learned("item", 1 / 3)
    frame = logged_frame(2)
    first, again = policy.decide(frame, 5), policy.decide(frame, 5)
    pd.testing.assert_frame_equal(first, again)
    assert list(first["action"]) == list(policy.sample(frame, 5))
    np.testing.assert_allclose(first["log_propensity"], policy.log_proba(frame, first["action"].to_numpy()))
    assert first["sample_id"].is_unique
    assert not set(first["sample_id"]) & set(policy.decide(frame)["sample_id"])


def test_what_is_no_policy_and_a_folder_in_use(tmp_path: Path) -> None:
    with pytest.raises(ml.BadInput, match="a Policy or a fitted learner is needed, got dict"):
        ml.save_mlflow_model({}, tmp_path / "model")
    (tmp_path / "file").touch()
    with pytest.raises(ml.BadInput, match="is not empty; give a new folder"):
        ml.save_mlflow_model(learned("item", 1 / 3), tmp_path)


def served(folder: Path) -> Any:
    """A model of a policy that knows times and booleans, none of them missing, as MLflow loads it."""
    frame = logged_frame().assign(
        pscore=1 / 3, at=pd.Timestamp("2026-01-01") + pd.to_timedelta(range(ROWS), "h")
    )
    log = ml.BanditLog.from_pandas(
        frame, action="item", reward="click", propensity="pscore", logger="policy", features=["member", "at"]
    )
    ml.save_mlflow_model(ml.Naive(epochs=3, hidden=(8,), risk_rate=0.05, seed=0).fit(log).policy_, folder)
    return mlflow.pyfunc.load_model(str(folder))


def asked(model: Any, records: list[dict[str, Any]]) -> Any:
    """What a request of JSON gets, without the server around it."""
    frame = infer_and_parse_data({"dataframe_records": records}, model.metadata.get_input_schema())
    return model.predict(frame).to_numpy()


@pytest.mark.filterwarnings("ignore::multilogger.components.features.columns.UnseenValues")
def test_times_with_a_zone_and_booleans_with_gaps_are_taken(tmp_path: Path) -> None:
    model = served(tmp_path / "model")
    at = ["2026-01-05T10:00:00", "2026-01-05T10:00:00Z", "2026-01-05T12:00:00+02:00"]
    first, utc, zoned = asked(model, [{"member": True, "at": one} for one in at])
    np.testing.assert_allclose(utc, first, rtol=1e-6)  # of three rows at once, one may differ in its last bit
    np.testing.assert_allclose(zoned, first, rtol=1e-6)
    frame = pd.DataFrame({"member": [True, False, None], "at": pd.to_datetime([at[0]] * 3)})
    wanted = model.predict(frame).to_numpy()
    np.testing.assert_allclose(wanted[0], first, rtol=1e-6)
    nullable, numbers = frame.member.astype("boolean"), pd.Series([1.0, 0.0, np.nan])
    zone = frame["at"].dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    for other in (frame.assign(member=nullable), frame.assign(member=numbers), frame.assign(at=zone)):
        np.testing.assert_array_equal(model.predict(other).to_numpy(), wanted)
    assert np.isfinite(asked(model, [{"member": None, "at": None}])).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"member": "yes"}, "the request, row 1: 'member' must be true, false or null, got 'yes'"),
        ({"member": 2}, "the request, row 1: 'member' must be true, false or null, got 2"),
        (
            {"at": "yesterday"},
            "row 1: 'at' must be a time such as 2026-01-05T10:00:00 or null, got 'yesterday'",
        ),
        (
            {"at": 1767600000},
            "row 1: 'at' must be a time such as 2026-01-05T10:00:00 or null, got 1767600000",
        ),
    ],
)
def test_odd_values_of_a_request_are_told_in_one_line(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    model, fine = served(tmp_path / "model"), {"member": True, "at": "2026-01-05T10:00:00"}
    with pytest.raises(MlflowException) as caught:
        asked(model, [fine, fine | changes])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_policy_is_loaded_by_the_name_that_mlflow_has_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    policy, before = learned("item", 1 / 3), mlflow.get_tracking_uri()
    ml.save_mlflow_model(policy, tmp_path / "model")
    client = mlflow.MlflowClient(os.environ["MLFLOW_TRACKING_URI"], os.environ["MLFLOW_TRACKING_URI"])
    client.create_registered_model("shop")
    version = client.create_model_version("shop", (tmp_path / "model").as_uri())
    client.set_registered_model_alias("shop", "champion", version.version)
    found = ml.load_policy("models:/shop@champion")
    np.testing.assert_array_equal(found.predict_proba(FRAME[:2]), policy.predict_proba(FRAME[:2]))
    with pytest.raises(ml.BadInput, match=r"MLflow at sqlite:.* has no policy 'models:/nowhere@champion'"):
        ml.load_policy("models:/nowhere@champion")
    assert mlflow.get_tracking_uri() == before
