"""`multilogger stage --run`: one stage of a finished run again, and what came of it beside what was."""

import typer

from multilogger.components.errors import BadInput
from multilogger.flows.existing_runs import existing_runs
from multilogger.flows.session import flow_session
from multilogger.flows.settings import parse_assignments
from multilogger.flows.tables import Rows

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
) -> str:
    """Check everything, run the stage, print the comparison, and return the id of the new run."""
    _refuse_other_options(context)
    tracker, changes = existing_runs(), parse_assignments(assignments, stage)
    from multilogger.flows.template import read_template

    template = read_template(tracker, run_id)
    template.chosen(stage, changes)  # said before anything starts
    with flow_session(context.obj) as terminal:
        from multilogger.flows.rerun import differences, rerun_from
        from multilogger.flows.summary import stage_rows

        done = rerun_from(stage, run_id, changes, refresh)
    changed = differences(template, stage, changes)
    typer.echo(f"Template    {template.name} ({template.run_id})")
    news = [f"{name} {then} -> {now}" for name, (then, now) in changed.items()]
    typer.echo(f"Changed     {', '.join(news) or 'nothing'}")
    if done.inputs:
        terminal.table("Inputs", stage_rows(done.inputs))
    terminal.table("Result", stage_rows({stage: done.outcome}))
    then = template.stage_runs.get(stage)
    rows = metric_rows(
        stage, tracker.metrics(then) if then else {}, tracker.metrics(done.outcome.artifact.run_id)
    )
    if rows:
        terminal.table("Metrics", rows)
    return done.run_id


def metric_rows(stage: str, then: dict[str, float], now: dict[str, float]) -> Rows:
    """A stage's metrics of two runs, side by side."""
    wanted = HEADLINES.get(stage, ("",))
    names = [name for name in sorted(now.keys() | then.keys()) if name.startswith(wanted)]
    return [
        {"metric": name, "template": _number(then, name), "this run": _number(now, name)} for name in names
    ]


def _number(values: dict[str, float], name: str) -> str:
    return f"{values[name]:.4g}" if name in values else ""


def _refuse_other_options(context: typer.Context) -> None:
    sources = {name: context.get_parameter_source(name) for name in EXCLUDED}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if given:
        raise BadInput(
            f"--run names the whole pipeline, so --{given[0]} cannot be given with it; "
            "leave one of them out, or change settings of the stage with --set"
        )
