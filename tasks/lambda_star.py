"""Stage: bandit log and a policy -> lambda*, the weight of each logger, from one streaming pass."""

import numpy as np
from numpy.typing import NDArray

from multilogger.components.estimators.lambda_star import self_normalised_divergence, supported_lambda_star
from multilogger.components.log.disk import PolicyTable
from multilogger.components.long_log.logger_stats import logger_stats_of
from multilogger.tasks.dataset_files import load_contexts
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage import StageSettings, stage
from multilogger.tasks.engine.stage_run import StageRun, read_json
from multilogger.tasks.learn import load_learned
from multilogger.tasks.log_files import bandit_log_used, files_of_side
from multilogger.tasks.replay import load_summary


class LambdaStarSettings(StageSettings):
    """Nothing to set: lambda* follows from the log and the policy."""


# 4: sums are taken file by file and log h from a table of contexts, which moves last bits.
@stage("lambda-star", version=4, dataset=bandit_log_used)
def estimate_lambda_star(
    settings: LambdaStarSettings,  # noqa: ARG001 - every stage has settings
    data: Artifact,
    log: Artifact,
    policy: Artifact,
    run: StageRun,
) -> None:
    """Weigh the loggers by how well their training rows speak of the policy (section 2.1.1)."""
    learned = load_learned(policy)
    table = PolicyTable.of(learned.space, learned.logits(load_contexts(data).x))
    stats = logger_stats_of(files_of_side(log, validation=False), table, len(load_summary(log)))
    weights_of_loggers = supported_lambda_star(stats)
    counts = np.array([s.count for s in stats])
    shares = counts * weights_of_loggers
    run.save_json(
        "lambda_star.json",
        {
            "lambda": weights_of_loggers.tolist(),
            "share": shares.tolist(),
            "rows": counts.tolist(),
            "divergence": self_normalised_divergence(stats).tolist(),
            "mean_weight": [s.mean_w for s in stats],
        },
    )
    run.log_metrics({f"lambda_share/{j}": share for j, share in enumerate(shares)})
    run.log_metrics({f"mean_weight/{j}": s.mean_w for j, s in enumerate(stats)})


def load_shares(lambda_: Artifact) -> NDArray[np.float64]:
    """n_j lambda*_j of the training rows, one per logger; they add up to 1."""
    return np.array(read_json(lambda_.folder / "lambda_star.json")["share"])
