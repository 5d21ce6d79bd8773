"""Made-up cells: EXP is a mean, plus a shift that all methods of a seed share, plus a small own one."""

from collections.abc import Sequence
from dataclasses import replace

from multilogger.components.reproduction.results import CellResult, DatasetSize, Reproduction

MEANS = {"logger-1": 6.9, "logger-2": 4.3, "wcrm": 3.6, "naive": 3.7, "weighted": 3.5, "crf": 4.1}
SHIFTS = (0.04, -0.05, 0.01, 0.03, -0.02)
WOBBLE = (0.002, -0.001, 0.003, -0.003, -0.001)


def cells(
    method: str,
    exp: float,
    *,
    dataset: str = "yeast",
    preset: str = "tuned",
    seeds: int = 5,
    wobble: float = 1.0,
    replay_count: int | None = None,
    tau: float | None = None,
    loggers: int | None = None,
    choice: str = "",
    axis: str = "",
    level: str = "",
    objective: str = "",
    additivity_p: float | None = None,
    calibration_p: float | None = None,
) -> list[CellResult]:
    """One cell per seed; `wobble` times an unshared part that keeps differences from being constant."""
    turn = sum(map(ord, f"{method}{replay_count}{tau}{choice}"))
    return [
        CellResult(
            dataset,
            method,
            preset,
            seed,
            exp=(value := exp + SHIFTS[seed] + wobble * WOBBLE[(seed + turn) % 5]),
            greedy=0.9 * value,
            additivity_p=additivity_p,
            calibration_p=calibration_p,
            calibration_off=None if calibration_p is None else seed == 0,
            page=f"#/experiments/7/runs/{method}-{seed}",
            replay_count=replay_count,
            tau=tau,
            loggers=loggers,
            choice=choice,
            axis=axis,
            level=level,
            objective=objective,
        )
        for seed in range(seeds)
    ]


def table2(naive_reg: float, weighted_reg: float, seeds: int = 5, wobble: float = 1.0) -> Reproduction:
    """Yeast with these two methods against fixed others."""
    means = MEANS | {"naive-reg": naive_reg, "weighted-reg": weighted_reg}
    found = [c for method, exp in means.items() for c in cells(method, exp, seeds=seeds, wobble=wobble)]
    return Reproduction(table2=tuple(found))


def replay_sweep(naive_slope: float, weighted_slope: float) -> tuple[CellResult, ...]:
    """Figure 1 with 1/EXP linear in log2 of the count, up to the shifts of seeds."""
    found = []
    for power in range(5):
        for method, slope in (("naive-reg", naive_slope), ("weighted-reg", weighted_slope)):
            exp = 1 / (0.27 + slope * power)
            found += cells(method, exp, replay_count=2**power)
    for method in ("logger-1", "logger-2", "crf"):
        found += cells(method, MEANS[method])
    return tuple(found)


def temperature_sweep(reg: str, direct: str, exps: Sequence[float]) -> tuple[CellResult, ...]:
    """Figure 2 or 3 with these EXP at tau 0.5, 1, ..."""
    found = [c for i, exp in enumerate(exps) for c in cells(reg, exp, tau=0.5 * (i + 1))]
    return (*found, *cells(direct, MEANS[direct]), *cells("wcrm", MEANS["wcrm"]))


def pairwise(additive: float, dr: float, p: float = 1e-6) -> tuple[CellResult, ...]:
    """The loss that does not add up, with these two methods, and the p-value of its test in every seed."""
    tested = cells("additive", additive, dataset="pairwise", additivity_p=p)
    return (*cells("logger-1", 1.6, dataset="pairwise"), *tested, *cells("dr", dr, dataset="pairwise"))


def constraint_study() -> tuple[CellResult, ...]:
    """Two levels of two axes, where the constraint gains 1 under the printed objective and nothing more."""
    direct = {"printed": 4.2, "no shift, raw": 4.2, "half shift, raw": 3.6, "ours": 3.2}
    steps = [("objective", step, step) for step in direct if "shift" in step]
    points = [("passes", level, objective) for level in "14" for objective in ("printed", "ours")]
    found = []
    for axis, level, objective in (*steps, *points):
        means = {"naive": direct[objective], "naive-reg": 3.2, "wcrm": 3.6}
        means |= {"weighted": direct[objective] - 0.1, "weighted-reg": 3.1}
        for method, exp in means.items():
            found += cells(method, exp, axis=axis, level=level, objective=objective)
    return tuple(found)


def one_of(naive_reg: float = 0.24) -> tuple[CellResult, ...]:
    """One of six actions, where dm has 1.2 times the loss of full information; shifts of seeds in small."""
    means = {"logger-2": 0.3, "naive": 0.25, "naive-reg": naive_reg, "dm": 0.12, "full-information": 0.1}
    found = [
        c
        for method, exp in means.items()
        for c in cells(method, 10 * exp, dataset="satimage", calibration_p=0.3 if method == "dm" else None)
    ]
    return tuple(replace(c, exp=(c.exp or 0.0) / 10, greedy=(c.greedy or 0.0) / 10) for c in found)


def everything() -> Reproduction:
    """All parts, small."""
    return Reproduction(
        table1=(
            DatasetSize("yeast", 103, 14, 1500, 917),
            DatasetSize("tmc500", 500, 22, 21519, 7077),
            DatasetSize("satimage", 36, 6, 4501, 1929, "one-of"),
        ),
        table2=table2(3.4, 3.3).table2 + tuple(cells("naive-reg", 1.9, dataset="tmc500")),
        one_of=one_of(),
        figure1=replay_sweep(-0.005, 0.005),
        figure2=temperature_sweep("naive-reg", "naive", (3.5, 3.4, 3.6)),
        figure3=temperature_sweep("weighted-reg", "weighted", (3.3, 3.4, 3.4)),
        choices=tuple(
            c
            for choice, exp in (("default", 3.3), ("loss_shift=none", 5.5), ("odd<b>=7", 3.3))
            for c in cells("weighted-reg", exp, choice=choice)
        ),
        loggers=tuple(c for count in (2, 4) for c in cells("weighted", 3.3, loggers=count)),
        pairwise=pairwise(1.1, 0.8),
        constraint=constraint_study(),
    )
