"""All claims of the paper that a reproduction bears on, and the one sentence that sums them up."""

from collections import Counter

from multilogger.components.reproduction.claims_sweeps import sweep_claims
from multilogger.components.reproduction.claims_table2 import table2_claims
from multilogger.components.reproduction.results import Reproduction
from multilogger.components.reproduction.verdicts import Claim, Verdict, adjusted


def judged_claims(reproduction: Reproduction) -> list[Claim]:
    """Section 5's claims with their tests; Holm's correction runs over all of them together."""
    return adjusted([*table2_claims(reproduction), *sweep_claims(reproduction)])


def summary(claims: list[Claim]) -> str:
    """How many tests there were and what is left of them after Holm's correction."""
    words = Counter(test.adjusted_verdict for claim in claims for test in claim.tests)
    tests = sum(words.values())
    if tests == 0:
        return "Nothing was run that bears on a claim of the paper."
    return (
        f"Of {_count(tests, 'test')} on {_count(len(claims), 'claim')} of the paper, "
        f"{_verb(words[Verdict.HOLDS], 'holds', 'hold')}, "
        f"{_verb(words[Verdict.FAILS], 'does not', 'do not')}, {_same(words[Verdict.SAME])}and "
        f"{_verb(words[Verdict.UNDECIDED], 'is', 'are')} undecided with these seeds, "
        "at the 5\u00a0% level after Holm's correction."
    )


def _same(number: int) -> str:
    return f"{_verb(number, 'compares', 'compare')} a policy with itself, " if number else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _verb(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
