"""What a finished flow shows, as rows of text: the terminal, Prefect's page and Markdown all use these."""

from collections.abc import Mapping

from multilogger.components.datasets.losses import LossWords
from multilogger.components.evaluation.support import FEW_EFFECTIVE_ROWS
from multilogger.components.learners.methods import METHODS
from multilogger.components.loggers.replay import SplitBy
from multilogger.components.text import TextRows
from multilogger.flows.pipelines.held_out import held_out_rows, held_out_title, plain_lines, risk_text
from multilogger.flows.pipelines.wiring import roles_of
from multilogger.tasks.dataset_files import load_loss
from multilogger.tasks.engine.execution import Status
from multilogger.tasks.engine.runner import Outcome
from multilogger.tasks.evaluate import Evaluation, load_evaluation
from multilogger.tasks.own_log.estimate import load_held_out
from multilogger.tasks.policy_checks import Sight, guard_note
from multilogger.tasks.replay import load_split_by, load_summary
from multilogger.tasks.train_loggers import load_scores

HEADLINES = {
    "learn": (
        "best/epoch", "best/train_risk", "best/validation", "best/mean_weight", "best/log_d2", "best/share",
        "epochs", "wall_seconds",
    ),
    "evaluate": ("exp", "greedy", "balanced-sn/"),
    "estimate": ("test_", "difference", "balanced-sn/"),
}  # fmt: skip
"""How the names of the metrics begin that are worth a line, for stages that have dozens."""

SIGHT_WORDS = {
    Sight.BLIND: "The policy may have learned from the validation rows too (fit_all, or a contest of auto): "
    "each of them is judged by a part of the policy that has not seen its context.",
    Sight.ALL: "The policy learned from the very rows that judge it here, so its risk is higher as a rule; "
    "learn.fit_all=false keeps them apart.",
}
"""What to say of a policy that learned from validation rows."""


def stage_rows(outcomes: Mapping[str, Outcome]) -> TextRows:
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


def loss_words(outcomes: Mapping[str, Outcome]) -> LossWords:
    """What the loss of the dataset is called."""
    return load_loss(outcomes["reduce"].artifact).words


def losses_title(which: str, outcomes: Mapping[str, Outcome]) -> str:
    """What stands above a table of losses."""
    words = loss_words(outcomes)
    return f"{which}: {words.expected} (EXP), and {words.value} of {words.likeliest}"


def policy_rows(outcomes: Mapping[str, Outcome]) -> TextRows:
    """Test losses of the loggers and the CRF."""
    scores, words = load_scores(outcomes["train-loggers"].artifact), loss_words(outcomes)
    return [
        _losses(name, losses["exp"], losses["greedy"], words)
        for name, losses in sorted(scores.items(), key=lambda item: item[0] == "crf")
    ]


def _losses(policy: str, exp: float, greedy: float, words: LossWords) -> dict[str, str]:
    return {"policy": policy, "EXP": f"{exp:.3f}", words.greedy: f"{greedy:.3f}"}


def log_rows(log: Outcome) -> TextRows:
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


def loss_rows(outcomes: Mapping[str, Outcome]) -> TextRows:
    """Test losses of the learned policy beside those of the loggers and the CRF."""
    result = load_evaluation(outcomes["evaluate"].artifact)
    own = _losses(result.method, result.exp, result.greedy, loss_words(outcomes))
    rows = [own, *(row for row in policy_rows(outcomes) if row["policy"] != result.method)]
    note = guard_note(outcomes["learn"].artifact) if "learn" in outcomes else ""
    return [{**row, "note": note if row is own else ""} for row in rows] if note else rows


def estimate_rows(outcomes: Mapping[str, Outcome]) -> TextRows:
    """What the validation rows alone say of the policy, with 95 % intervals and certificates."""
    result = _evaluation(outcomes)
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


def _evaluation(outcomes: Mapping[str, Outcome]) -> Evaluation:
    return load_evaluation(outcomes[roles_of(outcomes).scores].artifact)


def result_tables(outcomes: Mapping[str, Outcome]) -> dict[str, TextRows]:
    """What a learned policy is worth, tables by their titles."""
    validation, rows = "Validation rows: estimated risk", estimate_rows(outcomes)
    if (estimate := outcomes.get("estimate")) is not None:
        found = load_held_out(estimate.artifact)
        return {held_out_title(found): held_out_rows(found), f"{validation}, {risk_text(found)}": rows}
    return {losses_title("Test", outcomes): loss_rows(outcomes), validation: rows}


def result_lines(outcomes: Mapping[str, Outcome]) -> list[str]:
    """What must be said of them."""
    lines = [line for line in (seen_contexts(outcomes), weak_estimates(outcomes)) if line]
    if (estimate := outcomes.get("estimate")) is None:
        return lines
    found = load_held_out(estimate.artifact)
    return [*lines, *(f"Warning: {line}." for line in found.warnings), *plain_lines(found)]


def weak_estimates(outcomes: Mapping[str, Outcome]) -> str | None:
    """What to say of estimates that rest on few rows; None if there are none."""
    result = _evaluation(outcomes)
    few = [name for name, parts in result.estimates.items() if parts["effective_rows"] < FEW_EFFECTIVE_ROWS]
    if not few:
        return None
    return (
        f"Fewer than {FEW_EFFECTIVE_ROWS:.0f} effective rows: {', '.join(few)}. "
        "Their intervals may be too narrow; a policy closer to its loggers is easier to judge."
    )


def seen_contexts(outcomes: Mapping[str, Outcome]) -> str | None:
    """What to say of validation rows whose contexts a policy also learned from; None of others."""
    result = _evaluation(outcomes)
    if result.sight is not Sight.NONE:
        return SIGHT_WORDS[result.sight]
    if "replay" not in outcomes:  # of an own log that has ids of contexts, the split is by them
        return None
    method = result.method
    if method not in METHODS or load_split_by(outcomes["replay"].artifact) is SplitBy.CONTEXT:
        return None
    return (
        "The policy also learned from other rows of these contexts (split by row, as in the paper), so its "
        "risk on new ones is higher as a rule; --set replay.split_by=context keeps contexts apart."
    )


def metric_rows(
    stage: str, then: Mapping[str, float], now: Mapping[str, float], called: str = "template"
) -> TextRows:
    """A stage's metrics of two runs, side by side, the first under a name; alone if there is no first."""
    wanted = HEADLINES.get(stage, ("",))
    names = [name for name in sorted(now.keys() | then.keys()) if name.startswith(wanted)]
    return [
        {"metric": name, **({called: _number(then, name)} if then else {}), "this run": _number(now, name)}
        for name in names
    ]


def _number(values: Mapping[str, float], name: str) -> str:
    return f"{values[name]:.4g}" if name in values else ""
