"""`multilogger stage --run`: one stage of a finished run again, and what came of it beside what was."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from multilogger.components.errors import BadInput
from multilogger.flows.pipelines.recorded_cells import existing_runs
from multilogger.flows.pipelines.settings import parse_assignments
from multilogger.flows.servers.session import flow_session
from multilogger.flows.terminal.terminal import Rows

if TYPE_CHECKING:
    from multilogger.flows.pipelines.rerun import Rerun

EXCLUDED = ("dataset", "method", "preset", "seed", "mirror", "train", "test", "features", "labels")
HEADLINES = {
    "learn": (
        "best/epoch", "best/train_risk", "best/validation", "best/mean_weight", "best/log_d2", "best/share",
        "epochs", "wall_seconds",
    ),
    "evaluate": ("exp", "greedy", "balanced-sn/"),
}  # fmt: skip
"""How the names of the metrics begin that are worth a line, for stages that have dozens."""


def rerun_and_report(
    context: typer.Context, stage: str, run_id: str, assignments: list[str], refresh: bool
) -> "Rerun":
    """Check everything, run the stage, print the comparison, and return what was run."""
    _refuse_other_options(context)
    tracker, changes = existing_runs(), parse_assignments(assignments, stage)
    from multilogger.flows.pipelines.template import nearest_with, read_template

    template = read_template(tracker, run_id)
    template.chosen(stage, changes)  # said before anything starts
    with flow_session(context.obj) as terminal:
        from multilogger.flows.pipelines.rerun import differences, rerun_from
        from multilogger.flows.pipelines.summary import stage_rows

        done = rerun_from(stage, run_id, changes, refresh)
    changed, earlier = differences(template, stage, changes), nearest_with(tracker, template, stage)
    typer.echo(f"Template    {template.name} ({template.run_id})")
    news = [f"{name} {then} -> {now}" for name, (then, now) in changed.items()]
    typer.echo(f"Changed     {', '.join(news) or 'nothing'}")
    if earlier is not None and earlier is not template:
        typer.echo(f"Compared    {earlier.name} ({earlier.run_id}); the template has not run {stage}")
    if done.inputs:
        terminal.table("Inputs", stage_rows(done.inputs))
    terminal.table("Result", stage_rows({stage: done.outcome}))
    then = tracker.metrics(earlier.stage_runs[stage]) if earlier else {}
    now = tracker.metrics(done.outcome.artifact.run_id)
    if rows := metric_rows(stage, then, now, "template" if earlier is template else "earlier run"):
        terminal.table("Metrics", rows)
    return done


def metric_rows(
    stage: str, then: Mapping[str, float], now: Mapping[str, float], called: str = "template"
) -> Rows:
    """A stage's metrics of two runs, side by side, the first under a name; alone if there is no first."""
    wanted = HEADLINES.get(stage, ("",))
    names = [name for name in sorted(now.keys() | then.keys()) if name.startswith(wanted)]
    return [
        {"metric": name, **({called: _number(then, name)} if then else {}), "this run": _number(now, name)}
        for name in names
    ]


def _number(values: Mapping[str, float], name: str) -> str:
    return f"{values[name]:.4g}" if name in values else ""


def _refuse_other_options(context: typer.Context) -> None:
    sources = {name: context.get_parameter_source(name) for name in EXCLUDED}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if given:
        raise BadInput(
            f"--run names the whole pipeline, so --{given[0]} cannot be given with it; "
            "leave one of them out, or change settings of the stage with --set"
        )
