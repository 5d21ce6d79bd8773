"""Features of a sample of rows: which say nothing, and which say what they cannot know.

Leak of the action: the chance of the logged actions by one feature alone (its bins, fitted on the other half
of the contexts) over their logged propensities. If the propensities are right, the product of these ratios
exceeds 1/p with a chance of p at most, whatever the feature is. Leak of the loss: a feature alone, whatever
the action, explains nearly all of the losses.
"""

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Vector
from multilogger.components.checks.batches import GROUPS, LogFacts, Places
from multilogger.components.checks.findings import LEVEL, Finding, some
from multilogger.components.checks.sample import SampledRows

MOST_FEATURES = 1000
TAILS = (0.001, 0.003, 0.01, 0.03)
QUANTILES = np.array([*TAILS, *np.arange(0.1, 1.0, 0.1), *(1.0 - t for t in TAILS[::-1])])
PURE = 0.95  # of the rows of a bin with one action
PURE_ROWS = 0.02  # of all rows in such bins
LEAST_GAIN = 0.02  # nats a row
DETERMINES = 0.9  # of the variance of the loss
FEWEST_SAMPLED = 100
NEARLY_ALL = 0.999
MANY_MISSING = 0.5


def feature_findings(sample: SampledRows, facts: LogFacts) -> Iterator[Finding]:
    """Everything of the features."""
    looked = min(sample.x.shape[1], MOST_FEATURES)
    if looked < sample.x.shape[1]:
        yield Finding(
            "many-features",
            "note",
            f"only the first {looked} of {sample.x.shape[1]:,} features were looked at for leaks",
            float(sample.x.shape[1]),
            "look at the others by parts",
        )
    yield from _empty(sample, facts)
    if len(sample) < FEWEST_SAMPLED:
        return
    bins = [feature_bins(sample.x[:, f]) for f in range(looked)]
    yield from _action_leaks(sample, facts, bins)
    yield from _loss_leaks(sample, facts, looked)


def missing_values(shares: Mapping[str, float]) -> Iterator[Finding]:
    """Features that lack values, by the share of rows."""
    if shares:
        worst = max(shares, key=shares.__getitem__)
        several = len(shares) > 1
        yield Finding(
            "missing-values",
            "mend" if shares[worst] > MANY_MISSING else "note",
            f"{len(shares)} feature{'s have' if several else ' has'} missing values, {worst} in "
            f"{shares[worst]:.1%} of the rows",
            shares[worst],
            "fill them in, or leave the feature out",
        )


def _empty(sample: SampledRows, facts: LogFacts) -> Iterator[Finding]:
    missing = np.isnan(sample.x).mean(axis=0)
    yield from missing_values({facts.features[f]: float(missing[f]) for f in np.flatnonzero(missing > 0)})
    constant, nearly = [], []
    for f in range(sample.x.shape[1]):
        column = sample.x[:, f]
        least, most = np.nanmin(column, initial=np.inf), np.nanmax(column, initial=-np.inf)
        if least >= most:
            constant.append(facts.features[f])
        elif max((column == least).mean(), (column == most).mean()) >= NEARLY_ALL:
            nearly.append(facts.features[f])
    for code, found, words in (
        ("constant-features", constant, "never vary"),
        ("near-constant-features", nearly, f"have one value in {NEARLY_ALL:.1%} of the rows or more"),
    ):
        if found:
            yield Finding(
                code,
                "note",
                f"{len(found)} features {words} ({some(found)})",
                float(len(found)),
                "leave them out",
            )


def feature_bins(column: NDArray[np.float32]) -> Places:
    """The bin of each value: one per value where there are few, else by quantiles with fine tails."""
    filled = np.nan_to_num(column.astype(np.float64), nan=np.inf)
    values, place = np.unique(filled, return_inverse=True)
    if len(values) <= len(QUANTILES):
        return place.reshape(-1).astype(np.int64)
    edges = np.unique(np.quantile(filled, QUANTILES, method="lower"))
    return np.searchsorted(edges, filled, side="right").astype(np.int64)


def _action_leaks(sample: SampledRows, facts: LogFacts, bins: list[Places]) -> Iterator[Finding]:
    half = sample.group < GROUPS // 2
    tests = len(facts.loggers) * max(1, len(bins))
    for j, name in enumerate(facts.loggers):
        mine = sample.logger == j
        folds = mine & half, mine & ~half
        if min(fold.sum() for fold in folds) < FEWEST_SAMPLED // 2:
            continue
        found: list[tuple[float, float, str]] = []
        for f, places in enumerate(bins):
            gains, pure = [], 0.0
            for fold, other in (folds, folds[::-1]):
                log_q, sure = _by_bin(sample, facts, places, other, fold)
                gains.append(log_q - sample.log_propensity[fold])
                pure += float((sure & (sample.log_propensity[fold] < math.log(0.9))).sum())
            log_e = float(np.logaddexp(gains[0].sum(), gains[1].sum()) - math.log(2.0))
            gain = float(np.concatenate(gains).mean())
            if log_e > math.log(tests / LEVEL) and gain > LEAST_GAIN:
                found.append((pure / mine.sum(), gain, facts.features[f]))
        leaks = sorted((one for one in found if one[0] > PURE_ROWS), reverse=True)
        if leaks:
            yield Finding(
                "leak-action",
                "unsafe",
                f"{some(one[2] for one in leaks)} all but says which action logger {name} took (sure of it "
                f"in {leaks[0][0]:.0%} of the rows, which the propensities are not)",
                leaks[0][0],
                "a feature that is made from the action cannot be known before it; leave it out",
            )
        elif found and name not in facts.unlogged:
            best = max(found, key=lambda one: one[1])
            yield Finding(
                "action-not-in-propensities",
                "mend",
                f"{best[2]} tells the actions of logger {name} better than its propensities do (by "
                f"{best[1]:.3f} nats a row)",
                best[1],
                "its propensities are too small or leave the feature out; log them at the time of the action",
            )


def _by_bin(
    sample: SampledRows, facts: LogFacts, places: Places, fit: NDArray[np.bool_], to: NDArray[np.bool_]
) -> tuple[Vector, NDArray[np.bool_]]:
    """Log chance of the actions by bin, fitted on other rows, and where one action is all but sure."""
    bins, size = int(places.max()) + 1, facts.space.size
    rows = np.bincount(places[fit], minlength=bins).astype(np.float64)
    if facts.choices:
        usual = (np.bincount(sample.action[fit], minlength=size) + 1.0) / (fit.sum() + size)
        cells = np.bincount(places[fit] * size + sample.action[fit], minlength=bins * size)
        chance = (cells.reshape(bins, size) + usual) / (rows[:, None] + 1.0)
        chosen = chance[places[to], sample.action[to]]
        return np.log(chosen), chosen > PURE
    log_q = np.zeros(int(to.sum()))
    least = np.ones(len(log_q))
    for label in range(size):
        taken = sample.action[:, label]
        usual = (taken[fit].sum() + 1.0) / (fit.sum() + 2.0)
        share = (np.bincount(places[fit], taken[fit], bins) + usual) / (rows + 1.0)
        chosen = np.where(taken[to] == 1, share[places[to]], 1.0 - share[places[to]])
        log_q += np.log(chosen)
        least = np.minimum(least, chosen)
    return log_q, least > PURE


def _loss_leaks(sample: SampledRows, facts: LogFacts, looked: int) -> Iterator[Finding]:
    from sklearn.tree import DecisionTreeRegressor

    half = sample.group < GROUPS // 2
    if min(half.sum(), (~half).sum()) < FEWEST_SAMPLED // 2 or np.ptp(sample.loss) == 0:
        return
    found = []
    for f in range(looked):
        column = np.nan_to_num(sample.x[:, [f]].astype(np.float64), nan=-1e30, posinf=1e30, neginf=-1e30)
        if np.ptp(column) == 0:
            continue
        left, total = 0.0, 0.0
        for fit in (half, ~half):
            tree = DecisionTreeRegressor(max_leaf_nodes=16, min_samples_leaf=3, random_state=0)
            tree.fit(column[fit], sample.loss[fit])
            left += float(np.square(sample.loss[~fit] - tree.predict(column[~fit])).sum())
            total += float(np.square(sample.loss[~fit] - sample.loss[fit].mean()).sum())
        if total > 0 and 1.0 - left / total > DETERMINES:
            found.append((1.0 - left / total, facts.features[f]))
    if found:
        found.sort(reverse=True)
        yield Finding(
            "leak-loss",
            "unsafe",
            f"{some(name for _, name in found)} alone explains {found[0][0]:.0%} of the losses, whatever the "
            "action",
            found[0][0],
            "a feature that is made from the outcome cannot be known before the action; leave it out",
        )
