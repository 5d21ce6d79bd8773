"""What a finished `learn` leaves about its policy: tests of its loss model, its standing, its blind logits.

The blind logits are for a policy that may have learned from validation rows. Its estimates on those rows, by
which policies are compared, take them: at each context they are those of the part of the policy that has not
seen the context. A row that was learned from would praise it.
"""

import math
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.progress import say
from multilogger.tasks.engine.stage_run import StageRun, read_json

if TYPE_CHECKING:
    from multilogger.components.actions.arrays import Matrix
    from multilogger.components.datasets.labelled_data import Features
    from multilogger.components.learners.judging.guard import Guard
    from multilogger.components.log.memory import TrainingLog
    from multilogger.components.policies.policy import LearnedPolicy

ADDITIVITY_FILE, CALIBRATION_FILE, GUARD_FILE = "additivity.json", "calibration.json", "guard.json"
BLIND_FILE = "blind.safetensors"
SHOWN = ("p_value", "statistic", "slope", "intercept", "largest")


def check_additivity(
    policy: "LearnedPolicy", log: "TrainingLog", run: StageRun, p: "Matrix | None" = None
) -> None:
    """Test it on the validation rows, keep the result, and say so if it does not hold.

    `p` (m, q) stands for the policy's own chances where these were fitted to the validation rows.
    """
    from multilogger.components.learners.loss_models.additivity import additivity_test

    test = additivity_test(log, policy.mean_probabilities(log.x) if p is None else p)
    run.save_json(ADDITIVITY_FILE, asdict(test) | {"rejected": test.rejected})
    run.log_metrics(
        {
            "additivity/p_value": test.p_value,
            "additivity/gain": test.gain,
            "additivity/statistic": test.statistic,
        }
    )
    if test.rejected:
        say(
            f"the loss does not add up over labels (p = {test.p_value:.2g}, pairs of labels explain "
            f"{max(test.gain, 0.0):.1%} more of it): 'additive' may be biased here, use --method dr"
        )


def additivity_p_value(policy: Artifact) -> float | None:
    """What a finished `learn` found; None of a method that does not test it."""
    if ADDITIVITY_FILE not in policy.files:
        return None
    return float(read_json(policy.folder / ADDITIVITY_FILE)["p_value"])


def check_calibration(method: str, chances: "Matrix", log: "TrainingLog", run: StageRun) -> None:
    """Test a model's chances (m, K) of contexts that it has not seen, keep the result, say if it is off."""
    from multilogger.components.learners.loss_models.calibration import calibration_test

    test = calibration_test(log, chances)
    run.save_json(CALIBRATION_FILE, asdict(test) | {"rejected": test.rejected})
    run.log_metrics({f"calibration/{name}": getattr(test, name) for name in SHOWN})
    if test.rejected:
        say(test.complaint(method))


def calibration_found(policy: Artifact) -> tuple[float, bool] | None:
    """The p-value that a finished `learn` found, and whether its model is off; None without the test."""
    if CALIBRATION_FILE not in policy.files:
        return None
    kept = read_json(policy.folder / CALIBRATION_FILE)
    return float(kept["p_value"]), bool(kept["rejected"])


def keep_guard(method: str, guard: "Guard", loggers: tuple[str, ...], run: StageRun) -> None:
    """Keep how the policy stands, and say it where not all is well; `loggers` has names, if they have any."""
    name = loggers[guard.logger] if loggers else ""
    facts = {n: None if isinstance(v, float) and math.isnan(v) else v for n, v in asdict(guard).items()}
    del facts["max_loss"]  # which the log says
    run.save_json(GUARD_FILE, facts | {"note": guard.short(name)})
    metrics = {"gain": guard.gain, "standard_error": guard.standard_error, "rows": guard.effective_rows}
    run.log_metrics({f"guard/{n}": value for n, value in metrics.items() if math.isfinite(value)})
    if (line := guard.line(method, name)) is not None:
        say(line)


def guard_note(policy: Artifact) -> str:
    """What a finished `learn` noted for a table; empty where all is well, or nothing was compared."""
    return str(read_json(policy.folder / GUARD_FILE)["note"]) if GUARD_FILE in policy.files else ""


class Sight(StrEnum):
    """What a policy, as validation rows judge it, has seen of them.

    `none`: it learned from none. `blind`: it learned from them, and each is judged by a part that did not.
    `all`: it learned from them as it is judged, so that its estimates are too good.
    """

    NONE = "none"
    BLIND = "blind"
    ALL = "all"


class JudgedLogits(NamedTuple):
    """The logits (m, size) by which validation rows judge a policy, NaN at contexts that may not."""

    logits: "Matrix"
    sight: Sight


def keep_blind(logits: "Matrix", run: StageRun) -> None:
    """Keep blind logits (m, size) of all contexts, as single floats."""
    from safetensors.numpy import save_file

    save_file({"logits": np.ascontiguousarray(logits, dtype=np.float32)}, run.file(BLIND_FILE))


def judged_logits(policy: Artifact, learned: "LearnedPolicy", x: "Features") -> JudgedLogits:
    """Those that `learn` kept, or else the policy's own at contexts x (m, d)."""
    from safetensors.numpy import load_file

    if BLIND_FILE in policy.files:
        return JudgedLogits(load_file(policy.folder / BLIND_FILE)["logits"].astype(np.float64), Sight.BLIND)
    return JudgedLogits(learned.logits(x), Sight.ALL if learned.settings.get("fit_all") else Sight.NONE)
