"""Tables that have a row per method, as tables of text."""

from collections.abc import Sequence

from multilogger.components.datasets.losses import HAMMING, ZERO_ONE, LossWords
from multilogger.components.reproduction.names import preset_title
from multilogger.components.reproduction.report.numbers import half_width, loss, probability
from multilogger.components.reproduction.report.sections import rows_by_dataset
from multilogger.components.reproduction.results import Reproduction
from multilogger.components.reproduction.tables.one_of import (
    calibration_rows,
    one_of_paragraph,
    one_of_rows,
    one_of_table,
)
from multilogger.components.reproduction.tables.paper_tables import (
    SAME_AS_DIRECT,
    Table2Row,
    exp_text,
    method_lines,
    shown_presets,
)
from multilogger.components.text import TextRows


def one_of_tables(reproduction: Reproduction) -> dict[str, TextRows]:
    """The datasets whose action is one of K, and the tests of their loss models."""
    table, words = one_of_table(reproduction), ZERO_ONE.words
    title = f"One of K actions: {words.expected} on test (EXP), and {words.value} of {words.likeliest}"
    tests = [
        {
            "dataset": row.dataset,
            "method": row.method,
            "seeds where it is off": f"{row.off} of {len(row.p_values)}",
            "median p": probability(row.median_p),
        }
        for row in calibration_rows(table)
    ]
    return method_tables(title, table, False, words) | {"Is the loss model calibrated?": tests}


def one_of_notes(reproduction: Reproduction) -> list[str]:
    """What these datasets show, in sentences."""
    rows = rows_by_dataset(one_of_rows(one_of_table(reproduction)))
    found = {dataset: one_of_paragraph(own) for dataset, own in rows.items()}
    return [f"{dataset}: {text}" for dataset, text in found.items() if text]


def noted_lines(rows: Sequence[Table2Row]) -> list[str]:
    """What was noted of policies, a sentence for each note of a dataset, where presets stand side by side."""
    if len(shown_presets(rows)) < 2:
        return []
    methods: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.note:
            methods.setdefault((row.dataset, row.preset, row.note), []).append(row.method)
    return [
        f"{dataset}, {preset_title(preset)}: {', '.join(names)}: {note}"
        for (dataset, preset, note), names in methods.items()
    ]


def method_tables(
    title: str, rows: Sequence[Table2Row], with_paper: bool, words: LossWords = HAMMING.words
) -> dict[str, TextRows]:
    """One table of all datasets; with several presets one per dataset, where they stand side by side."""
    presets = shown_presets(rows)
    if len(presets) < 2:
        noted = any(row.note for row in rows)
        return {
            title: [_method(row, with_paper, words) | ({"note": row.note} if noted else {}) for row in rows]
        }
    return {
        f"{title} · {dataset}": [
            {
                "method": line.method,
                **{preset_title(preset): exp_text(line.rows.get(preset)) for preset in presets},
                **_paper(line.paper, with_paper),
            }
            for line in method_lines([row for row in rows if row.dataset == dataset])
        ]
        for dataset in dict.fromkeys(row.dataset for row in rows)
    }


def _method(row: Table2Row, with_paper: bool, words: LossWords) -> dict[str, str]:
    repeats, spread = row.repeats_twin, words is not HAMMING.words
    return {
        "dataset": row.dataset,
        "method": row.method,
        "EXP": SAME_AS_DIRECT if repeats else loss(row.exp.mean),
        "95 %": "" if repeats else half_width(row.exp),
        words.greedy: "" if repeats else loss(row.greedy_mean),
        **({f"{words.greedy}, 95 %": "" if repeats else half_width(row.greedy)} if spread else {}),
        **_paper(row.paper, with_paper),
        "seeds": str(row.exp.count),
    }


def _paper(exp: float | None, with_paper: bool) -> dict[str, str]:
    return {"paper": "" if exp is None else loss(exp)} if with_paper else {}
