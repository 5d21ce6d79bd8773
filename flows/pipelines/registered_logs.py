"""Published logs that are known by name: a dataset that starts a pipeline of `import-log`."""

from collections.abc import Mapping
from typing import Any

from multilogger.components.errors import BadInput
from multilogger.components.log_formats.obd import CAMPAIGNS, COLUMNS, LAYOUTS

NOTE = "Open Bandit Dataset, campaign {campaign}: a shop's two loggers, clicks; on mirrors only"


def registered_logs() -> dict[str, tuple[int, str]]:
    """How many actions each has, and what it is, by name."""
    return {name: (CAMPAIGNS[campaign], NOTE.format(campaign=campaign)) for name, campaign in LAYOUTS.items()}


def with_registered_log(dataset: str, mirror: str | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a pipeline on a dataset; of a published log with its files and its columns.

    What is set stays: `import-log.split_by=context` splits the log otherwise.
    """
    owned = ("import-log.logs", "download.train_path")
    if dataset not in LAYOUTS or any(name in settings for name in owned):
        return dict(settings)
    if mirror is None or "://" in mirror:
        got = "" if mirror is None else f", got {mirror}"
        raise BadInput(
            f"{dataset} is read from files on this machine{got}; name the folder that has obd/ as it was "
            "published with --mirror"
        )
    columns = {f"import-log.{name}": value for name, value in COLUMNS.items()}
    return {**columns, "import-log.logs": mirror, "import-log.layout": dataset, **settings}
