"""Defaults of Prefect and MLflow that must be in the environment before either is imported.

Every one of them gives way to a variable that is already set.
"""

import os

from multilogger.tasks.engine.store import Store

DEFAULTS = {
    # no telemetry, no look-ups
    "DO_NOT_TRACK": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    # a fresh database takes 17-26 s to migrate, over Prefect's limit of 20 s
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    # the ephemeral server otherwise loses records of tasks when the process ends at once;
    # Prefect cuts the interval to whole seconds, and 0 makes the server spin on a core
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    # seven more processes of 256 MB that nothing here uses
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "GIT_PYTHON_REFRESH": "quiet",
    # a server that does not answer is said within seconds, not minutes
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
}


def set_defaults() -> None:
    """Set what is not set yet. Prefect's database goes to the store unless PREFECT_HOME says otherwise."""
    for name, value in {**DEFAULTS, "PREFECT_HOME": str(Store.current().prefect_home)}.items():
        os.environ.setdefault(name, value)
