"""What a finished reproduction shows, as tables of text: one per part that was run."""

from multilogger.components.datasets.losses import HAMMING
from multilogger.components.reproduction.claims.claims import (
    IN_FEW_WORDS,
    claim_presets,
    judged_claims,
    summaries,
)
from multilogger.components.reproduction.claims.verdicts import Claim
from multilogger.components.reproduction.names import preset_title
from multilogger.components.reproduction.report.numbers import (
    half_width,
    interval,
    inverse,
    inverse_half_width,
    loss,
    probability,
    signed,
    tested,
    tested_spread,
)
from multilogger.components.reproduction.report.sections import rows_by_dataset
from multilogger.components.reproduction.results import Reproduction
from multilogger.components.reproduction.tables.constraint import (
    STEPS_AXIS,
    constraint_paragraph,
    constraint_rows,
)
from multilogger.components.reproduction.tables.one_of import one_of_table
from multilogger.components.reproduction.tables.paper_tables import pairwise_rows, table2_rows
from multilogger.components.reproduction.tables.studies import (
    LEVEL,
    ChoiceRow,
    LoggerStudyRow,
    additivity_rows,
    choice_rows,
    logger_study_rows,
)
from multilogger.components.reproduction.tables.sweeps import AXES, FIGURES, SweepRow, sweep_rows
from multilogger.components.text import TextRows
from multilogger.flows.reproduction.method_tables import (
    method_tables,
    noted_lines,
    one_of_notes,
    one_of_tables,
)

CLAIMS = "Claims of the paper: the difference over seeds, and whether the claim holds"


def reproduction_tables(reproduction: Reproduction) -> dict[str, TextRows]:
    """Rows by title."""
    title = f"Table 2: {HAMMING.words.expected} on test (EXP)"
    tables = method_tables(title, table2_rows(reproduction), True)
    tables |= one_of_tables(reproduction)
    tables[CLAIMS] = _claims(reproduction)
    for figure in FIGURES:
        tables[f"Figure {figure[-1]}: 1/EXP"] = _sweep(reproduction, figure)
    tables["Where the paper is silent: EXP, and its difference to our choice"] = _choices(reproduction)
    tables["More loggers: EXP with as many rows in all"] = _loggers(reproduction)
    tables["When does the constraint help? EXP, and its change to the direct twin"] = _constraint(
        reproduction
    )
    tables |= method_tables("When the loss does not add up: EXP", pairwise_rows(reproduction), False)
    tables["Does the loss add up? Its test by each run of additive"] = _additivity(reproduction)
    return {title: rows for title, rows in tables.items() if rows}


def _claims(reproduction: Reproduction) -> TextRows:
    """A row for what is compared, a column for each preset."""
    claims = judged_claims(reproduction)
    presets = claim_presets(claims)
    return [
        {
            "claim": IN_FEW_WORDS[claim.name],
            "dataset": dataset,
            "compared": comparison,
            **{preset_title(name): _judged(claim, dataset, comparison, name) for name in presets},
        }
        for claim in claims
        for dataset, comparison in dict.fromkeys((test.dataset, test.comparison) for test in claim.tests)
    ]


def _judged(claim: Claim, dataset: str, comparison: str, preset: str) -> str:
    """`-0.280 ± 0.118 holds`; empty where nothing was compared."""
    for test in claim.tests:
        if (test.dataset, test.comparison, test.preset) == (dataset, comparison, preset):
            word = test.verdict.value.removesuffix(" with these seeds")
            return " ".join(
                part for part in (tested(test, test.sample.mean), tested_spread(test), word) if part
            )
    return ""


def _who(row: SweepRow | ChoiceRow | LoggerStudyRow) -> dict[str, str]:
    return {"dataset": row.dataset, "method": row.method, "preset": preset_title(row.preset)}


def _told_apart(rows: TextRows) -> TextRows:
    """Rows with a column `preset` if there are several presets, else without it."""
    if len({row["preset"] for row in rows}) > 1:
        return rows
    return [{name: text for name, text in row.items() if name != "preset"} for row in rows]


def _additivity(reproduction: Reproduction) -> TextRows:
    return [
        {
            "dataset": row.dataset,
            f"seeds with p < {LEVEL:g}": f"{row.rejected} of {len(row.p_values)}",
            "median p": probability(row.median_p),
        }
        for row in additivity_rows(reproduction)
    ]


def _sweep(reproduction: Reproduction, figure: str) -> TextRows:
    return _told_apart(
        [
            {
                **_who(row),
                AXES[figure]: "" if row.x is None else f"{row.x:g}",
                "1/EXP": inverse(row.inverse.mean),
                "95 %": inverse_half_width(row.inverse),
                "paper": inverse(row.paper) if row.paper is not None else "",
                "seeds": str(row.inverse.count),
            }
            for row in sweep_rows(reproduction, figure)
        ]
    )


def _choices(reproduction: Reproduction) -> TextRows:
    return _told_apart(
        [
            {
                **_who(row),
                "choice": row.choice,
                "EXP": loss(row.exp.mean),
                "difference": signed(row.difference.mean) if row.difference.count else "",
                "95 %": interval(row.difference),
                "seeds": str(row.exp.count),
            }
            for row in choice_rows(reproduction)
        ]
    )


def _loggers(reproduction: Reproduction) -> TextRows:
    return _told_apart(
        [
            {
                **_who(row),
                "loggers": str(row.loggers),
                "EXP": loss(row.exp.mean),
                "95 %": half_width(row.exp),
                "seeds": str(row.exp.count),
            }
            for row in logger_study_rows(reproduction)
        ]
    )


def _constraint(reproduction: Reproduction) -> TextRows:
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
    """What is to be said of the tables: the claims in one sentence, and the study of the constraint."""
    claims = judged_claims(reproduction)
    return [
        *(summaries(claims) if claims else ()),
        *one_of_notes(reproduction),
        *noted_lines([*table2_rows(reproduction), *one_of_table(reproduction), *pairwise_rows(reproduction)]),
        *(
            f"{dataset}: {constraint_paragraph(rows)}"
            for dataset, rows in rows_by_dataset(constraint_rows(reproduction)).items()
        ),
    ]
