"""What a `learn` run leaves about the loss model that `dm` takes its policy from, and `dr` corrects."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.progress import say
from multilogger.tasks.engine.stage_run import StageRun, read_json

if TYPE_CHECKING:
    from multilogger.components.actions.arrays import Matrix
    from multilogger.components.log.memory import TrainingLog

FILE = "calibration.json"
SHOWN = ("p_value", "statistic", "slope", "intercept", "largest")


def check_calibration(method: str, chances: "Matrix", log: "TrainingLog", run: StageRun) -> None:
    """Test a model's chances (m, K) of contexts that it has not seen, keep the result, say if it is off."""
    from multilogger.components.learners.loss_models.calibration import calibration_test

    test = calibration_test(log, chances)
    run.save_json(FILE, asdict(test) | {"rejected": test.rejected})
    run.log_metrics({f"calibration/{name}": getattr(test, name) for name in SHOWN})
    if test.rejected:
        say(test.complaint(method))


def calibration_found(policy: Artifact) -> tuple[float, bool] | None:
    """The p-value that a finished `learn` found, and whether its model is off; None without the test."""
    if FILE not in policy.files:
        return None
    kept = read_json(policy.folder / FILE)
    return float(kept["p_value"]), bool(kept["rejected"])
