"""The pipeline as values: which stage feeds which."""

from multilogger.flows.pipelines.settings import PipelineSettings
from multilogger.tasks.download import download
from multilogger.tasks.engine.stage import Step, step
from multilogger.tasks.evaluate import evaluate
from multilogger.tasks.lambda_star import estimate_lambda_star
from multilogger.tasks.learn import learn_policy
from multilogger.tasks.reduce import reduce
from multilogger.tasks.replay import replay
from multilogger.tasks.train_loggers import train_loggers


def prepare_steps(settings: PipelineSettings) -> dict[str, Step]:
    """From download to bandit logs (section 5.1.1), by stage name, in order."""
    data = step(download, settings["download"])
    features = step(reduce, settings["reduce"], data=data)
    loggers = step(train_loggers, settings["train-loggers"], data=features)
    log = step(replay, settings["replay"], data=features, loggers=loggers)
    return {s.stage.name: s for s in (data, features, loggers, log)}


def learn_steps(settings: PipelineSettings) -> dict[str, Step]:
    """`prepare`, then a policy from its log, and what the policy is worth."""
    prepared = prepare_steps(settings)
    data, loggers, log = prepared["reduce"], prepared["train-loggers"], prepared["replay"]
    policy = step(learn_policy, settings["learn"], data=data, loggers=loggers, log=log)
    shares = step(
        estimate_lambda_star, settings["lambda-star"], data=data, loggers=loggers, log=log, policy=policy
    )
    scores = step(
        evaluate, settings["evaluate"], data=data, loggers=loggers, log=log, policy=policy, shares=shares
    )
    return prepared | {s.stage.name: s for s in (policy, shares, scores)}


PREPARE = ("download", "reduce", "train-loggers", "replay")
LEARN = (*PREPARE, "learn", "lambda-star", "evaluate")
