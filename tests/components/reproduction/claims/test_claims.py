"""Claims on cells where the answer is plain: it holds, it does not, or nobody can tell."""

from dataclasses import replace

import pytest

from multilogger.components.reproduction.claims.claims import judged_claims, summary
from multilogger.components.reproduction.claims.table2 import additive_claims
from multilogger.components.reproduction.claims.verdicts import Claim, ClaimVerdict, overall
from multilogger.components.reproduction.results import Reproduction
from tests.components.reproduction.synthetic import (
    cells,
    everything,
    pairwise,
    replay_sweep,
    table2,
    temperature_sweep,
)


def verdicts(reproduction: Reproduction) -> dict[str, ClaimVerdict]:
    return {claim.name: claim.verdict for claim in judged_claims(reproduction)}


def claim(reproduction: Reproduction, name: str) -> Claim:
    return next(c for c in judged_claims(reproduction) if c.name == name)


def test_all_hold_when_they_plainly_do() -> None:
    found = verdicts(table2(naive_reg=3.4, weighted_reg=3.3))
    assert found["constraint"] == found["wcrm"] == found["weighting"] == found["crf"] == ClaimVerdict.HOLDS
    assert found["better-logger"] == ClaimVerdict.FAILS, "both are below the better logger's 4.3"


def test_all_fail_when_they_plainly_do() -> None:
    found = verdicts(table2(naive_reg=4.5, weighted_reg=4.6))
    assert found["constraint"] == found["wcrm"] == found["weighting"] == found["crf"] == ClaimVerdict.FAILS
    assert found["better-logger"] == ClaimVerdict.HOLDS


def test_nothing_is_decided_when_noise_is_larger_than_the_difference() -> None:
    found = claim(table2(naive_reg=3.6999, weighted_reg=3.4999, wobble=20), "constraint")
    assert found.verdict == ClaimVerdict.UNDECIDED
    assert all(test.sample.low is not None for test in found.tests)


def test_one_seed_decides_nothing() -> None:
    for found in judged_claims(table2(naive_reg=3.4, weighted_reg=3.3, seeds=1)):
        for test in found.tests:
            assert (test.verdict, test.sample.low, test.p) == (ClaimVerdict.UNDECIDED, None, None)


def test_only_seeds_that_both_methods_have_are_paired() -> None:
    made = table2(naive_reg=3.4, weighted_reg=3.3)
    broken = tuple(
        replace(c, exp=None, greedy=None, error="killed") if (c.method, c.seed) == ("naive", 2) else c
        for c in made.table2
        if (c.method, c.seed) != ("naive-reg", 4)
    )
    test = claim(Reproduction(table2=broken), "constraint").tests[0]
    assert (test.comparison, test.sample.count) == ("Naive-Reg − Naive", 3)


def test_a_method_of_which_every_cell_failed_is_undecided_not_hidden() -> None:
    made = table2(naive_reg=3.4, weighted_reg=3.3)
    broken = tuple(
        replace(c, exp=None, error="killed") if c.method == "naive-reg" else c for c in made.table2
    )
    test = claim(Reproduction(table2=broken), "constraint").tests[0]
    assert (test.sample.count, test.verdict) == (0, ClaimVerdict.UNDECIDED)


def test_the_difference_and_the_papers_own() -> None:
    test = claim(table2(naive_reg=3.4, weighted_reg=3.3), "constraint").tests[0]
    assert test.sample.mean == pytest.approx(-0.3, abs=1e-9)
    assert test.paper == (3.551, 4.001)
    assert test.paper_value == pytest.approx(-0.45)
    assert test.paper_agrees


def test_the_papers_yeast_numbers_contradict_its_sentence_on_the_better_logger() -> None:
    tests = claim(table2(naive_reg=3.4, weighted_reg=3.3), "better-logger").tests
    assert [test.paper_agrees for test in tests] == [False, False]
    assert tests[0].comparison == "Naive-Reg − Logger 2"


def test_keeping_up_with_the_crf_allows_a_margin() -> None:
    """CRF is at 4.1, so 5 % above it is 4.305."""
    assert verdicts(table2(3.4, weighted_reg=4.25))["crf"] == ClaimVerdict.HOLDS
    assert verdicts(table2(3.4, weighted_reg=4.35))["crf"] == ClaimVerdict.FAILS


def test_the_order_of_the_two_is_turned_round_on_tmc() -> None:
    made = [
        c
        for dataset in ("tmc500", "digits")
        for m, exp in (("naive-reg", 2.4), ("weighted-reg", 2.7))
        for c in cells(m, exp, dataset=dataset)
    ]
    found = claim(Reproduction(table2=tuple(made)), "weighting")
    assert [(t.dataset, t.verdict, t.paper_note) for t in found.tests] == [
        ("tmc500", ClaimVerdict.HOLDS, "on tmc")
    ]


def test_presets_are_tested_apart_and_references_shared() -> None:
    made = [
        *cells("weighted-reg", 3.3, preset="tuned"),
        *cells("weighted-reg", 4.6, preset="paper"),
        *cells("crf", 4.1, preset=""),
    ]
    found = claim(Reproduction(table2=tuple(made)), "crf")
    assert [(t.preset, t.verdict) for t in found.tests] == [
        ("paper", ClaimVerdict.FAILS),
        ("tuned", ClaimVerdict.HOLDS),
    ]
    assert found.verdict == ClaimVerdict.IN_PART


def test_replay_slopes() -> None:
    found = verdicts(Reproduction(figure1=replay_sweep(-0.005, 0.005)))
    assert found == {"replay-naive": ClaimVerdict.HOLDS, "replay-weighted": ClaimVerdict.HOLDS}
    found = verdicts(Reproduction(figure1=replay_sweep(0.005, -0.005)))
    assert found == {"replay-naive": ClaimVerdict.FAILS, "replay-weighted": ClaimVerdict.FAILS}


def test_slope_is_that_of_the_figure() -> None:
    """The paper's: 1/EXP at log2 counts -2 .. 2 about their mean, so (-2 a - b + d + 2 e) / 10."""
    test = claim(Reproduction(figure1=replay_sweep(-0.005, 0.005)), "replay-naive").tests[0]
    assert test.sample.mean == pytest.approx(-0.005, abs=3e-4)
    assert test.paper_value == pytest.approx((-2 * 0.2824 - 0.2715 + 0.2550 + 2 * 0.2509) / 10)


def test_a_seed_without_all_points_has_no_slope() -> None:
    made = [c for c in replay_sweep(-0.005, 0.005) if (c.replay_count, c.seed) != (16, 0)]
    test = claim(Reproduction(figure1=tuple(made)), "replay-naive").tests[0]
    assert test.sample.count == 4


def test_temperatures_that_are_mostly_better_and_one_that_spoils() -> None:
    """Naive is at 3.7: two of three temperatures are better, the third is far above 3.7 + 5 %."""
    made = Reproduction(figure2=temperature_sweep("naive-reg", "naive", (3.4, 4.2, 3.5)))
    usual = claim(made, "usually-better").tests[0]
    assert usual.sample.mean == pytest.approx(-0.2, abs=3e-3), "the median of -0.3, +0.5, -0.2"
    assert (usual.verdict, usual.note) == (ClaimVerdict.HOLDS, "better at 2 of 3 τ")
    assert usual.paper_note == "better at 8 of 10 τ"
    worst = claim(made, "stable").tests[0]
    assert (worst.comparison, worst.verdict) == ("Naive-Reg at τ\u00a0=\u00a01 − Naive", ClaimVerdict.FAILS)
    assert worst.sample.mean == pytest.approx(0.5, abs=1e-9)


def test_stable_temperatures() -> None:
    made = Reproduction(figure3=temperature_sweep("weighted-reg", "weighted", (3.52, 3.4, 3.45)))
    assert verdicts(made) == {"usually-better": ClaimVerdict.HOLDS, "stable": ClaimVerdict.HOLDS}
    assert claim(made, "usually-better").tests[0].paper_note == "better at 5 of 10 τ"


def test_temperatures_that_are_mostly_worse() -> None:
    made = Reproduction(figure2=temperature_sweep("naive-reg", "naive", (3.4, 3.8, 3.8)))
    assert verdicts(made) == {"usually-better": ClaimVerdict.FAILS, "stable": ClaimVerdict.HOLDS}


def test_nothing_run_means_nothing_claimed() -> None:
    assert judged_claims(Reproduction()) == []
    assert summary([]) == "Nothing was run that bears on a claim of the paper."


def test_summary_counts_what_is_left_after_holm() -> None:
    claims = judged_claims(everything())
    tests = [test for c in claims for test in c.tests]
    assert all(t.adjusted_p is not None and t.p is not None and t.adjusted_p >= t.p for t in tests)
    left = [t.adjusted_verdict for t in tests]
    assert summary(claims).startswith(
        f"Of {len(tests)} tests on {len(claims)} claims of the paper, {left.count(ClaimVerdict.HOLDS)} hold, "
        f"{left.count(ClaimVerdict.FAILS)} do"
    )


def test_a_constraint_left_open_compares_a_policy_with_itself() -> None:
    direct = tuple(cells("naive", 3.7))
    twin = tuple(replace(cell, method="naive-reg") for cell in direct)
    made = Reproduction(table2=(*direct, *twin, *cells("wcrm", 3.9)))
    found = claim(made, "constraint")
    (test,) = found.tests
    assert (found.verdict, test.adjusted_verdict) == (ClaimVerdict.SAME, ClaimVerdict.SAME)
    assert (test.p, test.adjusted_p) == (None, None)
    (other,) = claim(made, "wcrm").tests
    assert other.adjusted_p == other.p, "what cannot be decided must not make others harder to decide"
    assert "1 compares a policy with itself" in summary(judged_claims(made))


def test_one_word_for_several() -> None:
    holds, fails, undecided = ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.UNDECIDED
    assert overall([holds, holds]) == holds
    assert overall([holds, undecided]) == overall([holds, fails]) == ClaimVerdict.IN_PART
    assert overall([fails, undecided]) == fails
    assert overall([undecided]) == overall([undecided, ClaimVerdict.SAME]) == undecided
    assert overall([holds, ClaimVerdict.SAME]) == ClaimVerdict.IN_PART
    assert overall([ClaimVerdict.SAME]) == ClaimVerdict.SAME


@pytest.mark.parametrize(
    ("additive", "dr", "bias"),
    [(1.1, 0.8, ClaimVerdict.HOLDS), (0.8, 1.1, ClaimVerdict.FAILS), (0.9, 0.9, ClaimVerdict.UNDECIDED)],
)
def test_own_claims_are_apart_from_the_papers(additive: float, dr: float, bias: ClaimVerdict) -> None:
    additive_rows = tuple(cells("additive", 2.75)) + tuple(cells("dr", 2.78))
    made = Reproduction(table2=additive_rows, pairwise=pairwise(additive, dr))
    assert {c.name: c.verdict for c in additive_claims(made)} == {"bias": bias, "price": ClaimVerdict.HOLDS}
    assert judged_claims(made) == []


def test_the_price_of_robustness_has_a_margin() -> None:
    made = Reproduction(table2=tuple(cells("additive", 2.0)) + tuple(cells("dr", 2.2)))
    (found,) = additive_claims(made)
    assert (found.name, found.verdict) == ("price", ClaimVerdict.FAILS)
    assert found.tests[0].bound == pytest.approx(0.1, abs=0.01)


def test_a_claim_of_two_methods_says_which_was_not_run() -> None:
    made = table2(naive_reg=3.4, weighted_reg=3.3)
    half = Reproduction(table2=tuple(c for c in made.table2 if c.method != "naive-reg"))
    for name in ("constraint", "wcrm", "better-logger"):
        assert claim(half, name).how.endswith(
            "; Naive-Reg was not run, so what the sentence says of it is not tested"
        )
        assert "not run" not in claim(made, name).how
    assert "not run" not in claim(half, "crf").how
