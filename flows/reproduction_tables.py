"""What a finished reproduction shows, as tables of text: one a part that was run."""

from multilogger.components.reproduction.additivity_rows import LEVEL, additivity_rows
from multilogger.components.reproduction.choices import choice_rows
from multilogger.components.reproduction.constraint_rows import STEPS_AXIS, constraint_rows
from multilogger.components.reproduction.constraint_sections import rows_by_dataset
from multilogger.components.reproduction.constraint_words import constraint_paragraph
from multilogger.components.reproduction.logger_study import logger_study_rows
from multilogger.components.reproduction.page_numbers import (
    half_width,
    interval,
    inverse,
    inverse_half_width,
    loss,
    probability,
    signed,
)
from multilogger.components.reproduction.results import Reproduction
from multilogger.components.reproduction.sweeps import AXES, FIGURES, sweep_rows
from multilogger.components.reproduction.table2 import pairwise_rows, table2_rows
from multilogger.flows.tables import Rows


def reproduction_tables(reproduction: Reproduction) -> dict[str, Rows]:
    """Rows by title."""
    tables: dict[str, Rows] = {"Table 2: expected Hamming loss on test (EXP)": _table2(reproduction)}
    for figure in FIGURES:
        tables[f"Figure {figure[-1]}: 1/EXP"] = _sweep(reproduction, figure)
    tables["Where the paper is silent: EXP, and its difference to our choice"] = _choices(reproduction)
    tables["More loggers: EXP with as many rows in all"] = _loggers(reproduction)
    tables["When does the constraint help? EXP, and its change to the direct twin"] = _constraint(
        reproduction
    )
    tables["When the loss does not add up: EXP"] = _pairwise(reproduction)
    tables["Does the loss add up? Its test by each run of additive"] = _additivity(reproduction)
    return {title: rows for title, rows in tables.items() if rows}


def _table2(reproduction: Reproduction) -> Rows:
    return [
        {
            "dataset": row.dataset,
            "method": row.method,
            "EXP": loss(row.exp.mean),
            "95 %": half_width(row.exp),
            "greedy": loss(row.greedy_mean),
            "paper": loss(row.paper) if row.paper is not None else "",
            "seeds": str(row.exp.count),
        }
        for row in table2_rows(reproduction)
    ]


def _pairwise(reproduction: Reproduction) -> Rows:
    return [
        {
            "dataset": row.dataset,
            "method": row.method,
            "EXP": loss(row.exp.mean),
            "95 %": half_width(row.exp),
            "greedy": loss(row.greedy_mean),
            "seeds": str(row.exp.count),
        }
        for row in pairwise_rows(reproduction)
    ]


def _additivity(reproduction: Reproduction) -> Rows:
    return [
        {
            "dataset": row.dataset,
            f"seeds with p < {LEVEL:g}": f"{row.rejected} of {len(row.p_values)}",
            "median p": probability(row.median_p),
        }
        for row in additivity_rows(reproduction)
    ]


def _sweep(reproduction: Reproduction, figure: str) -> Rows:
    return [
        {
            "dataset": row.dataset,
            "method": row.method,
            AXES[figure]: "" if row.x is None else f"{row.x:g}",
            "1/EXP": inverse(row.inverse.mean),
            "95 %": inverse_half_width(row.inverse),
            "paper": inverse(row.paper) if row.paper is not None else "",
            "seeds": str(row.inverse.count),
        }
        for row in sweep_rows(reproduction, figure)
    ]


def _choices(reproduction: Reproduction) -> Rows:
    return [
        {
            "dataset": row.dataset,
            "method": row.method,
            "choice": row.choice,
            "EXP": loss(row.exp.mean),
            "difference": signed(row.difference.mean) if row.difference.count else "",
            "95 %": interval(row.difference),
            "seeds": str(row.exp.count),
        }
        for row in choice_rows(reproduction)
    ]


def _loggers(reproduction: Reproduction) -> Rows:
    return [
        {
            "dataset": row.dataset,
            "method": row.method,
            "loggers": str(row.loggers),
            "EXP": loss(row.exp.mean),
            "95 %": half_width(row.exp),
            "seeds": str(row.exp.count),
        }
        for row in logger_study_rows(reproduction)
    ]


def _constraint(reproduction: Reproduction) -> Rows:
    return [
        {
            "dataset": row.dataset,
            "varied": row.level if row.axis == STEPS_AXIS else f"{row.axis} {row.level}",
            "under": "step" if row.is_step else row.objective,
            "estimator": row.estimator,
            "direct": loss(row.direct.exp.mean),
            "-reg": loss(row.constrained.exp.mean),
            "WCRM": loss(row.wcrm.exp.mean),
            "change": signed(row.difference.mean),
            "95 %": interval(row.difference),
            "seeds": str(row.difference.count),
        }
        for row in constraint_rows(reproduction)
    ]


def reproduction_notes(reproduction: Reproduction) -> list[str]:
    """What is to be said of the tables: a paragraph per dataset of the study of the constraint."""
    return [
        f"{dataset}: {constraint_paragraph(rows)}"
        for dataset, rows in rows_by_dataset(constraint_rows(reproduction)).items()
    ]
