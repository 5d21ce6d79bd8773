"""What the cells of a study say together: one line per method, and a sentence on the policy that was chosen.

The policy of a method is that of the seed with least validation risk, as it would be deployed. Test rows
judge it; they choose nothing. What may not be champion is not chosen, by the same rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from multilogger.components.reproduction.results import CellResult
from multilogger.components.reproduction.statistics import FEW_SEEDS, FEWEST_SEEDS, mean_over_seeds
from multilogger.components.text import TextRows
from multilogger.flows.pipelines.held_out import (
    GAIN,
    difference_text,
    figure_text,
    risk_text,
    rival_text,
    unit_of,
    verdict,
)
from multilogger.tasks.cell_metrics import RULE_OF_TIES, Order, order_of
from multilogger.tasks.own_log.estimate import HeldOut


@dataclass(frozen=True)
class StudiedCell:
    """A cell and, on a person's own log, what held-out rows say of its policy."""

    result: CellResult
    held_out: HeldOut | None = None

    @property
    def risk(self) -> float:
        risk = self.result.validation_risk
        return float("inf") if risk is None else risk


def chosen(cells: Sequence[StudiedCell]) -> StudiedCell | None:
    """The cell of least validation risk among those that may be chosen; None if none may."""
    best = _first(cells)
    return None if best is None or best.result.barred else best


def _first(cells: Sequence[StudiedCell]) -> StudiedCell | None:
    """The same, or of least risk if none may be chosen; None if all failed."""
    finished = [cell for cell in cells if not cell.result.error and cell.result.validation_risk is not None]
    return min(finished, key=_order, default=None)


def _order(cell: StudiedCell) -> Order:
    """The order of every choice."""
    result = cell.result
    return order_of(bool(result.barred), cell.risk, result.method, result.seed)


def by_method(cells: Sequence[StudiedCell]) -> dict[str, list[StudiedCell]]:
    """The cells of each method, in their order."""
    found: dict[str, list[StudiedCell]] = {}
    for cell in cells:
        found.setdefault(cell.result.method, []).append(cell)
    return found


def study_rows(cells: Sequence[StudiedCell]) -> TextRows:
    """One line per method, the one to choose first; every line has every column."""
    groups = sorted(by_method(cells).values(), key=lambda group: min(map(_order, group)))
    rows = [_row(group) for group in groups]
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name, "") for name in names} for row in rows]


def _row(group: Sequence[StudiedCell]) -> dict[str, str]:
    best, failed = _first(group), sum(bool(cell.result.error) for cell in group)
    done = len(group) - failed
    row = {"method": group[0].result.method, "seeds": f"{done} of {len(group)}" if failed else str(done)}
    if best is None:
        reasons = [cell.result.error for cell in group if cell.result.error]
        why = f"failed: {reasons[0]}" if reasons else "nothing to judge it by"
        return {**row, "validation risk": "", "seed": "", "test": why}
    row |= {"validation risk": f"{best.risk:.4f}", "seed": str(best.result.seed)}
    not_chosen = f"not to be chosen: {best.result.barred}" if best.result.barred else ""
    if (found := best.held_out) is None:
        test = _over_seeds([c.result.exp for c in group if c.result.exp is not None])
        note = "; ".join(filter(None, (not_chosen, best.result.note)))
        return row | {"test": test} | ({"note": note} if note else {})
    show = unit_of(found)
    values = [c.held_out.policy.value for c in group if c.held_out is not None]
    return row | {
        "test": figure_text(found.policy, show),
        "against the best logger": difference_text(found),
        "verdict": verdict(found),
        "mean over seeds": _over_seeds([show(value) for value in values if value is not None]),
        **({"note": not_chosen} if not_chosen else {}),
    }


def _over_seeds(values: Sequence[float]) -> str:
    mean = mean_over_seeds(values)
    if mean.mean is None:
        return ""
    return f"{mean.mean:.4f}{mean.told(4)}"


def units_text(cells: Sequence[StudiedCell]) -> str:
    """What the columns of the table of methods are, on a person's own log; else nothing."""
    found = next((cell.held_out for cell in cells if cell.held_out is not None), None)
    if found is None:
        return ""
    test = "loss, lower" if found.reward_range is None else "reward, higher"
    return f": test is the mean {test} is better; validation risk is the {risk_text(found)}"


def logger_rows(found: HeldOut) -> TextRows:
    """What the loggers themselves brought on the same rows."""
    show = unit_of(found)
    return [
        {
            "logger": name + (" (best)" if name == found.best else ""),
            "test": figure_text(one, show),
            GAIN: difference_text(found, name),
        }
        for name, one in found.loggers.items()
    ]


def conclusion(cells: Sequence[StudiedCell]) -> list[str]:
    """What a reader should take home."""
    best, errors = chosen(cells), [cell.result for cell in cells if cell.result.error]
    if best is None:
        learned = len(errors) < len(cells)
        return [f"No policy {'may be chosen' if learned else 'was learned'}; the table says why."]
    methods = by_method([cell for cell in cells if not cell.result.error])
    who, policies = f"{best.result.method} (seed {best.result.seed})", len(cells) - len(errors)
    if policies > 1:
        lead = (
            f"{who} has the least validation risk of {policies} policies of {len(methods)} "
            f"method{'s' if len(methods) > 1 else ''}{_but(cells)}, and is the one to deploy of these."
            f"{_tied(best, cells)}"
        )
    else:
        lead = f"{who} is the only policy."
    lines = [f"{lead} Test rows had no part in the choice."]
    found, failed = best.held_out, _failures(errors, len(cells))
    if found is None:
        return [*lines, *failed]
    said = {
        "better than the best logger": "It is better than the best logger: the whole interval says so.",
        "worse than the best logger": "It is worse than the best logger: deploy the logger.",
        "not told apart from the best logger": "The log cannot tell it apart from the best logger: do not "
        "count on a gain, log more or try it on a small share first.",
        "cannot be told": f"The log cannot judge it: {found.sentence}",
    }[verdict(found)]
    show = unit_of(found)
    what = "loss" if found.reward_range is None else "reward"
    lines.append(
        f"On {found.rows:,} test rows its mean {what} is estimated at {figure_text(found.policy, show)}; the "
        f"best logger, {found.best}, had {figure_text(found.loggers[found.best], show)}; difference "
        f"{difference_text(found)}.{rival_text(found)} {said}"
    )
    lines.append(
        "No true labels exist in a log: test figures are self-normalised balanced estimates with "
        f"{found.level:.0%} bootstrap intervals over contexts, not measurements. Those of loggers are plain "
        "means of their own rows."
    )
    if 1 < max(map(len, by_method(cells).values())) < FEWEST_SEEDS:
        lines.append(f"{FEW_SEEDS} The intervals of test are over its rows.")
    return [*lines, *failed]


def _but(cells: Sequence[StudiedCell]) -> str:
    """How many policies had no part in the choice."""
    count = sum(bool(cell.result.barred) for cell in cells)
    return f", but for {count} that may not be chosen" if count else ""


def _tied(best: StudiedCell, cells: Sequence[StudiedCell]) -> str:
    """Which policies have the very same risk, and why they are not chosen."""
    others = [c.result for c in cells if c is not best and not c.result.barred and c.risk == best.risk]
    if not others:
        return ""
    who = ", ".join(f"{one.method} (seed {one.seed})" for one in others)
    return f" {who} {'has' if len(others) == 1 else 'have'} the same: {RULE_OF_TIES}."


def _failures(errors: Sequence[CellResult], cells: int) -> list[str]:
    """How many cells failed, and why the first did; nothing if none did."""
    if not errors:
        return []
    first = errors[0]
    who = f"{first.method} (seed {first.seed})"
    return [f"{len(errors)} of {cells} cells failed; the first, {who}: {first.error}"]
