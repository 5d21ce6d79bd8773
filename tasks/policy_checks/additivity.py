"""What a `learn` run leaves about the assumption that `additive` rests on."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.progress import say
from multilogger.tasks.engine.stage_run import StageRun, read_json

if TYPE_CHECKING:
    from multilogger.components.actions.arrays import Matrix
    from multilogger.components.log.memory import TrainingLog
    from multilogger.components.policies.policy import LearnedPolicy


FILE = "additivity.json"


def check_additivity(
    policy: "LearnedPolicy", log: "TrainingLog", run: StageRun, p: "Matrix | None" = None
) -> None:
    """Test it on the validation rows, keep the result, and say so if it does not hold.

    `p` (m, q) stands for the policy's own chances where these were fitted to the validation rows.
    """
    from multilogger.components.learners.loss_models.additivity import additivity_test

    test = additivity_test(log, policy.mean_probabilities(log.x) if p is None else p)
    run.save_json(FILE, asdict(test) | {"rejected": test.rejected})
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
    if FILE not in policy.files:
        return None
    return float(read_json(policy.folder / FILE)["p_value"])
