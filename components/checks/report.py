"""What was found of a log, for a terminal, a notebook, a machine or a page."""

import json
import math
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from multilogger.components.checks.findings import Finding
from multilogger.components.evaluation.intervals import Interval
from multilogger.components.evaluation.support import Overlap
from multilogger.components.loss_text import loss_text
from multilogger.components.text import html_table, text_table

WEIGHTS = {
    "policy": "mean weight and effective rows: the policy over the logger, on the logger's rows",
    "average": "mean weight and effective rows: the logger over the average of all, on all rows",
    "uniform": "mean weight and effective rows: a uniform policy over the logger, on the logger's rows",
}


@dataclass(frozen=True)
class LoggerCheck:
    """One logger: its rows and mean loss, the spread of its propensities, and the weights of `LogReport`.

    `uniform` is a uniform policy on its own rows, with Pareto-k of the weights; `others` is the logger's own
    policy on the rows of the others, where their propensities are known. `action_rates` and `own_weights`,
    the mean of 1{y = a}/p which should be 1, go by action.
    """

    name: str
    rows: int
    mean_loss: float
    loss_interval: Interval
    propensities: tuple[float, float, float]  # the least, the median, the largest
    weights: Overlap
    uniform: Overlap
    pareto_k: float
    others: Overlap | None
    action_rates: tuple[float, ...]
    own_weights: tuple[float, ...] | None
    loss_over_time: tuple[float, ...] = ()


@dataclass(frozen=True, repr=False)
class LogReport:
    """What `BanditLog.check` and `multilogger check` found.

    `findings` are in the order of their severity; `unsafe` are the lines of those with which learning would
    go wrong, `mend` those and all else that is wrong, `notes` what the log does without.

    A mean weight is 1 in expectation if the propensities are right. It is that of the policy that was asked
    about, h/h_j. Without one it is h_j/h_avg, never above n/n_j, which soon tells a wrong propensity;
    where the propensities of other loggers are not known, it is that of a uniform policy, which is below 1
    where a logger leaves actions out.
    """

    log: str
    weights: str
    loggers: tuple[LoggerCheck, ...]
    findings: tuple[Finding, ...]
    rows: int
    contexts: int
    actions: tuple[str, ...] = field(default=())
    loss: str = loss_text(None)

    @property
    def ok(self) -> bool:
        """Whether there is nothing to mend."""
        return not self.mend

    @property
    def safe(self) -> bool:
        """Whether the log may be learned from, with care where there is something to mend."""
        return not self.unsafe

    @property
    def unsafe(self) -> tuple[str, ...]:
        return tuple(one.line for one in self.findings if one.severity == "unsafe")

    @property
    def mend(self) -> tuple[str, ...]:
        return tuple(one.line for one in self.findings if one.severity != "note")

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(one.line for one in self.findings if one.severity == "note")

    @property
    def legend(self) -> str:
        """What the columns of the table mean."""
        return f"{WEIGHTS[self.weights]}; mean loss: {self.loss}"

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.unsafe:
            return f"Do not learn from this log yet, {len(self.unsafe)} of its faults would spoil the policy."
        return "Something to mend before learning." if self.mend else "Nothing to mend."

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; a number that is not finite is None."""
        found = {
            "ok": self.ok,
            "safe": self.safe,
            "verdict": self.verdict,
            "log": self.log,
            "rows": self.rows,
            "contexts": self.contexts,
            "actions": list(self.actions),
            "findings": [asdict(one) for one in self.findings],
            "weights": self.weights,
            "loggers": [asdict(one) for one in self.loggers],
        }
        plain: dict[str, Any] = _plain(found)
        return plain

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)

    def to_html(self, path: str | Path) -> None:
        """Write a page with pictures that needs nothing but itself."""
        from multilogger.components.checks.page import page

        Path(path).write_text(page(self), encoding="utf-8")

    def __repr__(self) -> str:
        return "\n".join([
            self.log,
            "",
            *text_table(self.table()),
            f"({self.legend})",
            "",
            *self.lines(),
        ])  # fmt: skip

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(line)}</li>" for line in self.lines())
        table = f"{html_table(self.table())}<p>({escape(self.legend)})</p>"
        return f"<p>{escape(self.log)}</p>{table}<ul>{lines}</ul>"

    def lines(self) -> list[str]:
        """The findings, one line each, the worst first."""
        words = {"unsafe": "Unsafe", "mend": "Mend", "note": "Note"}
        found = [f"{words[one.severity]}: {one.line}." for one in self.findings]
        return found if self.mend else ["Nothing to mend.", *found]

    def table(self) -> list[dict[str, str]]:
        """One line per logger."""
        return [
            {
                "logger": line.name,
                "rows": f"{line.rows:,}",
                "mean loss": f"{line.mean_loss:.3f}",
                "least propensity": f"{line.propensities[0]:.2g}",
                "median": f"{line.propensities[1]:.2g}",
                "largest": f"{line.propensities[2]:.2g}",
                "mean weight": f"{line.weights.mean_weight:.3f}",
                "effective rows": f"{line.weights.effective_rows:,.0f}",
            }
            for line in self.loggers
        ]


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: null."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
