"""Stage: an imported log -> the same with propensities under every logger, and the loggers' policies."""

import shutil
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import numpy as np
from pydantic import Field

from multilogger.components.errors import BadInput
from multilogger.components.names import metric_part
from multilogger.components.own_log.complete_log import (
    complete_log,
    read_times,
    repeat_own,
    write_by_policies,
    write_completed,
)
from multilogger.components.own_log.context_files import read_contexts
from multilogger.components.own_log.write_log import CONTEXT_FOLDER, LOG_FOLDER, TEST_FOLDER
from multilogger.components.propensities.estimated_policy import save_estimated
from multilogger.components.propensities.time import later_hats
from multilogger.tasks.dataset_files import load_facts
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.progress import say
from multilogger.tasks.engine.stage import StageSettings, stage
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.log_files import ESTIMATED_FILE

REPORT = "propensities.json"


class Fit(StrEnum):
    """What to do about propensities that the log lacks."""

    NEEDED = "needed"
    ALWAYS = "always"
    NEVER = "never"


class PropensitiesSettings(StageSettings):
    """When to estimate."""

    fit: Fit = Field(
        default=Fit.NEEDED,
        description="needed: estimate what was not logged; always: the loggers' policies in any case, which "
        "-exact methods need; never: a row's own propensity stands for all loggers",
    )
    time: bool = Field(
        default=True, description="whether loggers may change over time, where the log says the time of rows"
    )
    seed_of_folds: int = Field(default=0, ge=0, description="draws the folds of the estimate")


def all_logged(settings: PropensitiesSettings, inputs: Mapping[str, Artifact]) -> str | None:
    """A log with every propensity is complete."""
    if settings.fit is Fit.ALWAYS or load_facts(inputs["log"]).propensities != "all":
        return None
    return "all propensities were logged"


# 3: rows of one time stand at one place in time.
@stage("propensities", version=3, skip=all_logged)
def complete_propensities(settings: PropensitiesSettings, log: Artifact, run: StageRun) -> None:
    """Estimate the propensities that a log lacks, cross-fitted and calibrated, and check those it has."""
    facts, folders = load_facts(log), (log.folder, log.folder / TEST_FOLDER)
    places = (run.folder, run.folder / TEST_FOLDER)
    shutil.copyfile(log.folder / "summary.json", run.file("summary.json"))
    if settings.fit is Fit.NEVER:
        _repeat(facts.propensities, folders, places)
        return
    with run.progress("estimating propensities"):
        x = read_contexts(folders[0] / CONTEXT_FOLDER)
        time = read_times(folders[0] / LOG_FOLDER) if settings.time else None
        done, space = complete_log(folders[0] / LOG_FOLDER, x, facts.loggers, settings.seed_of_folds, time)
    write_completed(folders[0] / LOG_FOLDER, places[0] / LOG_FOLDER, done.log_propensities)
    test = read_contexts(folders[1] / CONTEXT_FOLDER)
    later = None if time is None else read_times(folders[1] / LOG_FOLDER)
    hats = None if time is None or later is None else later_hats(later, np.sort(time))
    write_by_policies(folders[1] / LOG_FOLDER, places[1] / LOG_FOLDER, test, done.of_rows, space, hats)
    save_estimated(run.file(ESTIMATED_FILE), done.policies)
    run.file(REPORT).write_text(done.report.to_json() + "\n", encoding="utf-8")
    run.log_metrics(
        {"estimated_share": done.report.estimated_share, "own_estimated_share": done.report.own_share}
    )
    for number, one in enumerate(done.report.loggers, start=1):
        run.log_metrics({f"log_likelihood/{metric_part(one.logger, number)}": one.log_likelihood})
    say(
        f"propensities: {done.report.own_share:.1%} of the rows' own and {done.report.estimated_share:.1%} "
        f"of those under every logger are estimated; {REPORT} says how well"
    )
    for finding in done.report.findings:
        say(finding)


def _repeat(logged: str, folders: tuple[Path, Path], places: tuple[Path, Path]) -> None:
    if logged == "none":
        raise BadInput(
            "propensities.fit=never keeps what was logged, but no propensity was; name their column with "
            "--propensity, or leave the setting out"
        )
    for folder, place in zip(folders, places, strict=True):
        repeat_own(folder / LOG_FOLDER, place / LOG_FOLDER)
