"""The paper's claims about Table 2 and our own about the additive model, as paired tests over seeds."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from multilogger.components.reproduction.claims.verdicts import Claim, ClaimTest, Scale, SideOfBound, adjusted
from multilogger.components.reproduction.names import is_logger, method_rank, method_title, preset_rank
from multilogger.components.reproduction.paper_figures import (
    SAME_ROWS,
    paper_dataset,
    paper_exp,
    paper_table2,
)
from multilogger.components.reproduction.results import (
    CellResult,
    Reproduction,
    datasets_in_order,
    exp_by_seed,
    grouped,
    paired,
)
from multilogger.components.reproduction.statistics import mean_over_seeds

MARGIN = 0.05
"""Choice: "competitive" and "stable" allow a loss that is this much higher; the paper names no margin."""

DIFFERENCE = "the difference of EXP, paired by seed"


class ExpTable:
    """EXP of cells, all of one part of a reproduction."""

    def __init__(self, cells: Sequence[CellResult], datasets: Sequence[str]) -> None:
        groups = grouped(cells, lambda c: (c.dataset, c.method, c.preset))
        self._exps = {key: exp_by_seed(own) for key, own in groups.items()}
        self.datasets = [name for name in datasets if any(key[0] == name for key in groups)]

    def tests(
        self, dataset: str, left: str, right: str, side: SideOfBound, margin: float = 0.0
    ) -> list[ClaimTest]:
        """The test of left against right for each preset that left was run with, if right was run."""
        return [
            self._test(dataset, preset, left, right, side, margin)
            for preset in self._presets(dataset, left)
            if self._find(dataset, right, preset) is not None
        ]

    def better_logger(self, dataset: str) -> str | None:
        """The logger of lowest mean EXP."""
        means = {
            method: mean_over_seeds(list(exps.values())).mean
            for (name, method, _), exps in self._exps.items()
            if name == dataset and is_logger(method) and exps
        }
        return min(sorted(means, key=method_rank), key=lambda method: means[method] or 0.0, default=None)

    def _test(
        self, dataset: str, preset: str, left: str, right: str, side: SideOfBound, margin: float
    ) -> ClaimTest:
        pairs = paired(self._exps[dataset, left, preset], self._find(dataset, right, preset) or {})
        theirs = (paper_exp(dataset, left), paper_exp(dataset, right))
        paper = (theirs[0], theirs[1]) if theirs[0] is not None and theirs[1] is not None else None
        comparison = f"{method_title(left)} − {method_title(right)}"
        note = f"on {SAME_ROWS[dataset]}" if paper and dataset in SAME_ROWS else ""
        return paired_test(dataset, preset, comparison, side, pairs, paper, note, margin)

    def _presets(self, dataset: str, method: str) -> list[str]:
        own = [p for name, m, p in self._exps if (name, m) == (dataset, method)]
        return sorted(own, key=preset_rank)

    def _find(self, dataset: str, method: str, preset: str) -> dict[int, float] | None:
        """A method's EXP by seed under the same preset; references may know only one, of another name."""
        presets = self._presets(dataset, method)
        if preset in presets:
            return self._exps[dataset, method, preset]
        return self._exps[dataset, method, presets[0]] if len(presets) == 1 else None


def paired_test(
    dataset: str,
    preset: str,
    comparison: str,
    side: SideOfBound,
    pairs: Sequence[tuple[float, float]],
    paper: tuple[float, float] | None,
    paper_note: str,
    margin: float,
) -> ClaimTest:
    """Left minus right of every seed, against a bound of `margin` times the right mean; so in the paper."""
    left, right = (mean_over_seeds([pair[i] for pair in pairs]).mean for i in (0, 1))
    ours = None if left is None or right is None else (left, right)
    return ClaimTest(
        dataset=dataset,
        preset=preset,
        comparison=comparison,
        scale=Scale.EXP,
        side=side,
        sample=mean_over_seeds([a - b for a, b in pairs]),
        bound=margin * ours[1] if ours else 0.0,
        ours=ours,
        paper=paper,
        paper_value=paper[0] - paper[1] if paper else None,
        paper_bound=margin * paper[1] if paper else 0.0,
        paper_note=paper_note,
    )


CONSTRAINED = {"naive-reg": "naive", "weighted-reg": "weighted"}
"""The paper's methods and their direct twins."""
ON_BOTH = ("constraint", "wcrm", "better-logger")
"""Claims that speak of each constrained method."""


def table2_claims(reproduction: Reproduction) -> list[Claim]:
    """Section 5.2, sentence by sentence; claims with nothing to test are left out."""
    table = ExpTable(reproduction.table2, datasets_in_order(reproduction))
    claims = (
        Claim(
            "constraint",
            "Section 5.2",
            "The constraint helps: Naive-Reg has a lower loss than Naive, and Weighted-Reg than Weighted.",
            DIFFERENCE,
            _tests(table, lambda _, reg: (reg, CONSTRAINED[reg], SideOfBound.BELOW)),
        ),
        Claim(
            "wcrm",
            "Section 5.2",
            "Both constrained methods have a lower loss than WCRM.",
            DIFFERENCE,
            _tests(table, lambda _, reg: (reg, "wcrm", SideOfBound.BELOW)),
        ),
        Claim(
            "weighting",
            "Section 5.2, Table 2",
            "Of the two constrained methods, Weighted-Reg is the better on Scene and Yeast, "
            "and Naive-Reg on TMC.",
            DIFFERENCE,
            _tests(table, _weighted_against_naive),
        ),
        Claim(
            "better-logger",
            "Section 5.2",
            "Neither constrained method gets below the better logger.",
            f"{DIFFERENCE}; the better logger is the one of lower mean EXP",
            _tests(table, lambda dataset, reg: (reg, table.better_logger(dataset), SideOfBound.ABOVE)),
        ),
        Claim(
            "crf",
            "Section 5.2",
            "On Yeast, Weighted-Reg keeps up with a CRF that is trained on all the labels.",
            f"{DIFFERENCE}; keeping up means a loss at most {100 * MARGIN:.0f}\u00a0% above the CRF's",
            _tests(table, _weighted_against_crf, margin=MARGIN),
        ),
    )
    return [_with_what_is_missing(claim) for claim in claims if claim.tests]


def _with_what_is_missing(claim: Claim) -> Claim:
    """A sentence on both constrained methods, with the one that was not run."""
    run = " ".join(test.comparison for test in claim.tests)
    missing = [method_title(reg) for reg in CONSTRAINED if method_title(reg) not in run]
    if claim.name not in ON_BOTH or not missing:
        return claim
    said = f"{' and '.join(missing)} was not run, so what the sentence says of it is not tested"
    return replace(claim, how=f"{claim.how}; {said}")


MethodPair = tuple[str, str | None, SideOfBound]
"""The left method, the right method (None: nothing to test), and the side of 0 that left - right is on."""


def _weighted_against_naive(dataset: str, reg: str) -> MethodPair | None:
    if reg != "weighted-reg" or paper_dataset(dataset) not in paper_table2():
        return None
    return (reg, "naive-reg", SideOfBound.ABOVE if paper_dataset(dataset) == "tmc" else SideOfBound.BELOW)


def _weighted_against_crf(dataset: str, reg: str) -> MethodPair | None:
    return (reg, "crf", SideOfBound.BELOW) if (dataset, reg) == ("yeast", "weighted-reg") else None


def _tests(
    table: ExpTable, choose: Callable[[str, str], MethodPair | None], margin: float = 0.0
) -> tuple[ClaimTest, ...]:
    """The test of what `choose` compares, for each dataset, constrained method and preset run."""
    return tuple(
        test
        for dataset in table.datasets
        for reg in CONSTRAINED
        for left, right, side in [choose(dataset, reg) or ("", None, SideOfBound.BELOW)]
        if right is not None
        for test in table.tests(dataset, left, right, side, margin)
    )


def additive_claims(reproduction: Reproduction) -> list[Claim]:
    """Judged apart from the paper's claims, and with Holm's correction of their own."""
    datasets = datasets_in_order(reproduction)
    pairwise = ExpTable(reproduction.pairwise, datasets)
    table2 = ExpTable(reproduction.table2, datasets)
    claims = (
        Claim(
            "bias",
            "Beyond the paper",
            "Where the loss does not add up over labels, Doubly robust has a lower loss than Additive.",
            DIFFERENCE,
            tuple(
                test
                for dataset in pairwise.datasets
                for test in pairwise.tests(dataset, "dr", "additive", SideOfBound.BELOW)
            ),
        ),
        Claim(
            "price",
            "Beyond the paper",
            "Where it does, Doubly robust keeps up with Additive.",
            f"{DIFFERENCE}; keeping up means a loss at most {100 * MARGIN:.0f}\u00a0% above Additive's",
            tuple(
                test
                for dataset in table2.datasets
                for test in table2.tests(dataset, "dr", "additive", SideOfBound.BELOW, MARGIN)
            ),
        ),
    )
    return adjusted([claim for claim in claims if claim.tests])
