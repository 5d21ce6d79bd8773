"""Flow: from a dataset's files to bandit logs of several loggers."""

from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from multilogger.flows.pipelines.flow_run import Finished, flow_run
from multilogger.flows.pipelines.settings import flat, pipeline_settings
from multilogger.flows.pipelines.summary import log_rows, losses_title, policy_rows, stage_rows
from multilogger.flows.pipelines.wiring import PREPARE, prepare_pipeline
from multilogger.flows.terminal.terminal import to_markdown
from multilogger.tasks.engine.runner import Outcome
from multilogger.tasks.train_loggers import load_scores


@flow(name="prepare", flow_run_name="prepare {dataset} seed {seed}")
def prepare(
    dataset: str = "digits",
    seed: int = 0,
    mirror: str | None = None,
    settings: dict[str, Any] | None = None,
    refresh: list[str] | None = None,
) -> Finished:
    """Download, reduce, train the loggers and replay them.

    `settings` maps `stage.setting` to a value; `refresh` names stages to compute again.
    """
    chosen = pipeline_settings(PREPARE, dataset, seed, mirror, settings)
    with flow_run("prepare", dataset, seed, flat(chosen), refresh=frozenset(refresh or ())) as run:
        outcomes = {name: run.runner.realise(planned) for name, planned in prepare_pipeline(chosen).items()}
        scores = load_scores(outcomes["train-loggers"].artifact)
        run.log_metrics({f"exp/{name}": losses["exp"] for name, losses in scores.items()})
    _show_on_run_page(dataset, seed, outcomes)
    return Finished(outcomes, run.run_id)


def _show_on_run_page(dataset: str, seed: int, outcomes: dict[str, Outcome]) -> None:
    """Prefect artifacts: a summary to read and the stages as a table."""
    parts = [
        f"# {dataset}, seed {seed}",
        f"## {losses_title('Policies on test', outcomes)}",
        to_markdown(policy_rows(outcomes)),
        "## Bandit log",
        to_markdown(log_rows(outcomes["replay"])),
    ]
    create_markdown_artifact("\n\n".join(parts), key="prepare-summary", description="Loggers and their logs")
    create_table_artifact(
        [dict(row) for row in stage_rows(outcomes)], key="prepare-stages", description="How each stage ended"
    )
