"""The command that a study came from, as its page shows it."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from multilogger.components.errors import without_secrets
from multilogger.flows.pipelines.registered_logs import registered_logs, with_registered_log
from multilogger.flows.pipelines.settings import FOUND_IN_LOG
from multilogger.tasks.engine.tracking import param_text

LOGS = "import-log.logs"
FILES = ("import-log.", "download.")  # options say these, not --set


def command_of(
    dataset: str,
    methods: Sequence[str],
    seeds: int,
    preset: str,
    mirror: str | None,
    settings: Mapping[str, Any],
) -> str:
    """All that decides the results, a mirror without its password; `...` stands for what is not said."""
    published = mirror and dataset in registered_logs() and settings.get(LOGS, mirror) == mirror
    known = with_registered_log(dataset, mirror, {}) if published else {}
    found = FOUND_IN_LOG if published else FOUND_IN_LOG[:2]  # elsewhere actions may have been typed
    typed = {name: v for name, v in settings.items() if name not in {f"import-log.{one}" for one in found}}
    rest = {name: value for name, value in typed.items() if name not in known or known[name] != value}
    words = ["multilogger", "study"]
    logs = rest.pop(LOGS, None)
    words += ["--dataset", dataset] if logs is None else ["--logs", param_text(logs), "--name", dataset]
    words += ["--mirror", without_secrets(mirror)] if mirror else []
    words += [word for method in methods for word in ("--method", method)]
    words += ["--seeds", str(seeds), "--preset", preset]
    said = [name for name in rest if not name.startswith(FILES)]
    words += [word for name in said for word in ("--set", f"{name}={param_text(rest[name])}")]
    return shlex.join(words) + (" ..." if len(said) < len(rest) else "")
