"""Every stage by its name, in the order of the pipeline."""

from multilogger.tasks.download import download
from multilogger.tasks.engine.stage import Stage
from multilogger.tasks.evaluate import evaluate
from multilogger.tasks.lambda_star import estimate_lambda_star
from multilogger.tasks.learn import learn_policy
from multilogger.tasks.reduce import reduce
from multilogger.tasks.replay import replay
from multilogger.tasks.train_loggers import train_loggers

STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (download, reduce, train_loggers, replay, learn_policy, estimate_lambda_star, evaluate)
}
