"""Every stage by its name, in the order of the pipeline."""

from multilogger.tasks.download import download
from multilogger.tasks.engine.stage import Stage
from multilogger.tasks.evaluate import evaluate
from multilogger.tasks.lambda_star import estimate_lambda_star
from multilogger.tasks.learn import learn_policy
from multilogger.tasks.own_log.estimate import estimate_policy
from multilogger.tasks.own_log.import_log import import_log
from multilogger.tasks.own_log.propensities import complete_propensities
from multilogger.tasks.reduce import reduce
from multilogger.tasks.replay import replay
from multilogger.tasks.train_loggers import train_loggers

STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        download,
        reduce,
        train_loggers,
        replay,
        import_log,
        complete_propensities,
        learn_policy,
        estimate_lambda_star,
        evaluate,
        estimate_policy,
    )
}
