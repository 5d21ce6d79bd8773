import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from multilogger.components.errors import BadInput
from multilogger.components.log.memory import TrainingLog
from multilogger.components.policies.policy import LearnedPolicy, Standardisation, load_policy
from tests.components.every_setting import EverySetting, learn


@pytest.fixture
def policy(log: TrainingLog, quick: EverySetting) -> LearnedPolicy:
    return learn("naive", log, replace(quick, epochs=2, standardise=True), seed=3).policy


def test_files_bring_the_same_policy_back(tmp_path: Path, policy: LearnedPolicy, log: TrainingLog) -> None:
    policy.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.json", "policy.safetensors"]
    back = load_policy(tmp_path)
    np.testing.assert_array_equal(back.logits(log.x), policy.logits(log.x))
    assert (back.method, back.seed, back.settings) == ("naive", 3, policy.settings)
    assert json.loads((tmp_path / "policy.json").read_text())["hidden"] == [8]


def test_linear_policy_is_a_network_without_hidden_layers(
    tmp_path: Path, log: TrainingLog, quick: EverySetting
) -> None:
    policy = learn("wcrm", log, replace(quick, wcrm_clips=(10.0,), wcrm_l2s=(0.01,)), seed=0).policy
    policy.save(tmp_path)
    back = load_policy(tmp_path)
    assert back.size.hidden == ()
    np.testing.assert_array_equal(back.logits(log.x), policy.logits(log.x))


@pytest.mark.parametrize("method", ["additive", "additive-soft", "dr"])
def test_ensemble_comes_back_with_its_sharpness(
    method: str, tmp_path: Path, log: TrainingLog, quick: EverySetting
) -> None:
    policy = learn(method, log, replace(quick, epochs=2, model_epochs=1, standardise=True), seed=3).policy
    policy.save(tmp_path)
    back = load_policy(tmp_path)
    np.testing.assert_array_equal(back.logits(log.x), policy.logits(log.x))
    np.testing.assert_array_equal(back.mean_probabilities(log.x), policy.mean_probabilities(log.x))
    assert json.loads((tmp_path / "policy.json").read_text())["members"] == 2


def test_one_network_has_no_mean_of_members(policy: LearnedPolicy, log: TrainingLog) -> None:
    message = "a policy of 'naive' is one network; only an ensemble has a mean"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        policy.mean_probabilities(log.x)


def test_logits_are_float64_and_take_sparse_rows(policy: LearnedPolicy, log: TrainingLog) -> None:
    dense = policy.logits(log.x)
    assert dense.shape == (150, 3)
    assert dense.dtype == np.float64
    np.testing.assert_array_equal(policy.logits(sparse.csr_array(log.x)), dense)
    assert policy.logits(log.x[:0]).shape == (0, 3)


def test_wrong_number_of_features_is_said(policy: LearnedPolicy) -> None:
    message = "the policy expects 4 features, got 7; use the dataset it was learned on"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        policy.logits(np.zeros((2, 7), dtype=np.float32))


def test_standardisation_leaves_constant_features_alone() -> None:
    x = np.array([[1.0, 5.0], [3.0, 5.0]], dtype=np.float32)
    np.testing.assert_allclose(Standardisation.fit(x)(x).numpy(), [[-1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(Standardisation.none(2)(x).numpy(), x)
