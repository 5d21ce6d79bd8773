"""The MLflow run that stands for a whole flow: its stages' runs are nested under it or linked from it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from prefect.context import FlowRunContext

from multilogger.tasks.engine.artifact import sweep_temporary_folders
from multilogger.tasks.engine.execution import Outcome, Runner, Status, Surroundings
from multilogger.tasks.engine.locks import FileLock
from multilogger.tasks.engine.stage_run import MetricPoint
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import FLOW_LOCK, Tracker


@dataclass(frozen=True)
class Finished:
    """What a flow made: an outcome a stage, and the MLflow run of the whole."""

    outcomes: dict[str, Outcome]
    run_id: str


@dataclass(frozen=True)
class FlowRun:
    """An open flow run: realise steps with `runner`, record results with `log_metrics`."""

    run_id: str
    runner: Runner
    tracker: Tracker

    def log_metrics(self, values: Mapping[str, float]) -> None:
        self.tracker.log(self.run_id, {}, [MetricPoint(name, value) for name, value in values.items()])


@contextmanager
def flow_run(
    flow: str,
    dataset: str,
    seed: int,
    params: Mapping[str, Any],
    only: str | None = None,
    refresh: frozenset[str] = frozenset(),
) -> Iterator[FlowRun]:
    """Open the run, mark what killed processes left behind, and link every stage's run when the flow ends."""
    store = Store.current().open()
    tracker = Tracker(store)
    lock_path = store.locks / f"{FLOW_LOCK}{uuid4().hex}"
    with FileLock(lock_path):
        tracker.bury_dead_runs()
        sweep_temporary_folders(store.artifacts, store.locks)
        tags = {"flow": flow, "dataset": dataset, "seed": str(seed)}
        context = FlowRunContext.get()
        if context is not None and context.flow_run is not None:
            tags["prefect.flow_run_id"] = str(context.flow_run.id)
        run_id = tracker.start(dataset, f"{dataset} · {flow} · seed {seed}", lock_path, tags)
        surroundings = Surroundings(root=store.root, dataset=dataset, seed=seed, flow_run_id=run_id)
        runner = Runner(store, surroundings, only, refresh)
        try:
            tracker.log(run_id, params)
            yield FlowRun(run_id, runner, tracker)
        except BaseException as error:
            tracker.fail(run_id, error)
            raise
        else:
            tracker.finish(run_id)
        finally:
            _link_stages(tracker, run_id, tracker.experiment(dataset), list(runner.outcomes.values()))
            lock_path.unlink(missing_ok=True)


def _link_stages(tracker: Tracker, run_id: str, experiment: str, outcomes: Sequence[Outcome]) -> None:
    """Tags and a description that lead from the flow's run to the run that produced each result."""
    made = [o for o in outcomes if o.status is not Status.SKIPPED]
    if not made:
        return
    tags = {f"stage.{o.stage}.run_id": o.artifact.run_id for o in made}
    tags |= {f"stage.{o.stage}.status": o.status.value for o in made}
    page = f"#/experiments/{experiment}/runs"
    rows = [
        f"| {o.stage} | {o.status} | {o.artifact.key} | [{o.artifact.run_id}]({page}/{o.artifact.run_id}) |"
        for o in made
    ]
    tags["mlflow.note.content"] = "\n".join(
        ["| stage | status | key | run that produced it |", "|---|---|---|---|", *rows]
    )
    tracker.tag(run_id, tags)
