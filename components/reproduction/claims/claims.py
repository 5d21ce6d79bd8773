"""All claims of the paper that a reproduction bears on, and the sentence per preset that sums them up."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from multilogger.components.reproduction.claims.sweeps import sweep_claims
from multilogger.components.reproduction.claims.table2 import table2_claims
from multilogger.components.reproduction.claims.verdicts import Claim, ClaimVerdict, adjusted
from multilogger.components.reproduction.names import preset_rank, preset_title
from multilogger.components.reproduction.results import Reproduction

IN_FEW_WORDS = {
    "constraint": "the constraint helps",
    "wcrm": "both below WCRM",
    "weighting": "Weighted-Reg is the better, on TMC Naive-Reg",
    "better-logger": "neither below the better logger",
    "crf": "Weighted-Reg keeps up with the CRF",
    "replay-naive": "more of logger 1 harms Naive-Reg",
    "replay-weighted": "more of logger 1 helps Weighted-Reg",
    "usually-better": "better at most temperatures",
    "stable": "stable at every temperature",
}
"""The claims by name, in the order in which they are shown."""


def judged_claims(reproduction: Reproduction) -> list[Claim]:
    """Section 5's claims with their tests; Holm's correction runs over all of them that are of one preset."""
    return adjusted([*table2_claims(reproduction), *sweep_claims(reproduction)])


def claim_presets(claims: Sequence[Claim]) -> list[str]:
    """The presets that claims were tested under, from the paper's to ours."""
    return sorted({test.preset for claim in claims for test in claim.tests}, key=preset_rank)


def summaries(claims: Sequence[Claim]) -> list[str]:
    """One sentence per preset, which names it if there are several."""
    presets = claim_presets(claims)
    if len(presets) < 2:
        return [summary(list(claims))]
    return [f"{preset_title(name).capitalize()}: {_lower(summary(_under(claims, name)))}" for name in presets]


def _under(claims: Sequence[Claim], preset: str) -> list[Claim]:
    own = [replace(c, tests=tuple(test for test in c.tests if test.preset == preset)) for c in claims]
    return [claim for claim in own if claim.tests]


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def summary(claims: list[Claim]) -> str:
    """How many tests there were and what is left of them after Holm's correction."""
    words = Counter(test.adjusted_verdict for claim in claims for test in claim.tests)
    tests = sum(words.values())
    if tests == 0:
        return "Nothing was run that bears on a claim of the paper."
    return (
        f"Of {_count(tests, 'test')} on {_count(len(claims), 'claim')} of the paper, "
        f"{_verb(words[ClaimVerdict.HOLDS], 'holds', 'hold')}, "
        f"{_verb(words[ClaimVerdict.FAILS], 'does not', 'do not')}, {_same(words[ClaimVerdict.SAME])}and "
        f"{_verb(words[ClaimVerdict.UNDECIDED], 'is', 'are')} undecided with these seeds, "
        "at the 5\u00a0% level after Holm's correction."
    )


def _same(number: int) -> str:
    return f"{_verb(number, 'compares', 'compare')} a policy with itself, " if number else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _verb(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
