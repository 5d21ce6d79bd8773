"""Verdicts under several presets: one for each, as if each had been run alone."""

import csv
from dataclasses import replace

import pytest

from multilogger.components.reproduction.claims.claims import (
    IN_FEW_WORDS,
    claim_presets,
    judged_claims,
    summaries,
)
from multilogger.components.reproduction.claims.verdicts import ClaimVerdict
from multilogger.components.reproduction.report.csv_files import claims_csv
from multilogger.components.reproduction.results import CellResult, Reproduction

from .synthetic import everything, replay_sweep, table2, temperature_sweep


def under(preset: str, made: tuple[CellResult, ...]) -> tuple[CellResult, ...]:
    return tuple(replace(cell, preset=preset) for cell in made)


def two_presets() -> Reproduction:
    """As printed the constraint does harm, with ours it helps; loggers and CRF are there once, under ours."""
    ours = table2(naive_reg=3.4, weighted_reg=3.3).table2
    printed = [
        c for c in table2(naive_reg=4.5, weighted_reg=4.6).table2 if c.method not in ("crf", "logger-2")
    ]
    return Reproduction(table2=(*ours, *under("paper", tuple(printed))))


def test_each_preset_has_a_verdict_of_its_own() -> None:
    found = {claim.name: claim.by_preset for claim in judged_claims(two_presets())}
    assert found["constraint"] == {"paper": ClaimVerdict.FAILS, "tuned": ClaimVerdict.HOLDS}
    assert found["better-logger"] == {"paper": ClaimVerdict.HOLDS, "tuned": ClaimVerdict.FAILS}
    assert found["crf"] == {"paper": ClaimVerdict.FAILS, "tuned": ClaimVerdict.HOLDS}, "the CRF is shared"
    assert list(found["constraint"]) == ["paper", "tuned"]


def test_a_verdict_does_not_depend_on_the_presets_beside() -> None:
    alone = judged_claims(table2(naive_reg=3.4, weighted_reg=3.3))
    beside = judged_claims(two_presets())
    assert [t.adjusted_p for c in alone for t in c.tests] == [
        t.adjusted_p for c in beside for t in c.tests if t.preset == "tuned"
    ]


def test_a_sentence_per_preset() -> None:
    claims = judged_claims(two_presets())
    assert claim_presets(claims) == ["paper", "tuned"]
    printed, ours = summaries(claims)
    assert printed.startswith("As printed: of 8 tests on 5 claims of the paper, 2 hold, 6 do not, ")
    assert ours.startswith("Ours: of 8 tests on 5 claims of the paper, 6 hold, 2 do not, ")


def test_one_preset_is_not_named() -> None:
    (sentence,) = summaries(judged_claims(table2(naive_reg=3.4, weighted_reg=3.3)))
    assert sentence.startswith("Of 8 tests on 5 claims")
    assert summaries([]) == ["Nothing was run that bears on a claim of the paper."]


def test_sweeps_name_the_preset_of_each_test() -> None:
    ours = replay_sweep(-0.005, 0.005)
    made = Reproduction(
        figure1=(*ours, *under("printed-objective", replay_sweep(0.005, 0.005))),
        figure2=(
            *temperature_sweep("naive-reg", "naive", (3.4, 3.5)),
            *under("printed-objective", temperature_sweep("naive-reg", "naive", (3.9, 4.2))),
        ),
    )
    found = {claim.name: claim.by_preset for claim in judged_claims(made)}
    assert found == {
        "replay-naive": {"printed-objective": ClaimVerdict.FAILS, "tuned": ClaimVerdict.HOLDS},
        "replay-weighted": {"printed-objective": ClaimVerdict.HOLDS, "tuned": ClaimVerdict.HOLDS},
        "usually-better": {"printed-objective": ClaimVerdict.FAILS, "tuned": ClaimVerdict.HOLDS},
        "stable": {"printed-objective": ClaimVerdict.FAILS, "tuned": ClaimVerdict.HOLDS},
    }


def test_claims_as_a_file() -> None:
    claims = judged_claims(two_presets())
    rows = list(csv.DictReader(claims_csv(claims).splitlines()))
    assert len(rows) == sum(len(claim.tests) for claim in claims)
    first = rows[0]
    assert (first["claim"], first["dataset"], first["preset"], first["comparison"], first["seeds"]) == (
        "constraint",
        "yeast",
        "paper",
        "Naive-Reg − Naive",
        "5",
    )
    assert first["statement"] == claims[0].statement
    assert float(first["difference_mean"]) == pytest.approx(0.8, abs=1e-6)
    assert float(first["difference_low"]) < 0.8 < float(first["difference_high"])
    assert float(first["p"]) < float(first["holm_p"]) < 0.05
    assert (first["verdict"], first["paper_difference"]) == ("does not hold", "-0.450000")


def test_a_policy_compared_with_itself_has_no_p_in_the_file() -> None:
    made = table2(naive_reg=3.4, weighted_reg=3.3).table2
    twin = tuple(replace(cell, method="naive-reg") for cell in made if cell.method == "naive")
    rest = tuple(cell for cell in made if cell.method != "naive-reg")
    row = next(csv.DictReader(claims_csv(judged_claims(Reproduction(table2=rest + twin))).splitlines()))
    assert (row["difference_mean"], row["p"], row["holm_p"]) == ("0.000000", "", "")
    assert row["verdict"] == "no difference"


def test_every_claim_can_be_said_in_few_words() -> None:
    assert [claim.name for claim in judged_claims(everything())] == list(IN_FEW_WORDS)
