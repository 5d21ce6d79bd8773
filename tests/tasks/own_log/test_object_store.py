"""Logs in an object store: a real server that speaks S3, on this machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from multilogger.components.errors import BadInput
from multilogger.components.own_log.find_source import find_source, with_limit
from multilogger.flows.cli.log_options import log_name, log_settings
from multilogger.flows.evaluation.check import check_logs
from multilogger.tasks.engine.stage_run import StageRun, read_json
from multilogger.tasks.own_log.import_log import import_log
from multilogger.tasks.own_log.import_settings import ImportLogSettings
from tests.tasks.own_log.shop import COLUMNS, shop_frame

ROWS = 300


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a store whose bucket `shop` has two Parquet files in folders, and a CSV file."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "ACCESS_KEY_ID": "k",
            "SECRET_ACCESS_KEY": "s",
            "DEFAULT_REGION": "us-east-1",
        }.items():
            patch.setenv(f"AWS_{name}", value)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        moto.start()
        host, port = moto.get_host_and_port()
        store = fs.S3FileSystem(endpoint_override=f"{host}:{port}", scheme="http", allow_bucket_creation=True)
        store.create_dir("shop")
        frame = shop_frame(ROWS)
        for part, rows in (("2026-01", frame[:100]), ("2026-02", frame[100:])):
            rows.to_parquet(f"shop/logs/month={part}/a.parquet", filesystem=store)
        with store.open_output_stream("shop/csv/a.csv") as file:
            file.write(frame.to_csv(index=False).encode())
        yield f"{host}:{port}"
        moto.stop()


@pytest.fixture(params=["by the environment", "in the address"])
def options(request: pytest.FixtureRequest, server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the server is named: by the variable of AWS, or behind the path."""
    if request.param == "in the address":
        return f"?scheme=http&endpoint_override={server}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{server}")
    return ""


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("logs", ROWS),
        ("logs/month=2026-01/a.parquet", 100),
        ("logs/month=*/a.parquet", ROWS),
        ("logs/month=2026-0[2-9]/*", ROWS - 100),
        ("csv", ROWS),
    ],
)
def test_a_file_a_folder_and_a_glob(options: str, path: str, rows: int) -> None:
    source = find_source(f"s3://shop/{path}{options}")
    assert sum(len(batch) for batch in source.open().batches(["click"])) == rows
    assert source.digest() == find_source(f"s3://shop/{path}{options}").digest()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("shop/none", "cannot be listed (.*'shop/none/'.*); check the address and its credentials"),
        ("none/logs", "cannot be listed (.*bucket does not exist.*); check the address"),
        ("shop/logs/*.csv", "no files of Parquet or CSV"),
        ("shop", "has both Parquet and CSV files; name one kind"),
    ],
)
def test_what_is_not_there(options: str, path: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        find_source(f"s3://{path}{options}")


@pytest.mark.parametrize("path", ["azure://shop/logs", "https://shop.example/logs.parquet"])
def test_stores_that_arrow_does_not_know(path: str) -> None:
    with pytest.raises(
        BadInput, match=r"\(no object store that Arrow knows\); give s3:// or gs://, or a copy"
    ):
        find_source(path)


def test_the_store_of_google_is_not_asked_for_a_quarter_of_an_hour() -> None:
    """Without credentials Arrow asks again and again, and says nothing."""
    assert with_limit("gs://shop/logs", []) == ["retry_limit_seconds=20"]
    assert with_limit("gs://shop", ["project_id=a"]) == ["project_id=a&retry_limit_seconds=20"]
    assert with_limit("gs://shop", ["retry_limit_seconds=3"]) == ["retry_limit_seconds=3"]
    assert with_limit("s3://shop/logs", []) == []
    known, _ = fs.FileSystem.from_uri("?".join(["gs://anonymous@shop", *with_limit("gs://shop", [])]))
    assert known.type_name == "gcs"


def test_a_log_is_checked_and_imported_as_a_local_one_is(options: str, tmp_path: Path) -> None:
    shop_frame(ROWS).to_parquet(tmp_path / "log.parquet")
    found = []
    for number, logs in enumerate((f"s3://shop/logs{options}", str(tmp_path / "log.parquet"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        settings = ImportLogSettings.build({**COLUMNS, "logs": logs, "split_by": "time", "time": "at"})
        import_log.call(settings, {}, StageRun(folder))
        found.append(read_json(folder / "dataset.json"))
    assert found[0] == found[1]
    given: dict[str, Any] = {**COLUMNS, "action": ["item_id"], "features": ["user_*", "at"]}
    assert f"{ROWS} rows" in str(check_logs(log_settings(f"s3://shop/logs{options}", given)))


def test_a_log_is_named_by_its_path() -> None:
    assert log_name({"logs": "s3://shop/logs/2026?endpoint_override=localhost:1.x"}) == "2026"
    assert log_name({"logs": "s3://shop/clicks/*.parquet"}) == "clicks"
