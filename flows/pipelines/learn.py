"""Flow: a policy learned from bandit logs, and what it is worth; a cell is one such run of the pipeline."""

from collections.abc import Mapping
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from multilogger.components.datasets.losses import LossWords
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.flow_run import Finished, flow_run, note_cell_run
from multilogger.flows.pipelines.held_out import held_out_lines
from multilogger.flows.pipelines.recorded_cells import promote, recorded_cells
from multilogger.flows.pipelines.settings import flat
from multilogger.flows.pipelines.summary import result_tables, seen_contexts
from multilogger.flows.pipelines.wiring import OWN, roles_of
from multilogger.flows.terminal.terminal import to_markdown
from multilogger.tasks.cell_metrics import cell_metrics
from multilogger.tasks.dataset_files import load_loss
from multilogger.tasks.engine.progress import tick_off
from multilogger.tasks.engine.runner import Outcome
from multilogger.tasks.engine.stage_run import MetricPoint
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker
from multilogger.tasks.evaluate import Evaluation, load_evaluation
from multilogger.tasks.log_files import bandit_log_used
from multilogger.tasks.own_log.estimate import held_out_metrics, load_held_out


def record_cell(tracker: Tracker, run_id: str, outcomes: Mapping[str, Outcome]) -> None:
    """Log the metrics that every method has, the log that it learned from, and the policy as a model."""
    roles = roles_of(outcomes)
    scores = outcomes[roles.scores].artifact
    metrics = cell_metrics(load_evaluation(scores))
    if roles is OWN:
        metrics |= held_out_metrics(load_held_out(scores))
    tracker.log(run_id, {}, [MetricPoint(name, value) for name, value in metrics.items()])
    used = bandit_log_used({"data": outcomes[roles.data].artifact, "log": outcomes[roles.log].artifact})
    tracker.log_dataset(run_id, used)
    tracker.link_models(run_id, tracker.models_of(outcomes["learn"].artifact.run_id))


def cell_note(dataset: str, preset: str, seed: int, result: Evaluation, words: LossWords) -> str:
    """The first paragraph of the run's description."""
    metrics = cell_metrics(result)
    parts = [
        f"**{result.method}** ({preset}) on **{dataset}**, seed {seed}: {words.expected} "
        f"**{result.exp:.3f}** on test, {words.value} {result.greedy:.3f} with {words.likeliest}."
    ]
    if {"validation_risk", "validation_low", "validation_high"} <= metrics.keys():
        parts.append(
            f"Validation rows alone say {metrics['validation_risk']:.3f} "
            f"({metrics['validation_low']:.3f} to {metrics['validation_high']:.3f}), "
            f"from {metrics['effective_rows']:.0f} effective rows."
        )
    return " ".join(parts)


def run_cell(cell: Cell, refresh: frozenset[str] = frozenset(), tidied: bool = False) -> Finished:
    """Realise every stage of a cell under a run of its own; `refresh` names stages to compute again."""
    with flow_run(
        cell.method,
        cell.dataset,
        cell.seed,
        flat(cell.chosen()),
        refresh=refresh,
        place=cell.place,
        tidied=tidied,
    ) as run:
        outcomes = {stage: run.runner.realise(planned) for stage, planned in cell.pipeline().items()}
        record_cell(run.tracker, run.run_id, outcomes)
        evaluation = outcomes[cell.roles.scores].artifact
        if cell.roles is OWN:
            run.paragraphs.extend(held_out_lines(load_held_out(evaluation)))
        else:
            words = load_loss(outcomes["reduce"].artifact).words
            note = cell_note(cell.dataset, cell.preset, cell.seed, load_evaluation(evaluation), words)
            run.paragraphs.append(note)
    note_cell_run(run.runner.store, evaluation, run.run_id)
    return Finished(outcomes, run.run_id)


def name_champion(tracker: Tracker, dataset: str) -> str:
    """Make the best policy of a dataset its champion if it beats the present one; says who it is."""
    return promote(tracker, dataset, recorded_cells(tracker, dataset)).message


@flow(name="learn", flow_run_name="learn {dataset} {method} seed {seed}")
def learn(
    dataset: str = "digits",
    method: str = "auto",
    seed: int = 0,
    preset: str = "auto",
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
    tables = result_tables(done.outcomes)
    text = [f"# {dataset}, {method}, seed {seed}"]
    text += [part for title, rows in tables.items() for part in (title, to_markdown(rows))]
    text += filter(None, [seen_contexts(done.outcomes)])
    create_markdown_artifact("\n\n".join(text), key="learn-summary", description="What the policy is worth")
    return done
