"""A policy that learned from validation rows is judged there by its parts that did not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multilogger.components.actions.arrays import Matrix
from multilogger.components.learners.auto import learner as auto_learner
from multilogger.components.learners.auto.contest import Contest
from multilogger.components.learners.judging.verdict import Verdict, joined
from multilogger.components.learners.learn import learn
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.presets import preset
from multilogger.components.log.memory import TrainingLog
from multilogger.components.log.reading import open_streamed_log
from multilogger.tasks.cell_metrics import cell_metrics, why_not_chosen
from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.evaluate import (
    contexts_of,
    estimate_all,
    load_evaluation,
    measure_validation,
    with_interval,
)
from multilogger.tasks.lambda_star import LambdaStarSettings, estimate_lambda_star
from multilogger.tasks.learn import learn_policy, load_learned
from multilogger.tasks.learn_settings import LearnSettings
from multilogger.tasks.log_files import open_learner_log
from multilogger.tasks.own_log.estimate import EstimateSettings, estimate_policy
from multilogger.tasks.own_log.import_log import import_log
from multilogger.tasks.own_log.import_settings import ImportLogSettings
from multilogger.tasks.policy_checks import BLIND_FILE, Sight, judged_logits
from tests.components.conftest import make_training_log, write_training_log
from tests.components.learners.auto.test_contest import QUICK, of_pairs
from tests.tasks.conftest import make
from tests.tasks.own_log.shop import COLUMNS, shop_frame

EVERY = {"propensities": "p_new,p_old,p_random"}
SLIGHT = {"hidden": "64", "epochs": 30, "model_epochs": 30, "folds": 3, "standardise": True}


def coins(rows: int = 900, noise: int = 30) -> Any:
    """A shop where clicks are coins, so that every policy loses 1/2, and features to know rows by."""
    rng = np.random.default_rng(5)
    features = {f"user_{k}": rng.normal(size=rows) for k in range(noise)}
    return shop_frame(rows).assign(click=rng.integers(0, 2, rows), **features)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    folder = tmp_path_factory.mktemp("shop")
    coins().to_parquet(folder / "shop.parquet")
    values = {"logs": str(folder / "shop.parquet"), "dataset": "shop", **COLUMNS, **EVERY}
    return make(folder, import_log, ImportLogSettings.build(values), "import")


def learned_from(shop: Artifact, folder: Path, method: str, **numbers: Any) -> tuple[Artifact, Artifact]:
    """A policy and its estimate."""
    inputs = {"data": shop, "loggers": shop, "log": shop}
    values = {"method": method, "dataset": "shop", "actions": "one-of", "preset": "tuned"}
    settings = LearnSettings.build({**values, **SLIGHT, **numbers})
    policy = make(folder, learn_policy, settings, "policy", **inputs)
    shares = make(folder, estimate_lambda_star, LambdaStarSettings(), "shares", **inputs, policy=policy)
    how = EstimateSettings(bootstrap=100)
    return policy, make(folder, estimate_policy, how, "scores", **inputs, policy=policy, shares=shares)


@pytest.mark.parametrize("method", ["dm", "dr"])
def test_a_policy_that_knows_its_rows_is_not_praised(method: str, shop: Artifact, tmp_path: Path) -> None:
    policy, scores = learned_from(shop, tmp_path, method, fit_all=True)
    result = load_evaluation(scores)
    assert result.sight is Sight.BLIND
    found = result.estimates["balanced-sn"]
    assert found["low"] < 0.5 < found["high"]
    rows = open_learner_log(shop, shop, shop, policies=False)
    whole = load_learned(policy).logits(rows.x)
    praised = with_interval(estimate_all(measure_validation(rows, whole), np.full(3, 1 / 3))["balanced-sn"])
    assert praised["high"] < 0.5
    metrics = cell_metrics(result)
    assert metrics["validation_seen"] == 0.0
    assert why_not_chosen(method, metrics) == ""


def test_who_did_not_learn_from_them_is_judged_as_it_is(shop: Artifact, tmp_path: Path) -> None:
    policy, scores = learned_from(shop, tmp_path, "dm", fit_all=False)
    assert BLIND_FILE not in policy.files
    assert load_evaluation(scores).sight is Sight.NONE


def test_without_its_blind_part_it_is_no_candidate(shop: Artifact, tmp_path: Path) -> None:
    policy, scores = learned_from(shop, tmp_path, "dm", fit_all=True)
    bare = policy.model_copy(update={"files": {n: f for n, f in policy.files.items() if n != BLIND_FILE}})
    rows = open_learner_log(shop, shop, shop, policies=False)
    assert judged_logits(bare, load_learned(bare), rows.x).sight is Sight.ALL
    seen = load_evaluation(scores).model_copy(update={"sight": Sight.ALL})
    assert why_not_chosen("dm", cell_metrics(seen)) == "it may have learned from the rows that judge it"


def risk(log: TrainingLog, logits: Matrix) -> tuple[float, float]:
    """The self-normalised balanced risk of the validation rows of some contexts, and its standard error."""
    part = log.part(validation=True)
    here = contexts_of(logits)[part.context]
    weights = part.average_rows(part.under(np.nan_to_num(logits))).weights[here]
    delta = part.delta[here]
    mean = float(weights @ delta / weights.sum())
    return mean, float(np.sqrt(((weights * (delta - mean)) ** 2).sum()) / weights.sum())


def methods_that_may_see() -> list[tuple[str, str]]:
    return [
        (name, space)
        for name, method in METHODS.items()
        if "fit_all" in {*vars(method.settings())} and not method.saw_labels
        for space in sorted(method.spaces)
    ]


@pytest.mark.parametrize(("method", "space"), methods_that_may_see())
def test_every_method_that_may_see_them_says_what_it_is_where_it_does_not(method: str, space: str) -> None:
    """Of losses that are noise: at contexts that it has not seen no policy is better than another."""
    log = make_training_log(contexts=200, actions=space)
    delta = np.random.default_rng(0).integers(0, 2, log.rows).astype(np.float64)
    quick: dict[str, Any] = {"hidden": (32,), "epochs": 15, "model_epochs": 15, "folds": 3, "fit_all": True}
    usual = preset("tuned", "scene", method, space)
    given = {name: value for name, value in quick.items() if hasattr(usual, name)}
    learned = learn(method, replace(log, delta=delta), replace(usual, **given), 0)
    assert learned.blind_logits is not None
    mean, error = risk(replace(log, delta=delta), learned.blind_logits)
    assert abs(mean - 0.5) < 4 * max(error, 0.03)


def test_a_contest_is_blind_where_it_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the contexts were learned from by what a contest returns: they have no say."""

    def last(*given: Any) -> Verdict:
        found = joined(*given)
        return replace(found, chosen=len(found.comparisons) - 1)

    monkeypatch.setattr(auto_learner, "joined", last)
    log = of_pairs(make_training_log(contexts=120, alphas=(0.05, 0.2)))
    learned = learn("auto", log, QUICK, 0)
    assert learned.verdict is not None
    assert learned.verdict.comparisons[-1].name == "ls, greedy"
    assert learned.blind_logits is not None
    judged = contexts_of(learned.blind_logits)
    np.testing.assert_array_equal(judged, Contest(log, QUICK, 0).judged)
    assert 0 < judged.sum() < len(judged)


def test_contexts_that_may_not_judge_are_left_out(tmp_path: Path) -> None:
    """As if the log had no rows of them."""
    log = make_training_log(contexts=60)
    write_training_log(log, tmp_path)
    streamed = open_streamed_log(tmp_path, log.x, log.logger_logits)
    logits = log.logger_logits[1].copy()
    logits[::2] = np.nan
    rows = measure_validation(streamed, logits)
    kept = log.validation & (log.context % 2 == 1)
    np.testing.assert_array_equal(rows.own.counts, np.bincount(log.logger[kept]))
    found = estimate_all(rows, np.full(2, 0.5))["naive"].value
    of_odd = log.space.log_probability(log.logger_logits[1][log.context], log.action)
    own = log.log_propensities[np.arange(log.rows), log.logger]
    assert found == pytest.approx(float((np.exp(of_odd - own) * log.delta)[kept].mean()))
