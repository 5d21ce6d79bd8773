"""Record what Open Bandit Pipeline's multi-logger estimators say of a small fixed log.

Run once, by hand; the tests read the file that it writes. obp 0.5.7 asks for an old Python, so keep it out of
the project's environment:

    pip install --no-deps --ignore-requires-python --target <folder> obp==0.5.7
    python benchmarks/record_obp_figures.py <folder> tests/components/estimators/obp_figures.json
"""

import importlib.util
import json
import sys
import types
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SEED = 2019
LABELS = 3
COUNTS = (18, 12, 9)
ALPHAS = (0.2, 1.0, 2.0)
CLIP = 1.5


def load_estimators(folder: Path) -> types.ModuleType:
    """Import obp.ope.estimators_multi alone: obp's own start-up imports packages that it does not need."""
    sys.path.insert(0, str(folder))
    for name, place in (("obp", folder / "obp"), ("obp.ope", folder / "obp" / "ope")):
        package = types.ModuleType(name)
        package.__path__ = [str(place)]
        sys.modules[name] = package
    if importlib.util.find_spec("pandas") is None:
        pandas = types.ModuleType("pandas")  # obp.utils names it in annotations only
        pandas.DataFrame = pandas.Series = object  # type: ignore[attr-defined]
        sys.modules["pandas"] = pandas
    return importlib.import_module("obp.ope.estimators_multi")


def action_table(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability of each of the 2^q label vectors in every row, label 0 the lowest binary digit."""
    bits = np.arange(2**LABELS)[:, None] >> np.arange(LABELS) & 1
    p = 1.0 / (1.0 + np.exp(-logits))
    return np.asarray(np.where(bits[None], p[:, None], 1.0 - p[:, None]).prod(axis=2), dtype=np.float64)


def record(estimators: types.ModuleType) -> dict[str, object]:
    rng = np.random.default_rng(SEED)
    n = sum(COUNTS)
    logger = rng.permutation(np.repeat(np.arange(len(COUNTS)), COUNTS))
    base = rng.normal(size=(n, LABELS))
    tables = np.stack([action_table(alpha * base) for alpha in ALPHAS])  # (J, n, 2^q)
    target = action_table(base + 0.5 * rng.normal(size=(n, LABELS)))
    own = tables[logger, np.arange(n)]
    action = np.array([rng.choice(2**LABELS, p=row) for row in own])
    delta = np.round(rng.uniform(0, LABELS, size=n), 3)
    propensities = tables[:, np.arange(n), action].T  # (n, J)
    pscore = propensities[np.arange(n), logger]
    average = propensities @ np.array(COUNTS) / n
    rows = {"reward": delta, "action": action, "action_dist": target[:, :, None]}

    def figures(clip: float) -> dict[str, float]:
        naive = estimators.MultiLoggersNaiveInverseProbabilityWeighting(lambda_=clip)
        weighted = estimators.MultiLoggersWeightedInverseProbabilityWeighting(lambda_=clip)
        balanced = estimators.MultiLoggersBalancedInverseProbabilityWeighting(lambda_=clip)
        return {
            "naive": float(naive.estimate_policy_value(pscore=pscore, **rows)),
            "weighted": float(weighted.estimate_policy_value(pscore=pscore, stratum_idx=logger, **rows)),
            "balanced": float(balanced.estimate_policy_value(pscore_avg=average, **rows)),
        }

    return {
        "source": "Open Bandit Pipeline 0.5.7, obp/ope/estimators_multi.py; losses stand in for rewards",
        "max_loss": LABELS,
        "logger": logger.tolist(),
        "delta": delta.tolist(),
        "log_target": np.log(target[np.arange(n), action]).tolist(),
        "log_propensities": np.log(propensities).tolist(),
        "clip": CLIP,
        "raw": figures(float("inf")),
        "clipped": figures(CLIP),
    }


if __name__ == "__main__":
    figures = record(load_estimators(Path(sys.argv[1])))
    Path(sys.argv[2]).write_text(json.dumps(figures, indent=1) + "\n")
