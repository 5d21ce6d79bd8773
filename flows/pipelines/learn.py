"""Flow: a policy learned from bandit logs, and what it is worth."""

from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.flow_run import Finished
from multilogger.flows.pipelines.run_cell import name_champion, run_cell
from multilogger.flows.pipelines.summary import estimate_rows, loss_rows
from multilogger.flows.terminal.terminal import to_markdown
from multilogger.tasks.engine.progress import tick_off
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker


@flow(name="learn", flow_run_name="learn {dataset} {method} seed {seed}")
def learn(
    dataset: str = "digits",
    method: str = "weighted-reg",
    seed: int = 0,
    preset: str = "tuned",
    mirror: str | None = None,
    settings: dict[str, Any] | None = None,
    refresh: list[str] | None = None,
) -> Finished:
    """Prepare the logs, learn from them, weigh the loggers and evaluate.

    `settings` maps `stage.setting` to a value; `refresh` names stages to compute again.
    """
    cell = Cell(
        dataset=dataset, method=method, seed=seed, preset=preset, mirror=mirror, settings=settings or {}
    )
    done = run_cell(cell, frozenset(refresh or ()))
    tick_off(name_champion(Tracker(Store.current()), dataset))
    text = [
        f"# {dataset}, {method}, seed {seed}",
        to_markdown(loss_rows(done.outcomes)),
        to_markdown(estimate_rows(done.outcomes)),
    ]
    create_markdown_artifact("\n\n".join(text), key="learn-summary", description="What the policy is worth")
    return done
