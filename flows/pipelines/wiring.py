"""Which stage feeds which: the pipeline of replayed data, and that of a person's own log."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from multilogger.components.errors import BadInput
from multilogger.tasks.download import download
from multilogger.tasks.engine.stage import PlannedStage, StageSettings, plan_stage
from multilogger.tasks.evaluate import evaluate
from multilogger.tasks.lambda_star import estimate_lambda_star
from multilogger.tasks.learn import learn_policy
from multilogger.tasks.own_log.estimate import estimate_policy
from multilogger.tasks.own_log.import_log import import_log
from multilogger.tasks.own_log.propensities import complete_propensities
from multilogger.tasks.reduce import reduce
from multilogger.tasks.replay import replay
from multilogger.tasks.train_loggers import train_loggers

PREPARE = ("download", "reduce", "train-loggers", "replay")
LEARN = (*PREPARE, "learn", "lambda-star", "evaluate")
IMPORT = ("import-log", "propensities")
LEARN_OWN = (*IMPORT, "learn", "lambda-star", "estimate")
OWN_LOG = "import-log."
"""How the names of settings begin that only a person's own log has."""

PipelineSettings = Mapping[str, StageSettings]
"""The settings of every stage, by its name."""


def prepare_pipeline(settings: PipelineSettings) -> dict[str, PlannedStage]:
    """From download to bandit logs (section 5.1.1), by stage name, in order."""
    data = plan_stage(download, settings["download"])
    features = plan_stage(reduce, settings["reduce"], data=data)
    loggers = plan_stage(train_loggers, settings["train-loggers"], data=features)
    log = plan_stage(replay, settings["replay"], data=features, loggers=loggers)
    return {s.stage.name: s for s in (data, features, loggers, log)}


def learn_pipeline(settings: PipelineSettings) -> dict[str, PlannedStage]:
    """`prepare`, then a policy from its log, and what the policy is worth."""
    prepared = prepare_pipeline(settings)
    data, loggers, log = prepared["reduce"], prepared["train-loggers"], prepared["replay"]
    policy = plan_stage(learn_policy, settings["learn"], data=data, loggers=loggers, log=log)
    shares = plan_stage(estimate_lambda_star, settings["lambda-star"], data=data, log=log, policy=policy)
    scores = plan_stage(
        evaluate, settings["evaluate"], data=data, loggers=loggers, log=log, policy=policy, shares=shares
    )
    return prepared | {s.stage.name: s for s in (policy, shares, scores)}


def import_pipeline(settings: PipelineSettings) -> dict[str, PlannedStage]:
    """From a person's own log to one with all propensities, by stage name, in order."""
    data = plan_stage(import_log, settings["import-log"])
    log = plan_stage(complete_propensities, settings["propensities"], log=data)
    return {s.stage.name: s for s in (data, log)}


def own_log_pipeline(settings: PipelineSettings) -> dict[str, PlannedStage]:
    """The import, then a policy from the log, and what held-out rows say of it."""
    imported = import_pipeline(settings)
    data, log = imported["import-log"], imported["propensities"]
    policy = plan_stage(learn_policy, settings["learn"], data=data, loggers=log, log=log)
    shares = plan_stage(estimate_lambda_star, settings["lambda-star"], data=data, log=log, policy=policy)
    scores = plan_stage(
        estimate_policy, settings["estimate"], data=data, loggers=log, log=log, policy=policy, shares=shares
    )
    return imported | {s.stage.name: s for s in (policy, shares, scores)}


@dataclass(frozen=True)
class Roles:
    """Which stage makes the contexts, the log, and the last word on a policy."""

    data: str
    log: str
    scores: str


REPLAYED, OWN = Roles("reduce", "replay", "evaluate"), Roles("import-log", "propensities", "estimate")


def roles_of(stages: Collection[str]) -> Roles:
    """The roles in a pipeline that has these stages."""
    return OWN if "import-log" in stages else REPLAYED


def stages_for(names: Iterable[str], whole: bool = True) -> tuple[str, ...]:
    """The stages of the pipeline with settings of these names; not `whole`: before a policy is learned."""
    if any(name.startswith(OWN_LOG) for name in names):
        return LEARN_OWN if whole else IMPORT
    return LEARN if whole else PREPARE


def stages_with(stage: str, names: Iterable[str]) -> tuple[str, ...]:
    """The shortest pipeline with these settings that has a stage."""
    known = tuple(names)
    short, long = stages_for(known, whole=False), stages_for(known)
    if stage not in long:
        other = f"{OWN_LOG.removesuffix('.')} ..., with --logs" if stage in LEARN_OWN else "without --logs"
        raise BadInput(f"stage {stage} is of another pipeline: that of {other}; it has {', '.join(long)}")
    return short if stage in short else long


def pipeline_of(settings: PipelineSettings) -> dict[str, PlannedStage]:
    """The pipeline that these settings are of."""
    if "import-log" in settings:
        return own_log_pipeline(settings) if "learn" in settings else import_pipeline(settings)
    return learn_pipeline(settings) if "learn" in settings else prepare_pipeline(settings)
