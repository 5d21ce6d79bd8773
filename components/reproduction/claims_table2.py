"""The paper's claims about Table 2, as paired tests over seeds."""

from collections.abc import Callable, Sequence

from multilogger.components.reproduction.cells import datasets_in_order, exp_by_seed, grouped, paired
from multilogger.components.reproduction.method_names import is_logger, method_rank, method_title
from multilogger.components.reproduction.paper_figures import (
    SAME_ROWS,
    paper_dataset,
    paper_exp,
    paper_table2,
)
from multilogger.components.reproduction.results import Reproduction
from multilogger.components.reproduction.statistics import MeanOverSeeds, mean_over_seeds
from multilogger.components.reproduction.verdicts import Claim, ClaimTest, Scale, Side

CONSTRAINED = {"naive-reg": "naive", "weighted-reg": "weighted"}
"""The paper's methods and their direct twins."""

MARGIN = 0.05
"""Choice: "competitive" and "stable" allow a loss that is this much higher; the paper names no margin."""

DIFFERENCE = "the difference of EXP, paired by seed"


def table2_claims(reproduction: Reproduction) -> list[Claim]:
    """Section 5.2, sentence by sentence; claims with nothing to test are left out."""
    table = _Table(reproduction)
    claims = (
        Claim(
            "constraint",
            "Section 5.2",
            "The constraint helps: Naive-Reg has a lower loss than Naive, and Weighted-Reg than Weighted.",
            DIFFERENCE,
            table.tests(lambda _, reg: (reg, CONSTRAINED[reg], Side.BELOW)),
        ),
        Claim(
            "wcrm",
            "Section 5.2",
            "Both constrained methods have a lower loss than WCRM.",
            DIFFERENCE,
            table.tests(lambda _, reg: (reg, "wcrm", Side.BELOW)),
        ),
        Claim(
            "weighting",
            "Section 5.2, Table 2",
            "Of the two constrained methods, Weighted-Reg is the better on Scene and Yeast, "
            "and Naive-Reg on TMC.",
            DIFFERENCE,
            table.tests(_weighted_against_naive),
        ),
        Claim(
            "better-logger",
            "Section 5.2",
            "Neither constrained method gets below the better logger.",
            f"{DIFFERENCE}; the better logger is the one of lower mean EXP",
            table.tests(lambda dataset, reg: (reg, table.better_logger(dataset), Side.ABOVE)),
        ),
        Claim(
            "crf",
            "Section 5.2",
            "On Yeast, Weighted-Reg keeps up with a CRF that is trained on all the labels.",
            f"{DIFFERENCE}; keeping up means a loss at most {100 * MARGIN:.0f}\u00a0% above the CRF's",
            table.tests(_weighted_against_crf, margin=MARGIN),
        ),
    )
    return [claim for claim in claims if claim.tests]


Comparison = tuple[str, str, Side]
"""The left method, the right method, and on which side of 0 the claim puts left - right."""


def _weighted_against_naive(dataset: str, reg: str) -> Comparison | None:
    if reg != "weighted-reg" or paper_dataset(dataset) not in paper_table2():
        return None
    return (reg, "naive-reg", Side.ABOVE if paper_dataset(dataset) == "tmc" else Side.BELOW)


def _weighted_against_crf(dataset: str, reg: str) -> Comparison | None:
    return (reg, "crf", Side.BELOW) if (dataset, reg) == ("yeast", "weighted-reg") else None


class _Table:
    """EXP by dataset, method, preset and seed."""

    def __init__(self, reproduction: Reproduction) -> None:
        self.datasets = datasets_in_order(reproduction)
        groups = grouped(reproduction.table2, lambda c: (c.dataset, c.method, c.preset))
        self.exps = {key: exp_by_seed(cells) for key, cells in groups.items()}

    def tests(
        self,
        choose: Callable[[str, str], Comparison | tuple[str, str | None, Side] | None],
        margin: float = 0.0,
    ) -> tuple[ClaimTest, ...]:
        """The test of what `choose` compares, for each dataset, constrained method and preset run."""
        return tuple(
            self._test(dataset, preset, left, right, side, margin)
            for dataset in self.datasets
            for reg in CONSTRAINED
            for left, right, side in [choose(dataset, reg) or ("", None, Side.BELOW)]
            if right is not None
            for preset in self._presets(dataset, left)
            if self._find(dataset, right, preset) is not None
        )

    def better_logger(self, dataset: str) -> str | None:
        """The logger of lowest mean EXP."""
        means = {
            method: mean_over_seeds(list(exps.values())).mean
            for (name, method, _), exps in self.exps.items()
            if name == dataset and is_logger(method) and exps
        }
        return min(sorted(means, key=method_rank), key=lambda method: means[method] or 0.0, default=None)

    def _test(self, dataset: str, preset: str, left: str, right: str, side: Side, margin: float) -> ClaimTest:
        pairs = paired(self.exps[dataset, left, preset], self._find(dataset, right, preset) or {})
        sample = mean_over_seeds([a - b for a, b in pairs])
        theirs = (paper_exp(dataset, left), paper_exp(dataset, right))
        paper = (theirs[0], theirs[1]) if theirs[0] is not None and theirs[1] is not None else None
        ours = means_of(pairs)
        return ClaimTest(
            dataset=dataset,
            preset=preset if len(self._presets(dataset, left)) > 1 else "",
            comparison=f"{method_title(left)} − {method_title(right)}",
            scale=Scale.EXP,
            side=side,
            sample=sample,
            bound=margin * ours[1] if ours else 0.0,
            ours=ours,
            paper=paper,
            paper_value=paper[0] - paper[1] if paper else None,
            paper_bound=margin * paper[1] if paper else 0.0,
            paper_note=f"on {SAME_ROWS[dataset]}" if paper and dataset in SAME_ROWS else "",
        )

    def _presets(self, dataset: str, method: str) -> list[str]:
        return sorted(p for name, m, p in self.exps if (name, m) == (dataset, method))

    def _find(self, dataset: str, method: str, preset: str) -> dict[int, float] | None:
        """A method's EXP by seed under the same preset; references may know only one, of another name."""
        presets = self._presets(dataset, method)
        if preset in presets:
            return self.exps[dataset, method, preset]
        return self.exps[dataset, method, presets[0]] if len(presets) == 1 else None


def means_of(pairs: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """The two means of paired numbers."""
    left: MeanOverSeeds = mean_over_seeds([a for a, _ in pairs])
    right = mean_over_seeds([b for _, b in pairs])
    return None if left.mean is None or right.mean is None else (left.mean, right.mean)
