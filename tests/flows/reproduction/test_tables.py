"""What the terminal shows of a reproduction, with one preset and with several."""

from dataclasses import replace

from multilogger.components.reproduction.results import CellResult, Reproduction
from multilogger.flows.reproduction.tables import reproduction_notes, reproduction_tables

TABLE2 = "Table 2: expected Hamming loss on test (EXP)"
CLAIMS = "Claims of the paper: the difference over seeds, and whether the claim holds"


def cells(method: str, preset: str, *exps: float, dataset: str = "yeast") -> tuple[CellResult, ...]:
    return tuple(CellResult(dataset, method, preset, seed, exp, exp) for seed, exp in enumerate(exps))


def made() -> Reproduction:
    """Naive-Reg is below Naive as printed, and is Naive with our settings."""
    return Reproduction(
        table2=(
            *cells("naive", "paper", 4.0, 4.2),
            *cells("naive-reg", "paper", 3.5, 3.702),
            *cells("naive", "tuned", 3.0, 3.0),
            *cells("naive-reg", "tuned", 3.0, 3.0),
            *cells("crf", "tuned", 4.1, 4.1),
            *cells("naive", "tuned", 1.0, 1.0, dataset="scene"),
        )
    )


def test_presets_are_columns_and_datasets_tables() -> None:
    tables = reproduction_tables(made())
    assert list(tables) == [f"{TABLE2} · yeast", f"{TABLE2} · scene", CLAIMS]
    assert tables[f"{TABLE2} · yeast"] == [
        {"method": "naive", "as printed": "4.100 ± 1.271", "ours": "3.000 ± 0.000", "paper": "4.001"},
        {"method": "naive-reg", "as printed": "3.601 ± 1.283", "ours": "same as direct", "paper": "3.551"},
        {"method": "crf", "as printed": "", "ours": "4.100 ± 0.000", "paper": "4.133"},
    ]
    assert tables[CLAIMS] == [
        {
            "claim": "the constraint helps",
            "dataset": "yeast",
            "compared": "Naive-Reg − Naive",
            "as printed": "−0.499 ± 0.013 holds",
            "ours": "0.000 no difference",
        }
    ]


def test_claims_are_summed_up_in_a_sentence_per_preset() -> None:
    assert reproduction_notes(made()) == [
        "As printed: of 1 test on 1 claim of the paper, 1 holds, 0 do not, and 0 are undecided with these "
        "seeds, at the 5\u00a0% level after Holm's correction.",
        "Ours: of 1 test on 1 claim of the paper, 0 hold, 0 do not, 1 compares a policy with itself, and 0 "
        "are undecided with these seeds, at the 5\u00a0% level after Holm's correction.",
    ]
    assert reproduction_notes(Reproduction(table2=cells("crf", "tuned", 4.1))) == []


def test_one_seed_has_no_interval_and_decides_nothing() -> None:
    shown = reproduction_tables(
        Reproduction(table2=(*cells("naive", "tuned", 3.0), *cells("naive-reg", "tuned", 2.5)))
    )
    assert [row["ours"] for row in shown[CLAIMS]] == ["−0.500 undecided"]


def test_one_preset_has_one_table_and_a_single_column_of_claims() -> None:
    ours = Reproduction(table2=tuple(cell for cell in made().table2 if cell.preset == "tuned"))
    tables = reproduction_tables(ours)
    assert list(tables) == [TABLE2, CLAIMS]
    assert list(tables[CLAIMS][0]) == ["claim", "dataset", "compared", "ours"]
    columns = ["dataset", "method", "EXP", "95 %", "greedy", "paper", "seeds"]
    assert [list(row) for row in tables[TABLE2]] == [columns] * 4
    assert list(tables[TABLE2][1].values()) == ["yeast", "naive-reg", "same as direct", "", "", "3.551", "2"]


def test_sweeps_choices_and_loggers_name_several_presets_alone() -> None:
    swept = tuple(replace(c, tau=1.0, loggers=2, choice="default") for c in cells("naive-reg", "tuned", 3.0))
    other = tuple(replace(c, preset="paper") for c in swept)
    for cells_shown, expected in ((swept, [None]), (swept + other, ["as printed", "ours"])):
        tables = reproduction_tables(
            Reproduction(figure2=cells_shown, choices=cells_shown, loggers=cells_shown)
        )
        tables.pop(CLAIMS, None)
        assert len(tables) == 3
        assert [[row.get("preset") for row in rows] for rows in tables.values()] == [expected] * 3
