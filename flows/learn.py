"""Flow: a policy learned from bandit logs, and what it is worth."""

from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from multilogger.flows.flow_run import Finished, flow_run
from multilogger.flows.pipeline import LEARN, learn_steps
from multilogger.flows.settings import flat, pipeline_settings
from multilogger.flows.summary import estimate_rows, loss_rows
from multilogger.flows.tables import to_markdown
from multilogger.tasks.evaluate import load_evaluation


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
    choices = {"learn.method": method, "learn.preset": preset, **(settings or {})}
    chosen = pipeline_settings(LEARN, dataset, seed, mirror, choices)
    with flow_run(method, dataset, seed, flat(chosen), refresh=frozenset(refresh or ())) as run:
        outcomes = {stage: run.runner.realise(step) for stage, step in learn_steps(chosen).items()}
        result = load_evaluation(outcomes["evaluate"].artifact)
        run.log_metrics({"exp": result.exp, "greedy": result.greedy})
    text = [
        f"# {dataset}, {method}, seed {seed}",
        to_markdown(loss_rows(outcomes)),
        to_markdown(estimate_rows(outcomes)),
    ]
    create_markdown_artifact("\n\n".join(text), key="learn-summary", description="What the policy is worth")
    return Finished(outcomes, run.run_id)
