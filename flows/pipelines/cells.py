"""A cell: a method on a dataset with one seed, from its logs to its evaluation."""

from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict

from multilogger.components.reproduction.names import OURS
from multilogger.components.reproduction.results import CellResult
from multilogger.flows.pipelines.registered_logs import with_registered_log
from multilogger.flows.pipelines.settings import flat, pipeline_settings
from multilogger.flows.pipelines.wiring import PipelineSettings, Roles, pipeline_of, roles_of, stages_for
from multilogger.tasks.cell_metrics import VALIDATION_ESTIMATOR, cell_metrics, why_not_chosen
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage import PlannedStage
from multilogger.tasks.evaluate import Evaluation
from multilogger.tasks.policy_checks import additivity_p_value, calibration_found, guard_note


class Cell(BaseModel):
    """What to run, and where in a table or sweep it stands; see `CellResult` for the last ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    dataset: str
    method: str
    seed: int = 0
    preset: str = "tuned"
    mirror: str | None = None
    settings: dict[str, Any] = {}
    replay_count: int | None = None
    tau: float | None = None
    loggers: int | None = None
    choice: str = ""
    axis: str = ""
    level: str = ""
    objective: str = ""

    @property
    def place(self) -> str:
        """Where in a sweep the cell stands, for people; before that its preset, if that is not ours."""
        parts = ("" if self.preset == OURS else self.preset, self._position())
        return " · ".join(part for part in parts if part)

    def _position(self) -> str:
        if self.replay_count is not None:
            return f"{self.replay_count} replays of logger 1"
        if self.loggers is not None:
            return f"{self.loggers} loggers"
        if self.axis:
            under = "" if self.objective == self.level else f", {self.objective}"
            return f"{self.axis} {self.level}{under}"
        return f"tau {self.tau:g}" if self.tau is not None else self.choice

    @property
    def name(self) -> str:
        """The name of its MLflow run."""
        parts = (self.dataset, self.method, f"seed {self.seed}", self.place)
        return " · ".join(part for part in parts if part)

    def chosen(self) -> PipelineSettings:
        """The settings of every stage, built once; raises `BadInput` if one is wrong."""
        return self._chosen

    @cached_property
    def _chosen(self) -> PipelineSettings:
        settings = with_registered_log(self.dataset, self.mirror, self.settings)
        choices = {"learn.method": self.method, "learn.preset": self.preset, **settings}
        return pipeline_settings(stages_for(choices), self.dataset, self.seed, self.mirror, choices)

    @property
    def roles(self) -> Roles:
        """Which of its stages does what."""
        return roles_of(self._chosen)

    def pipeline(self) -> dict[str, PlannedStage]:
        """The cell as a pipeline; equal pipelines are equal values. Raises as `chosen` does."""
        return self._pipeline

    @cached_property
    def _pipeline(self) -> dict[str, PlannedStage]:
        return pipeline_of(self._chosen)

    def __getstate__(self) -> dict[Any, Any]:
        """A worker wires its own pipeline; it is sent the settings, for own files may be elsewhere."""
        state = super().__getstate__()
        fields = {name: value for name, value in vars(self).items() if name != "_pipeline"}
        return {**state, "__dict__": fields}

    def result(self, evaluation: Evaluation, policy: Artifact | None, page: str) -> CellResult:
        """The numbers of a finished cell, and what its policy's loss model was tested for."""
        calibration = None if policy is None else calibration_found(policy)
        return CellResult(
            exp=evaluation.exp,
            greedy=evaluation.greedy,
            validation_risk=evaluation.estimates[VALIDATION_ESTIMATOR]["value"],
            additivity_p=None if policy is None else additivity_p_value(policy),
            calibration_p=None if calibration is None else calibration[0],
            calibration_off=None if calibration is None else calibration[1],
            note="" if policy is None else guard_note(policy),
            page=page,
            barred=why_not_chosen(
                self.method, cell_metrics(evaluation), flat(self._chosen).get("reduce.labels", 0)
            ),
            **self._place(),
        )

    def failure(self, reason: str) -> CellResult:
        """A cell without numbers."""
        return CellResult(exp=None, greedy=None, error=reason, **self._place())

    def _place(self) -> dict[str, Any]:
        return self.model_dump(exclude={"mirror", "settings"})
