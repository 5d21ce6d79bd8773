"""The paper's claims about Figures 1 to 3, as tests over seeds."""

import math
from collections.abc import Sequence
from statistics import median

from multilogger.components.reproduction.claims.table2 import CONSTRAINED, MARGIN, paired_test
from multilogger.components.reproduction.claims.verdicts import Claim, ClaimTest, Scale, SideOfBound
from multilogger.components.reproduction.names import method_title, preset_rank
from multilogger.components.reproduction.paper_figures import FIGURE_DATASET, PaperSweep, paper_sweep
from multilogger.components.reproduction.results import CellResult, Reproduction, exp_by_seed, grouped, paired
from multilogger.components.reproduction.statistics import mean_over_seeds, slope
from multilogger.components.reproduction.tables.sweeps import position

Curve = dict[float, dict[int, float]]
"""EXP by position on the horizontal axis, then by seed."""

TEMPERATURE_FIGURES = {"figure2": "naive-reg", "figure3": "weighted-reg"}


def sweep_claims(reproduction: Reproduction) -> list[Claim]:
    """Sections 5.3 and 5.4; claims with nothing to test are left out."""
    slopes = "the least-squares slope of 1/EXP over log₂ of the replay count, one for each seed"
    claims = (
        Claim(
            "replay-naive",
            "Section 5.3, Figure 1",
            "Naive-Reg gets worse when the more random logger h₁ is replayed more often.",
            slopes,
            _slope_tests(reproduction.figure1, "naive-reg", SideOfBound.BELOW),
        ),
        Claim(
            "replay-weighted",
            "Section 5.3, Figure 1",
            "Weighted-Reg gets better when h₁ is replayed more often.",
            slopes,
            _slope_tests(reproduction.figure1, "weighted-reg", SideOfBound.ABOVE),
        ),
        Claim(
            "usually-better",
            "Section 5.4, Figures 2 and 3",
            "At most temperatures the constrained method is better than the direct one.",
            "for each seed, the median over temperatures of the difference of EXP",
            tuple(t for f in TEMPERATURE_FIGURES for t in _median_tests(reproduction, f)),
        ),
        Claim(
            "stable",
            "Section 5.4, Figures 2 and 3",
            "The constrained methods are stable: no temperature spoils them.",
            "at the temperature that does worst, the difference of EXP to the direct method, paired by seed; "
            f"stable means at most {100 * MARGIN:.0f}\u00a0% above it",
            tuple(t for f in TEMPERATURE_FIGURES for t in _worst_tests(reproduction, f)),
        ),
    )
    return [claim for claim in claims if claim.tests]


def _slope_tests(cells: Sequence[CellResult], method: str, side: SideOfBound) -> tuple[ClaimTest, ...]:
    tests = []
    for (dataset, preset), curve in _curves(cells, "figure1", method):
        # Choice: only seeds with every point, because the slope over fewer points is another quantity.
        counts = sorted(x for x in curve if curve[x])
        seeds = (
            sorted(set.intersection(*({s for s in curve[x] if curve[x][s] > 0} for x in counts)))
            if len(counts) > 1
            else []
        )
        slopes = [slope([math.log2(x) for x in counts], [1 / curve[x][s] for x in counts]) for s in seeds]
        printed = paper_sweep("figure1").curves[method] if dataset == FIGURE_DATASET else {}
        theirs = slope([math.log2(x) for x in printed], list(printed.values())) if printed else None
        tests.append(
            ClaimTest(
                dataset=dataset,
                preset=preset,
                comparison=f"{method_title(method)}, slope over log₂ replays",
                scale=Scale.SLOPE,
                side=side,
                sample=mean_over_seeds(slopes),
                paper_value=theirs,
            )
        )
    return tuple(tests)


def _median_tests(reproduction: Reproduction, figure: str) -> list[ClaimTest]:
    """A median below 0 says that more temperatures are better than worse; unlike a share it is never tied."""
    tests = []
    for dataset, preset, curve, direct in _against_direct(reproduction, figure):
        reg = TEMPERATURE_FIGURES[figure]
        medians = [
            median(differences)
            for seed in sorted(direct)
            if (differences := [exps[seed] - direct[seed] for exps in curve.values() if seed in exps])
        ]
        printed = _printed(figure, dataset)
        line = 1 / printed.lines[CONSTRAINED[reg]] if printed else 0.0
        theirs = [1 / height - line for height in printed.curves[reg].values()] if printed else []
        means = [mean_over_seeds([a - b for a, b in paired(exps, direct)]).mean for exps in curve.values()]
        tests.append(
            ClaimTest(
                dataset=dataset,
                preset=preset,
                comparison=f"{method_title(reg)} − {method_title(CONSTRAINED[reg])}, median over τ",
                scale=Scale.EXP,
                side=SideOfBound.BELOW,
                sample=mean_over_seeds(medians),
                note=_better_at([mean for mean in means if mean is not None]),
                paper_value=median(theirs) if theirs else None,
                paper_note=_better_at(theirs) if theirs else "",
            )
        )
    return tests


def _better_at(differences: Sequence[float]) -> str:
    return f"better at {sum(d < 0 for d in differences)} of {len(differences)} τ"


def _worst_tests(reproduction: Reproduction, figure: str) -> list[ClaimTest]:
    """Holds only if it does at every temperature, so the one with the highest upper end decides."""
    tests = []
    for dataset, preset, curve, direct in _against_direct(reproduction, figure):
        candidates = [_stable_test(figure, dataset, preset, tau, curve[tau], direct) for tau in sorted(curve)]
        tests.append(max(candidates, key=_upper_end))
    return tests


def _stable_test(
    figure: str, dataset: str, preset: str, tau: float, exps: dict[int, float], direct: dict[int, float]
) -> ClaimTest:
    reg = TEMPERATURE_FIGURES[figure]
    printed = _printed(figure, dataset)
    paper = (1 / min(printed.curves[reg].values()), 1 / printed.lines[CONSTRAINED[reg]]) if printed else None
    comparison = f"{method_title(reg)} at τ\u00a0=\u00a0{tau:g} − {method_title(CONSTRAINED[reg])}"
    note = f"at τ\u00a0=\u00a0{_paper_worst(figure):g}" if paper else ""
    return paired_test(
        dataset, preset, comparison, SideOfBound.BELOW, paired(exps, direct), paper, note, MARGIN
    )


def _upper_end(test: ClaimTest) -> float:
    """How far the interval reaches beyond the bound; the mean where there is no interval."""
    end = test.sample.mean if test.sample.high is None else test.sample.high
    return -math.inf if end is None else end - test.bound


def _paper_worst(figure: str) -> float:
    curve = paper_sweep(figure).curves[TEMPERATURE_FIGURES[figure]]
    return min(curve, key=lambda tau: curve[tau])


def _printed(figure: str, dataset: str) -> PaperSweep | None:
    return paper_sweep(figure) if dataset == FIGURE_DATASET else None


def _against_direct(
    reproduction: Reproduction, figure: str
) -> list[tuple[str, str, Curve, dict[int, float]]]:
    """Dataset, preset, the constrained curve and the direct line of a figure."""
    cells: tuple[CellResult, ...] = getattr(reproduction, figure)
    reg = TEMPERATURE_FIGURES[figure]
    found = []
    for (dataset, preset), curve in _curves(cells, figure, reg):
        lines = grouped(
            [c for c in cells if c.method == CONSTRAINED[reg] and c.dataset == dataset and c.tau is None],
            lambda c: c.preset,
        )
        line = lines.get(preset) or (next(iter(lines.values())) if len(lines) == 1 else None)
        if line and curve:
            found.append((dataset, preset, curve, exp_by_seed(line)))
    return found


def _curves(cells: Sequence[CellResult], figure: str, method: str) -> list[tuple[tuple[str, str], Curve]]:
    """The curves of a method by dataset and preset, the paper's preset first."""
    points = [c for c in cells if c.method == method and position(figure, c) is not None]
    datasets = list(dict.fromkeys(c.dataset for c in points))
    groups = grouped(points, lambda c: (c.dataset, c.preset))
    keys = sorted(groups, key=lambda key: (datasets.index(key[0]), preset_rank(key[1])))
    return [
        (
            key,
            {
                x or 0.0: exp_by_seed(g)
                for x, g in grouped(groups[key], lambda c: position(figure, c)).items()
            },
        )
        for key in keys
    ]
