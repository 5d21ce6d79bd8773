"""What a finished flow shows, as rows of text: the terminal, Prefect's page and Markdown all use these."""

from collections.abc import Mapping

from multilogger.components.evaluation.support import FEW_EFFECTIVE_ROWS
from multilogger.flows.terminal.terminal import Rows
from multilogger.tasks.engine.execution import Status
from multilogger.tasks.engine.runner import Outcome
from multilogger.tasks.evaluate import load_evaluation
from multilogger.tasks.replay import load_summary
from multilogger.tasks.train_loggers import load_scores

HEADLINES = {
    "learn": (
        "best/epoch", "best/train_risk", "best/validation", "best/mean_weight", "best/log_d2", "best/share",
        "epochs", "wall_seconds",
    ),
    "evaluate": ("exp", "greedy", "balanced-sn/"),
}  # fmt: skip
"""How the names of the metrics begin that are worth a line, for stages that have dozens."""


def stage_rows(outcomes: Mapping[str, Outcome]) -> Rows:
    """How each stage came to its result, and where it is."""
    return [
        {
            "stage": outcome.stage if name == outcome.stage else f"{outcome.stage} ({name})",
            "status": outcome.status.value,
            "seconds": f"{outcome.seconds:.1f}",
            "result": outcome.note if outcome.status is Status.SKIPPED else outcome.artifact.path,
        }
        for name, outcome in outcomes.items()
    ]


def policy_rows(loggers: Outcome) -> Rows:
    """Test losses of the loggers and the CRF."""
    return [
        {"policy": name, "EXP": f"{losses['exp']:.3f}", "greedy": f"{losses['greedy']:.3f}"}
        for name, losses in sorted(load_scores(loggers.artifact).items(), key=lambda item: item[0] == "crf")
    ]


def log_rows(log: Outcome) -> Rows:
    """Size and mean loss of each logger's share of the log."""
    return [
        {
            "logger": name,
            "rows": f"{part['rows']:,.0f}",
            "validation": f"{part['validation_rows']:,.0f}",
            "mean loss": f"{part['mean_delta']:.3f}",
        }
        for name, part in load_summary(log.artifact).items()
    ]


def loss_rows(outcomes: Mapping[str, Outcome]) -> Rows:
    """Test losses of the learned policy beside those of the loggers and the CRF."""
    result = load_evaluation(outcomes["evaluate"].artifact)
    own = {"policy": result.method, "EXP": f"{result.exp:.3f}", "greedy": f"{result.greedy:.3f}"}
    return [own, *(row for row in policy_rows(outcomes["train-loggers"]) if row["policy"] != result.method)]


def estimate_rows(outcomes: Mapping[str, Outcome]) -> Rows:
    """What the validation rows alone say of the policy, with 95 % intervals and certificates."""
    result = load_evaluation(outcomes["evaluate"].artifact)
    return [
        {
            "estimator": name,
            "risk": f"{parts['value']:.3f}",
            "95 % interval": f"{parts['low']:.3f} to {parts['high']:.3f}",
            "mean weight": f"{parts['mean_weight']:.3f}",
            "effective rows": f"{parts['effective_rows']:,.0f}",
            "certificate": f"{result.certificates[name]['bound']:.4g}" if name in result.certificates else "",
        }
        for name, parts in result.estimates.items()
    ]


def weak_estimates(outcomes: Mapping[str, Outcome]) -> str | None:
    """What to say of estimates that rest on few rows; None if there are none."""
    result = load_evaluation(outcomes["evaluate"].artifact)
    few = [name for name, parts in result.estimates.items() if parts["effective_rows"] < FEW_EFFECTIVE_ROWS]
    if not few:
        return None
    return (
        f"Fewer than {FEW_EFFECTIVE_ROWS:.0f} effective rows: {', '.join(few)}. "
        "Their intervals may be too narrow; a policy closer to its loggers is easier to judge."
    )


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
