"""What a `learn` run leaves about its policy against the best logger of its log."""

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.progress import say
from multilogger.tasks.engine.stage_run import StageRun, read_json

if TYPE_CHECKING:
    from multilogger.components.learners.judging.guard import Guard

FILE = "guard.json"


def keep_guard(method: str, guard: "Guard", loggers: tuple[str, ...], run: StageRun) -> None:
    """Keep how the policy stands, and say it where not all is well; `loggers` has names, if they have any."""
    name = loggers[guard.logger] if loggers else ""
    facts = {n: None if isinstance(v, float) and math.isnan(v) else v for n, v in asdict(guard).items()}
    run.save_json(FILE, facts | {"note": guard.short(name)})
    metrics = {"gain": guard.gain, "standard_error": guard.standard_error, "rows": guard.effective_rows}
    run.log_metrics({f"guard/{n}": value for n, value in metrics.items() if math.isfinite(value)})
    if (line := guard.line(method, name)) is not None:
        say(line)


def guard_note(policy: Artifact) -> str:
    """What a finished `learn` noted for a table; empty where all is well, or nothing was compared."""
    return str(read_json(policy.folder / FILE)["note"]) if FILE in policy.files else ""
