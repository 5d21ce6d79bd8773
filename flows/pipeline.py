"""The pipeline as values: which stage feeds which."""

from multilogger.flows.settings import PipelineSettings
from multilogger.tasks.download import download
from multilogger.tasks.engine.stage import Step, step
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
