"""Record what Open Bandit Pipeline's estimators say of two small fixed logs: of labels, and of one-of-K.

Run once, by hand; the tests read the files that it writes. obp 0.5.7 asks for an old Python, so keep it out
of the project's environment:

    pip install --no-deps --ignore-requires-python --target <folder> obp==0.5.7
    python benchmarks/record_obp_figures.py <folder> tests/components/estimators

obp's estimators for one logger (IPS, SNIPS, DM, DR, switch-DR) take the rows of all loggers as one log, each
with the propensity of its own logger.
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
ACTIONS = 5
SWITCH = 1.2
FILES = {"labels": "obp_figures.json", "one-of": "obp_one_of_figures.json"}


def prepare(folder: Path) -> None:
    """Let modules of obp be imported one by one: its own start-up imports packages that they do not need."""
    sys.path.insert(0, str(folder))
    for name, place in (("obp", folder / "obp"), ("obp.ope", folder / "obp" / "ope")):
        package = types.ModuleType(name)
        package.__path__ = [str(place)]
        sys.modules[name] = package
    if importlib.util.find_spec("pandas") is None:
        pandas = types.ModuleType("pandas")  # obp.utils names it in annotations only
        pandas.DataFrame = pandas.Series = object  # type: ignore[attr-defined]
        sys.modules["pandas"] = pandas


def action_table(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability of each of the 2^q label vectors in every row, label 0 the lowest binary digit."""
    bits = np.arange(2**LABELS)[:, None] >> np.arange(LABELS) & 1
    p = 1.0 / (1.0 + np.exp(-logits))
    return np.asarray(np.where(bits[None], p[:, None], 1.0 - p[:, None]).prod(axis=2), dtype=np.float64)


def record_labels(estimators: types.ModuleType) -> dict[str, object]:
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


def record_one_of(single: types.ModuleType, multi: types.ModuleType) -> dict[str, object]:
    """A log of one-of-K actions with a loss model that is wrong."""
    rng = np.random.default_rng(SEED)
    n = sum(COUNTS)
    logger = rng.permutation(np.repeat(np.arange(len(COUNTS)), COUNTS))
    base = rng.normal(size=(n, ACTIONS))
    logits = [alpha * base for alpha in ALPHAS]
    target_logits = base + 0.7 * rng.normal(size=(n, ACTIONS))
    tables = np.stack([softmax(one) for one in logits])
    target = softmax(target_logits)
    action = np.array([rng.choice(ACTIONS, p=row) for row in tables[logger, np.arange(n)]])
    delta = np.round(rng.uniform(0, 1, size=n), 3)
    model = np.round(rng.uniform(0, 1, size=(n, ACTIONS)), 3)
    propensities = tables[:, np.arange(n), action].T  # (n, J)
    pscore = propensities[np.arange(n), logger]
    average = propensities @ np.array(COUNTS) / n
    rows = {"reward": delta, "action": action, "action_dist": target[:, :, None]}
    modelled = {**rows, "estimated_rewards_by_reg_model": model[:, :, None]}

    def figures(clip: float) -> dict[str, float]:
        found = {
            "ips": single.InverseProbabilityWeighting(lambda_=clip).estimate_policy_value(
                pscore=pscore, **rows
            ),
            "dr": single.DoublyRobust(lambda_=clip).estimate_policy_value(pscore=pscore, **modelled),
            "naive": multi.MultiLoggersNaiveInverseProbabilityWeighting(lambda_=clip).estimate_policy_value(
                pscore=pscore, **rows
            ),
            "weighted": multi.MultiLoggersWeightedInverseProbabilityWeighting(
                lambda_=clip
            ).estimate_policy_value(pscore=pscore, stratum_idx=logger, **rows),
            "balanced": multi.MultiLoggersBalancedInverseProbabilityWeighting(
                lambda_=clip
            ).estimate_policy_value(pscore_avg=average, **rows),
            "naive-dr": multi.MultiLoggersNaiveDoublyRobust(lambda_=clip).estimate_policy_value(
                pscore=pscore, **modelled
            ),
            "weighted-dr": multi.MultiLoggersWeightedDoublyRobust(lambda_=clip).estimate_policy_value(
                pscore=pscore, stratum_idx=logger, **modelled
            ),
            "balanced-dr": multi.MultiLoggersBalancedDoublyRobust(lambda_=clip).estimate_policy_value(
                pscore_avg=average, **modelled
            ),
        }
        return {name: float(value) for name, value in found.items()}

    unclipped = {
        "snips": single.SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(
            pscore=pscore, **rows
        ),
        "dm": single.DirectMethod().estimate_policy_value(**modelled),
        "sndr": single.SelfNormalizedDoublyRobust().estimate_policy_value(pscore=pscore, **modelled),
        "switch-dr": single.SwitchDoublyRobust(lambda_=SWITCH).estimate_policy_value(
            pscore=pscore, **modelled
        ),
    }
    return {
        "source": "Open Bandit Pipeline 0.5.7, obp/ope/estimators.py and estimators_multi.py; "
        "losses stand in for rewards",
        "max_loss": 1,
        "logger": logger.tolist(),
        "action": action.tolist(),
        "delta": delta.tolist(),
        "target_logits": target_logits.tolist(),
        "logger_logits": [one.tolist() for one in logits],
        "model": model.tolist(),
        "clip": CLIP,
        "switch": SWITCH,
        "raw": figures(float("inf")) | {name: float(value) for name, value in unclipped.items()},
        "clipped": figures(CLIP),
    }


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability of each action in every row."""
    chance = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


if __name__ == "__main__":
    prepare(Path(sys.argv[1]))
    single, multi = (importlib.import_module(f"obp.ope.estimators{name}") for name in ("", "_multi"))
    for kind, figures in (("labels", record_labels(multi)), ("one-of", record_one_of(single, multi))):
        (Path(sys.argv[2]) / FILES[kind]).write_text(json.dumps(figures, indent=1) + "\n")
