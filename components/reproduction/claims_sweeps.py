"""The paper's claims about Figures 1 to 3, as tests over seeds."""

import math
from collections.abc import Sequence

from multilogger.components.reproduction.cells import exp_by_seed, grouped, paired
from multilogger.components.reproduction.claims_table2 import CONSTRAINED, MARGIN, means_of
from multilogger.components.reproduction.method_names import method_title
from multilogger.components.reproduction.paper_figures import FIGURE_DATASET, PaperSweep, paper_sweep
from multilogger.components.reproduction.results import CellResult, Reproduction
from multilogger.components.reproduction.statistics import mean_over_seeds, slope
from multilogger.components.reproduction.sweeps import position
from multilogger.components.reproduction.verdicts import Claim, ClaimTest, Scale, Side

Curve = dict[float, dict[int, float]]
"""EXP by position on the horizontal axis, then by seed."""

HALF = 0.5
TEMPERATURE_FIGURES = {"figure2": "naive-reg", "figure3": "weighted-reg"}


def sweep_claims(reproduction: Reproduction) -> list[Claim]:
    """Sections 5.3 and 5.4; claims with nothing to test are left out."""
    slopes = "the least-squares slope of 1/EXP over log2 of the replay count, one for each seed"
    claims = (
        Claim(
            "replay-naive",
            "Section 5.3, Figure 1",
            "Naive-Reg gets worse when the more random logger h_1 is replayed more often.",
            slopes,
            _slope_tests(reproduction.figure1, "naive-reg", Side.BELOW),
        ),
        Claim(
            "replay-weighted",
            "Section 5.3, Figure 1",
            "Weighted-Reg gets better when h_1 is replayed more often.",
            slopes,
            _slope_tests(reproduction.figure1, "weighted-reg", Side.ABOVE),
        ),
        Claim(
            "usually-better",
            "Section 5.4, Figures 2 and 3",
            "At most temperatures the constrained method is better than the direct one.",
            "for each seed, the share of temperatures at which it is, against one half",
            tuple(t for f in TEMPERATURE_FIGURES for t in _share_tests(reproduction, f)),
        ),
        Claim(
            "stable",
            "Section 5.4, Figures 2 and 3",
            "The constrained methods are stable: no temperature spoils them.",
            f"at the temperature that does worst, the difference of EXP to the direct method, paired by seed; "
            f"stable means at most {MARGIN:.0%} above it",
            tuple(t for f in TEMPERATURE_FIGURES for t in _worst_tests(reproduction, f)),
        ),
    )
    return [claim for claim in claims if claim.tests]


def _slope_tests(cells: Sequence[CellResult], method: str, side: Side) -> tuple[ClaimTest, ...]:
    tests = []
    for (dataset, preset), several, curve in _curves(cells, "figure1", method):
        # Choice: only seeds with every point, because the slope over fewer points is another quantity.
        counts = sorted(x for x in curve if curve[x])
        seeds = sorted(set.intersection(*(set(curve[x]) for x in counts))) if len(counts) > 1 else []
        slopes = [slope([math.log2(x) for x in counts], [1 / curve[x][s] for x in counts]) for s in seeds]
        printed = paper_sweep("figure1").curves[method] if dataset == FIGURE_DATASET else {}
        theirs = slope([math.log2(x) for x in printed], list(printed.values())) if printed else None
        tests.append(
            ClaimTest(
                dataset=dataset,
                preset=preset if several else "",
                comparison=f"{method_title(method)}, slope over log2 replays",
                scale=Scale.SLOPE,
                side=side,
                sample=mean_over_seeds(slopes),
                paper_value=theirs,
            )
        )
    return tuple(tests)


def _share_tests(reproduction: Reproduction, figure: str) -> list[ClaimTest]:
    tests = []
    for dataset, preset, curve, direct in _against_direct(reproduction, figure):
        reg = TEMPERATURE_FIGURES[figure]
        shares = [
            sum(exps[seed] < direct[seed] for exps in tried) / len(tried)
            for seed in sorted(direct)
            if (tried := [exps for exps in curve.values() if seed in exps])
        ]
        printed = _printed(figure, dataset)
        theirs = None
        if printed:
            line = printed.lines[CONSTRAINED[reg]]
            theirs = sum(v > line for v in printed.curves[reg].values()) / len(printed.curves[reg])
        tests.append(
            ClaimTest(
                dataset=dataset,
                preset=preset,
                comparison=f"temperatures at which {method_title(reg)} beats {method_title(CONSTRAINED[reg])}",
                scale=Scale.SHARE,
                side=Side.ABOVE,
                sample=mean_over_seeds(shares),
                bound=HALF,
                paper_value=theirs,
                paper_bound=HALF,
            )
        )
    return tests


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
    pairs = paired(exps, direct)
    ours = means_of(pairs)
    printed = _printed(figure, dataset)
    paper = (1 / min(printed.curves[reg].values()), 1 / printed.lines[CONSTRAINED[reg]]) if printed else None
    return ClaimTest(
        dataset=dataset,
        preset=preset,
        comparison=f"{method_title(reg)} at τ = {tau:g} − {method_title(CONSTRAINED[reg])}",
        scale=Scale.EXP,
        side=Side.BELOW,
        sample=mean_over_seeds([a - b for a, b in pairs]),
        bound=MARGIN * ours[1] if ours else 0.0,
        ours=ours,
        paper=paper,
        paper_value=paper[0] - paper[1] if paper else None,
        paper_bound=MARGIN * paper[1] if paper else 0.0,
        note="the paper's worst temperature is another" if paper and _paper_worst(figure) != tau else "",
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
    """Dataset, preset (if there are several), the constrained curve and the direct line of a figure."""
    cells: tuple[CellResult, ...] = getattr(reproduction, figure)
    reg = TEMPERATURE_FIGURES[figure]
    found = []
    for (dataset, preset), several, curve in _curves(cells, figure, reg):
        lines = grouped(
            [c for c in cells if c.method == CONSTRAINED[reg] and c.dataset == dataset and c.tau is None],
            lambda c: c.preset,
        )
        line = lines.get(preset) or (next(iter(lines.values())) if len(lines) == 1 else None)
        if line and curve:
            found.append((dataset, preset if several else "", curve, exp_by_seed(line)))
    return found


def _curves(
    cells: Sequence[CellResult], figure: str, method: str
) -> list[tuple[tuple[str, str], bool, Curve]]:
    """The curves of a method by dataset and preset, and whether there is more than one preset."""
    points = [c for c in cells if c.method == method and position(figure, c) is not None]
    several = len({c.preset for c in points}) > 1
    return [
        (
            key,
            several,
            {x or 0.0: exp_by_seed(g) for x, g in grouped(group, lambda c: position(figure, c)).items()},
        )
        for key, group in grouped(points, lambda c: (c.dataset, c.preset)).items()
    ]
