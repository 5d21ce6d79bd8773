"""Results of workers that have stores of their own, fetched into ours by hash; and our data for them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from multilogger.flows.cells.cell_task import CellOutcome
from multilogger.flows.cells.shared_stages import up_to
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.flow_run import flow_run
from multilogger.flows.pipelines.settings import flat
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.execution import Surroundings
from multilogger.tasks.engine.progress import unticked
from multilogger.tasks.engine.runner import Lookup, Outcome, Runner
from multilogger.tasks.engine.stage import PlannedStage
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker

NOTHING = ""
"""The name of the only stage that may be computed here: there is none."""


@dataclass(frozen=True)
class FoundElsewhere:
    """What a worker found, and the identity of the store that it is in."""

    outcome: CellOutcome
    identity: str


@dataclass
class Fetching:
    """Looks for results in a store, else takes MLflow's copy of them; every stage once."""

    store: Store
    outcomes: dict[PlannedStage, Outcome] = field(default_factory=dict)

    def here(self, cell: Cell, found: FoundElsewhere) -> CellOutcome:
        """The same outcome with artifacts of this store."""
        outcome = found.outcome
        if found.identity == self.store.identity:
            return CellOutcome(self._moved(outcome.evaluation), self._moved(outcome.policy), outcome.error)
        surroundings = Surroundings(
            root=self.store.root, dataset=cell.dataset, seed=cell.seed, flow_run_id=NOTHING
        )
        runner = Runner(self.store, surroundings, only=NOTHING, outcomes=self.outcomes)
        with unticked():
            pipeline = cell.pipeline()
            evaluation = runner.realise(pipeline[cell.roles.scores]).artifact
            return CellOutcome(evaluation, runner.realise(pipeline["learn"]).artifact)

    def _moved(self, artifact: Artifact | None) -> Artifact | None:
        """The same files by the path that the store has here."""
        return None if artifact is None else artifact.model_copy(update={"root": self.store.root})


def offer_data(cells: Sequence[Cell]) -> None:
    """See that MLflow has the data of cells: results of before there was a server are made again."""
    store = Store.current()
    lookup, tracker = Lookup(store), Tracker(store)
    for planned, cell in {cell.pipeline()[cell.roles.data]: cell for cell in cells}.items():
        had = [lookup.find(one) for one in up_to(planned)]
        lacking = {a.stage for a in had if a is not None and not tracker.finished_stage_runs(a.stage, a.key)}
        if lacking:
            params = flat(cell.chosen())
            again = frozenset(lacking)
            with flow_run("data", cell.dataset, cell.seed, params, refresh=again, tidied=True) as run:
                run.runner.realise(planned)
