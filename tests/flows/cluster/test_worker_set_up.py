"""Workers are more patient with MLflow's server than a command that may have a wrong address."""

from typing import Any

import pytest

from multilogger.flows.cluster.worker_set_up import environment_to_pass
from multilogger.flows.environment import DEFAULTS, PATIENT_RETRIES, RETRIES


@pytest.mark.parametrize(
    ("ours", "theirs"), [(None, PATIENT_RETRIES), (DEFAULTS[RETRIES], PATIENT_RETRIES), ("9", "9")]
)
def test_workers_wait_for_a_server_that_is_started_anew(
    ours: str | None, theirs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(RETRIES, raising=False)
    if ours is not None:
        monkeypatch.setenv(RETRIES, ours)
    assert environment_to_pass(None)[RETRIES] == theirs


def test_the_waiting_takes_two_minutes() -> None:
    from mlflow.utils.request_utils import JitteredRetry  # that of MLflow's own requests

    retry: Any = JitteredRetry
    left, waited = retry(total=int(PATIENT_RETRIES), backoff_factor=2), 0.0
    for _ in range(int(PATIENT_RETRIES)):
        left = left.increment("GET", "/", error=OSError("refused"))
        waited += left.get_backoff_time()
    assert 110 <= waited <= 130
