"""EXP by dataset, method, preset and seed, and paired tests between methods."""

from collections.abc import Sequence

from multilogger.components.reproduction.claims.verdicts import ClaimTest, Scale, Side
from multilogger.components.reproduction.names import is_logger, method_rank, method_title, preset_rank
from multilogger.components.reproduction.paper_figures import SAME_ROWS, paper_exp
from multilogger.components.reproduction.results import CellResult, exp_by_seed, grouped, paired
from multilogger.components.reproduction.statistics import MeanOverSeeds, mean_over_seeds

MARGIN = 0.05
"""Choice: "competitive" and "stable" allow a loss that is this much higher; the paper names no margin."""

DIFFERENCE = "the difference of EXP, paired by seed"


class ExpTable:
    """EXP of cells, all of one part of a reproduction."""

    def __init__(self, cells: Sequence[CellResult], datasets: Sequence[str]) -> None:
        groups = grouped(cells, lambda c: (c.dataset, c.method, c.preset))
        self._exps = {key: exp_by_seed(own) for key, own in groups.items()}
        self.datasets = [name for name in datasets if any(key[0] == name for key in groups)]

    def tests(self, dataset: str, left: str, right: str, side: Side, margin: float = 0.0) -> list[ClaimTest]:
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

    def _test(self, dataset: str, preset: str, left: str, right: str, side: Side, margin: float) -> ClaimTest:
        pairs = paired(self._exps[dataset, left, preset], self._find(dataset, right, preset) or {})
        sample = mean_over_seeds([a - b for a, b in pairs])
        theirs = (paper_exp(dataset, left), paper_exp(dataset, right))
        paper = (theirs[0], theirs[1]) if theirs[0] is not None and theirs[1] is not None else None
        ours = means_of(pairs)
        return ClaimTest(
            dataset=dataset,
            preset=preset,
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
        own = [p for name, m, p in self._exps if (name, m) == (dataset, method)]
        return sorted(own, key=preset_rank)

    def _find(self, dataset: str, method: str, preset: str) -> dict[int, float] | None:
        """A method's EXP by seed under the same preset; references may know only one, of another name."""
        presets = self._presets(dataset, method)
        if preset in presets:
            return self._exps[dataset, method, preset]
        return self._exps[dataset, method, presets[0]] if len(presets) == 1 else None


def means_of(pairs: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """The two means of paired numbers."""
    left: MeanOverSeeds = mean_over_seeds([a for a, _ in pairs])
    right = mean_over_seeds([b for _, b in pairs])
    return None if left.mean is None or right.mean is None else (left.mean, right.mean)
