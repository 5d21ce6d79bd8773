"""MLflow runs of flows: of one pipeline, with its stages' runs nested or linked, or of many pipelines.

The run of a finished cell is noted in the store under the key of its evaluation: a reproduction links
hundreds of cells, and asking MLflow for their runs takes seconds.
"""

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from prefect.context import FlowRunContext

from multilogger.tasks.engine.artifact import Artifact, sweep_temporary_folders
from multilogger.tasks.engine.execution import Status, Surroundings
from multilogger.tasks.engine.runner import Outcome, Runner
from multilogger.tasks.engine.stage_run import MetricPoint
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import NOTE_TAG, Tracker


@dataclass(frozen=True)
class Finished:
    """What a flow made: an outcome a stage, and the MLflow run of the whole."""

    outcomes: dict[str, Outcome]
    run_id: str


@dataclass(frozen=True)
class TrackedRun:
    """An open MLflow run."""

    run_id: str
    tracker: Tracker

    def log_metrics(self, values: Mapping[str, float]) -> None:
        self.tracker.log(self.run_id, {}, [MetricPoint(name, value) for name, value in values.items()])


@dataclass(frozen=True)
class FlowRun(TrackedRun):
    """An open run of one pipeline: realise planned stages with `runner`, record results with `log_metrics`.

    `paragraphs` open the run's description, which goes on with its stages.
    """

    runner: Runner
    paragraphs: list[str] = field(default_factory=list)


def tidy(store: Store) -> None:
    """Mark and remove what killed processes left behind."""
    Tracker(store).bury_dead_runs()
    sweep_temporary_folders(store.artifacts, store.locks)


@contextmanager
def tracked_run(
    store: Store, experiment: str, name: str, tags: Mapping[str, str], params: Mapping[str, Any]
) -> Iterator[TrackedRun]:
    """Open a run that lives as long as the block, and end it as the block ends."""
    tracker, own = Tracker(store), dict(tags)
    context = FlowRunContext.get()
    if context is not None and context.flow_run is not None:
        own["prefect.flow_run_id"] = str(context.flow_run.id)
    with tracker.running(experiment, name, own) as run_id:
        tracker.log(run_id, params)
        yield TrackedRun(run_id, tracker)


@contextmanager
def flow_run(
    flow: str,
    dataset: str,
    seed: int,
    params: Mapping[str, Any],
    only: str | None = None,
    refresh: frozenset[str] = frozenset(),
    place: str = "",
    tidied: bool = False,
) -> Iterator[FlowRun]:
    """Open the run of a pipeline, and link every stage's run when the flow ends.

    `place` says where in a sweep the run stands; `tidied`, that somebody has tidied the store up just now.
    """
    store = Store.current().open()
    if not tidied:
        tidy(store)
    name = " · ".join(part for part in (dataset, flow, f"seed {seed}", place) if part)
    tags = {"flow": flow, "dataset": dataset, "seed": str(seed)} | ({"place": place} if place else {})
    with tracked_run(store, dataset, name, tags, params) as run:
        surroundings = Surroundings(root=store.root, dataset=dataset, seed=seed, flow_run_id=run.run_id)
        opened = FlowRun(run.run_id, run.tracker, Runner(store, surroundings, only, refresh))
        try:
            yield opened
        finally:
            _link_stages(opened, run.tracker.experiment(dataset))


def _link_stages(run: FlowRun, experiment: str) -> None:
    """Tags and a description that lead from the flow's run to the run that produced each result."""
    made = [o for o in run.runner.outcomes.values() if o.status is not Status.SKIPPED]
    if not made:
        return
    tags = {f"stage.{o.stage}.run_id": o.artifact.run_id for o in made}
    tags |= {f"stage.{o.stage}.status": o.status.value for o in made}
    page = f"#/experiments/{experiment}/runs"
    rows = [
        f"| {o.stage} | {o.status} | {o.artifact.key} | [{o.artifact.run_id}]({page}/{o.artifact.run_id}) |"
        for o in made
    ]
    table = "\n".join(["| stage | status | key | run that produced it |", "|---|---|---|---|", *rows])
    tags[NOTE_TAG] = "\n\n".join([*run.paragraphs, table])
    run.tracker.tag(run.run_id, tags)


def note_cell_run(store: Store, evaluation: Artifact, run_id: str) -> None:
    """Remember which run shows the cell that ended in this evaluation; the last one counts."""
    path = store.cell_runs / evaluation.key
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f".{path.name}.{run_id}")
    draft.write_text(f"{evaluation.run_id} {run_id}", encoding="ascii")
    draft.replace(path)


class CellPages:
    """The addresses of cells' pages, below that of MLflow's."""

    def __init__(self, store: Store) -> None:
        self._store, self._tracker = store, Tracker(store)
        self._experiments: dict[str, str] = {}
        self._searched: dict[str, dict[str, str]] = {}

    def address(self, dataset: str, evaluation: Artifact) -> str:
        """The page of the cell's run, or of its evaluation's if there is no run of the cell."""
        if dataset not in self._experiments:
            self._experiments[dataset] = self._tracker.experiment(dataset)
        run = self._noted(evaluation) or self._found(dataset, evaluation)
        return f"#/experiments/{self._experiments[dataset]}/runs/{run}"

    def _noted(self, evaluation: Artifact) -> str | None:
        """The noted run, unless the evaluation was made anew since."""
        with contextlib.suppress(OSError, ValueError):
            made, run = (self._store.cell_runs / evaluation.key).read_text(encoding="ascii").split()
            return run if made == evaluation.run_id else None
        return None

    def _found(self, dataset: str, evaluation: Artifact) -> str:
        if dataset not in self._searched:
            tag = f"stage.{evaluation.stage}.run_id"
            runs = self._tracker.runs_of(dataset, f"attributes.status = 'FINISHED' and tags.`{tag}` LIKE '%'")
            newest_last = reversed(runs)
            self._searched[dataset] = {run.data.tags[tag]: run.info.run_id for run in newest_last}
        run = self._searched[dataset].get(evaluation.run_id)
        if run is None:
            return evaluation.run_id
        note_cell_run(self._store, evaluation, run)
        return run
