"""A claim of the paper, its tests over seeds, and the plain word for what came out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from multilogger.components.reproduction.names import preset_rank
from multilogger.components.reproduction.statistics import CONFIDENCE, MeanOverSeeds, holm, p_value


class ClaimVerdict(StrEnum):
    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    UNDECIDED = "undecided with these seeds"
    SAME = "no difference"


class SideOfBound(StrEnum):
    """On which side of the bound the claim puts the mean."""

    BELOW = "below"
    ABOVE = "above"


class Scale(StrEnum):
    """What a tested number is, which says how it is written."""

    EXP = "difference of EXP"
    SLOPE = "change of 1/EXP for each doubling"


@dataclass(frozen=True)
class ClaimTest:
    """One comparison: a t-test over seeds that the mean of `sample` is `bound`, where the claim says `side`.

    `ours` and `paper` are the pairs of means behind a difference, if it is one. `paper_value` is the tested
    quantity in the paper's own numbers; `note` and `paper_note` say more of ours and theirs.
    `adjusted_p` is Holm's, over all tests of a report that are of the same preset.
    """

    dataset: str
    preset: str
    comparison: str
    scale: Scale
    side: SideOfBound
    sample: MeanOverSeeds
    bound: float = 0.0
    ours: tuple[float, float] | None = None
    paper: tuple[float, float] | None = None
    paper_value: float | None = None
    paper_bound: float = 0.0
    adjusted_p: float | None = None
    note: str = ""
    paper_note: str = ""

    @property
    def same(self) -> bool:
        """Whether both sides are equal in every seed, so that no number of seeds can tell them apart.

        A constraint that never moved the policy, or not before its chosen epoch, leaves the direct twin.
        """
        return self.bound == self.sample.mean == self.sample.standard_error == 0

    @property
    def p(self) -> float | None:
        return None if self.same else p_value(self.sample, self.bound)

    @property
    def verdict(self) -> ClaimVerdict:
        """By the test's own 95 % interval."""
        return self._word(self.p)

    @property
    def adjusted_verdict(self) -> ClaimVerdict:
        """The same after Holm's correction."""
        return self._word(self.adjusted_p)

    @property
    def paper_agrees(self) -> bool | None:
        """Whether the paper's own numbers are on the side that its sentence says."""
        if self.paper_value is None:
            return None
        below = self.paper_value < self.paper_bound
        return below if self.side is SideOfBound.BELOW else self.paper_value > self.paper_bound

    def _word(self, p: float | None) -> ClaimVerdict:
        if self.same:
            return ClaimVerdict.SAME
        if p is None or self.sample.mean is None or p >= 1 - CONFIDENCE:
            return ClaimVerdict.UNDECIDED
        return (
            ClaimVerdict.HOLDS
            if (self.sample.mean < self.bound) == (self.side is SideOfBound.BELOW)
            else ClaimVerdict.FAILS
        )


@dataclass(frozen=True)
class Claim:
    """A statement of the paper in our words and the tests that bear on it; `how` says what is tested."""

    name: str
    place: str
    statement: str
    how: str
    tests: tuple[ClaimTest, ...]

    @property
    def verdict(self) -> ClaimVerdict:
        return overall(test.verdict for test in self.tests)

    @property
    def by_preset(self) -> dict[str, ClaimVerdict]:
        """A verdict of its own for each preset that was run, from the paper's to ours."""
        presets = sorted({test.preset for test in self.tests}, key=preset_rank)
        return {name: overall(t.verdict for t in self.tests if t.preset == name) for name in presets}


def overall(verdicts: Iterable[ClaimVerdict]) -> ClaimVerdict:
    """One word for several tests: a claim holds if all of them do, in part if only some do."""
    words = set(verdicts)
    if words == {ClaimVerdict.HOLDS}:
        return ClaimVerdict.HOLDS
    if ClaimVerdict.HOLDS in words:
        return ClaimVerdict.IN_PART
    if ClaimVerdict.FAILS in words:
        return ClaimVerdict.FAILS
    return ClaimVerdict.SAME if words == {ClaimVerdict.SAME} else ClaimVerdict.UNDECIDED


def adjusted(claims: Sequence[Claim]) -> list[Claim]:
    """The same claims with Holm's correction over all tests of a preset that could be done.

    Choice: a preset is a reproduction of its own, so that no verdict depends on which others were run beside.
    """
    families: dict[str, list[float]] = {}
    for test in (test for claim in claims for test in claim.tests):
        if test.p is not None:
            families.setdefault(test.preset, []).append(test.p)
    corrected = {preset: iter(holm(p_values)) for preset, p_values in families.items()}
    return [
        replace(
            claim,
            tests=tuple(
                test if test.p is None else replace(test, adjusted_p=next(corrected[test.preset]))
                for test in claim.tests
            ),
        )
        for claim in claims
    ]
