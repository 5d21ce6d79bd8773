"""What is shown of an evaluation: its tables in words, and what must be said about how it was done."""

import math
from collections.abc import Iterator

from multilogger.components.evaluation.evaluation import EstimateRow, PolicyEvaluation
from multilogger.components.evaluation.intervals import Interval
from multilogger.components.evaluation.max_weights import MaxWeights
from multilogger.components.evaluation.score_log import AboutScores


def estimate_table(result: PolicyEvaluation, level: float) -> list[dict[str, str]]:
    """One line per estimator; the one to trust is marked."""
    digits = _digits(result)
    return [
        {
            "estimator": f"{row.name} *" if row.name == result.recommendation.estimator else row.name,
            "risk": f"{row.value:.{digits}f}",
            f"{level:.0%} bootstrap": _ends(row.bootstrap, digits),
            f"{level:.0%} Bernstein": _ends(row.bernstein, digits, result.max_loss),
            "mean weight": f"{row.mean_weight:.3f}",
            "effective rows": f"{row.effective_rows:,.0f}",
        }
        for row in result.estimates
    ]


def smoothed_table(result: PolicyEvaluation, level: float) -> list[dict[str, str]]:
    """One line per pessimistic estimate, beside the Bernstein interval of the same weights, cut."""
    digits = _digits(result)
    cut = {row.name: row.bernstein for row in result.estimates}
    return [
        {
            "estimator": one.name,
            "risk": f"{one.value:.{digits}f}",
            f"{level:.0%} interval": _ends(Interval(one.low, one.high), digits, result.max_loss),
            "Bernstein, clipped": _ends(cut[f"{one.name[:-3]}-clipped"], digits, result.max_loss),
        }
        for one in result.smoothed
    ]


def logger_table(result: PolicyEvaluation) -> list[dict[str, str]]:
    """One line per logger: its own loss, and what its rows are worth."""
    return [
        {
            "logger": one.name,
            "rows": f"{one.rows:,}",
            "own mean loss": f"{one.mean_loss:.{_digits(result)}f}",
            "mean weight": f"{one.mean_weight:.3f}",
            "effective rows": f"{one.effective_rows:,.0f}",
            "largest row": f"{one.largest_share:.1%}",
            "likeliest action": f"{one.greedy_rows:.1%}",
            "lambda* share": f"{share:.3f}",
        }
        for one, share in zip(result.loggers, result.lambda_share, strict=True)
    ]


def estimate_line(row: EstimateRow) -> dict[str, str | float | None]:
    """One estimator as the columns of a file or a frame."""
    return {
        "estimator": row.name,
        "value": row.value,
        "standard_error": row.standard_error,
        "low": row.bootstrap.low,
        "high": row.bootstrap.high,
        "bernstein_low": row.bernstein.low if row.bernstein else None,
        "bernstein_high": row.bernstein.high if row.bernstein else None,
        "mean_weight": row.mean_weight,
        "effective_rows": row.effective_rows,
    }


def evaluation_notes(
    scored: AboutScores, max_weights: MaxWeights | None, max_weight_name: str
) -> Iterator[str]:
    """What was left out or assumed; `max_weight_name` is where a person states the largest weight."""
    if scored.loggers == 1:
        yield "One logger: naive, weighted and balanced are all plain IPS."
    if not scored.balanced:
        yield (
            "No balanced estimators: the log has no column log_propensities with the propensities of each "
            "action under every logger."
        )
    if not scored.contexts_known:
        yield (
            "Rows are taken as independent: the log has no column 'context' that says which share a context."
        )
    if scored.fitted_rows is not None and scored.fitted_rows < scored.rows:
        yield (
            f"The loss model of dr was fitted to {scored.fitted_rows:,} of the {scored.rows:,} rows, taken "
            "from all over the log; dr itself uses them all."
        )
    if scored.additive:
        test = scored.additivity
        found = (
            ""
            if test is None
            else (
                f"; the test of it says p = {test.p_value:.2g}"
                + (", it does not: leave them alone" if test.rejected else "")
            )
        )
        yield f"The additive- estimators rest on a loss that adds up over labels{found}."
    if max_weights is None:
        yield (
            "Bernstein intervals for clipped estimators only: the largest possible weight is not known "
            f"({max_weight_name} says it)."
        )


def _digits(result: PolicyEvaluation) -> int:
    """The decimals of losses: those of the estimate to trust, or of the surest one."""
    trusted = [row for row in result.estimates if row.name == result.recommendation.estimator]
    return max(row.bootstrap.digits for row in trusted or result.estimates)


def _ends(interval: Interval | None, digits: int, max_loss: float = math.inf) -> str:
    if interval is None:
        return "-"
    if interval.low <= 0 and interval.high >= max_loss:
        return "says nothing"
    return f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"
