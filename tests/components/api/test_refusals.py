"""What newcomers get wrong: each is refused in one line that says what to do."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import multilogger as ml
from multilogger.flows.evaluation.evaluate import EvaluateOptions, evaluate_on_logs
from tests.components.api.test_bandit_log import COLUMNS, assert_same

Call = Callable[[ml.BanditLog], object]
SEED = "seed must be a whole number of at least 0, got "


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(ml.BadInput) as caught:
        call()
    return str(caught.value)


def rewarded(rows: int = 40, **changed: Any) -> ml.BanditLog:
    """Rewards from 4 to 10 of three labels: the largest loss exceeds the number of labels."""
    rng = np.random.default_rng(0)
    arguments: dict[str, Any] = {
        "x": rng.normal(size=(rows, 5)),
        "action": rng.integers(0, 2, (rows, 3)),
        "reward": np.linspace(4, 10, rows),
        "propensity": np.full(rows, 0.125),
        "logger": np.where(np.arange(rows) % 2 == 0, "old", "young"),
    }
    return ml.BanditLog.from_arrays(**(arguments | changed))


@pytest.mark.parametrize(
    "changed", [{}, {"reward_range": (0, 20)}, {"reward": None, "loss": np.arange(40), "max_loss": 50.0}]
)
def test_losses_above_the_number_of_labels_come_back(changed: dict[str, Any], tmp_path: Path) -> None:
    log = rewarded(**changed)
    log.to_parquet(tmp_path / "log.parquet")
    assert_same(log, ml.BanditLog.from_parquet(tmp_path / "log.parquet"))
    assert ml.BanditLog.from_parquet(tmp_path / "log.parquet", logger="logger").max_loss == log.max_loss


def test_the_command_takes_the_largest_loss_of_a_file(tmp_path: Path) -> None:
    log = rewarded(200)
    ml.Naive(epochs=1, hidden=(4,)).fit(log).save(tmp_path / "policy")
    log.to_parquet(tmp_path / "log.parquet")
    options = EvaluateOptions(policy=str(tmp_path / "policy"), logs=tmp_path / "log.parquet", bootstrap=100)
    assert evaluate_on_logs(options).result.max_loss == log.max_loss == 6.0


@pytest.mark.parametrize(
    "x", [np.full((2, 12), np.nan), np.full((2, 12), np.inf), sparse.csr_array(np.full((2, 12), np.nan))]
)
def test_features_that_are_no_numbers_have_no_probability(x: Any, replayed: ml.BanditLog) -> None:
    policy = replayed.logger_policies[0]
    for call in (policy.predict_proba, policy.predict, policy.sample):
        found = refused(lambda call=call: call(x))  # type: ignore[misc]
        assert found == "the array, row 0: a feature is missing, NaN or infinite; fill it in"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alphas": 2.0}, "alphas must be numbers above 0, one per logger, got 2.0"),
        ({"alphas": (-1,)}, "alphas must be numbers above 0, one per logger, got (-1,)"),
        ({"alphas": (1.0, "a")}, "alphas must be numbers above 0, one per logger, got (1.0, 'a')"),
        (
            {"passes": 2.5},
            "passes must be a whole number, 1 or more, for each of the 2 loggers, got [2.5, 2.5]",
        ),
        ({"split_by": "foo"}, "split_by must be one of row, context, got 'foo'"),
        ({"seed": -1}, SEED + "-1"),
    ],
)
def test_replays(settings: dict[str, Any], message: str) -> None:
    assert refused(lambda: ml.datasets.load_replay("digits", **settings)) == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda log: ml.Weighted(seed=-1).fit(log), SEED + "-1"),
        (lambda log: ml.Weighted(seed="a").fit(log), SEED + "'a'"),
        (lambda log: ml.Weighted(seed=None).fit(log), SEED + "None"),
        (lambda log: ml.Weighted(seed=1.5).fit(log), SEED + "1.5"),
        (lambda log: log.split(seed=-1), SEED + "-1"),
        (lambda log: ml.evaluate(log.logger_policies[0], log, seed=-1), SEED + "-1"),
        (
            lambda log: ml.Weighted(validation_fraction="x").fit(log),
            "validation_fraction must be a number between 0 and 1, got 'x'; it is a share of the log",
        ),
        (
            lambda log: log.split(test="0.3"),
            "test must be a number between 0 and 1, got '0.3'; it is a share of the log",
        ),
        (
            lambda log: ml.evaluate(log.logger_policies[0], log, bootstrap="x"),  # type: ignore[arg-type]
            "bootstrap needs 100 to 100,000 resamples, got 'x'",
        ),
        (
            lambda log: ml.evaluate(log.logger_policies[0], log, clip="x"),  # type: ignore[arg-type]
            "clip must be a number above 0, got 'x'",
        ),
    ],
)
def test_seeds_and_numbers(call: Call, message: str, replayed: ml.BanditLog) -> None:
    assert refused(lambda: call(replayed)) == message


@pytest.mark.parametrize("name", ["cost", "act", "who", "pscore", "p_old", "p_young"])
@pytest.mark.parametrize("every", [["p_old", "p_young"], {"old": "p_old", "young": "p_young"}])
def test_a_feature_is_known_when_the_policy_acts(every: Any, name: str, frame: pd.DataFrame) -> None:
    """The outcome among the features makes a policy that looks perfect and cannot act."""
    named = COLUMNS | {"features": ["age", name], "propensities": every}
    found = refused(lambda: ml.BanditLog.from_pandas(frame, **named))
    assert found.startswith(f"column {name!r} cannot be a feature: it is the action, the outcome or another")


def test_one_feature_needs_no_list(frame: pd.DataFrame) -> None:
    one, listed = (
        ml.BanditLog.from_pandas(frame, **(COLUMNS | {"features": features})) for features in ("age", ["age"])
    )
    assert_same(one, listed)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("policy.json", b"{", "policy.json is no policy, or it is damaged (JSONDecodeError: "),
        ("policy.json", b"{}", "policy.json is no policy, or it is damaged (KeyError: 'hidden'); save the"),
        ("policy.json", b"[]", "policy.json is no policy, or it is damaged (TypeError: "),
        (
            "policy.safetensors",
            b"abc",
            "policy.safetensors is damaged, or of another policy than policy.json",
        ),
        ("columns.json", b"{", "columns.json is damaged (JSONDecodeError: "),
        ("columns.json", b"{}", "columns.json is damaged (KeyError: 'features'); save it again"),
    ],
)
def test_damaged_policies(
    name: str, content: bytes, message: str, fitted: ml.Learner, tmp_path: Path
) -> None:
    fitted.save(tmp_path)
    (tmp_path / name).write_bytes(content)
    assert message in refused(lambda: ml.load_policy(tmp_path))


def test_a_policy_of_another_shape_and_a_file_in_the_way(fitted: ml.Learner, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    place = tmp_path / "policy.json"
    place.write_text(place.read_text().replace('"labels": 6', '"labels": 7'))
    assert "is damaged, or of another policy than policy.json" in refused(lambda: ml.load_policy(tmp_path))
    assert "a policy is saved into a folder, but" in refused(lambda: fitted.save(place))
    assert "is a file; name another" in refused(lambda: fitted.save(place / "below"))


@pytest.fixture(scope="module")
def fitted(replayed: ml.BanditLog) -> ml.Learner:
    return ml.Weighted(epochs=1, hidden=(4,)).fit(replayed)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"x": [["a", "b"]] * 40}, "x must be an array of numbers, rows of one length (could not convert"),
        ({"x": [[1.0], [1.0, 2.0]] * 20}, "x must be an array of numbers, rows of one length ("),
        ({"action": [["a", "b"]] * 40}, "action must be an array of numbers, rows of one length ("),
        ({"reward": ["much"] * 40}, "reward must be an array of numbers"),
        (
            {"reward_range": (10, 0)},
            "must be the least and then the largest possible reward, at most 1e+30 from",
        ),
        ({"reward_range": (0, 5, 10)}, "must be the least and the largest possible reward, got (0, 5, 10)"),
        ({"reward_range": "0,10"}, "reward_range must be an array of numbers"),
        ({"propensity": ["half"] * 40}, "propensity must be an array of numbers"),
        ({"propensity": [-0.1] * 40}, "the log, row 0: propensity is -0.1, below 0; give a probability"),
    ],
)
def test_arrays(changed: dict[str, Any], message: str) -> None:
    found = refused(lambda: rewarded(**changed))
    assert message in found
    assert "propensity of 0" not in found


@pytest.mark.parametrize(
    ("value", "columns", "message"),
    [
        (
            -0.1,
            ["p_old", "p_young"],
            "row 4: the propensity under logger young is -0.1, outside [0, 1]; give",
        ),
        (
            1.5,
            {"old": "p_old", "young": "p_young"},
            "row 4: the propensity under logger young is 1.5, outside",
        ),
        (0.5, {"old": "p_young", "young": "p_old"}, "in the column named for old; name the right column"),
    ],
)
def test_propensities_of_others(value: float, columns: Any, message: str, frame: pd.DataFrame) -> None:
    bad = frame.copy()
    bad.loc[4, "p_young"] = value
    found = refused(lambda: ml.BanditLog.from_pandas(bad, **(COLUMNS | {"propensities": columns})))
    assert message in found
    assert "order" not in found


def constant(log: ml.BanditLog) -> ml.BanditLog:
    return replace(log, loss=np.zeros(len(log)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda log: ml.Learner().fit(log), "Learner itself has no method; use a class such as Dr"),
        (
            lambda log: ml.WeightedReg(divergence="exact").fit(replace(log, logger_policies=())),
            "weighted-reg with divergence='exact' needs the loggers' own policies, which the log lacks; add "
            "them with log.with_logger_policies(...)",
        ),
        (
            lambda log: ml.Weighted().fit(constant(log)),
            "the losses of all rows are 0; losses that never vary",
        ),
        (
            lambda log: ml.evaluate(log.logger_policies[0], constant(log)),
            "the losses of all rows are 0; losses that never vary",
        ),
        (
            lambda log: ml.evaluate(log.logger_policies[0], log.take(np.arange(599, 900))),
            "logger logger-1 has a single row, from which no error can be told; drop it",
        ),
        (
            lambda log: ml.Weighted(standardise=1).fit(log),
            "standardise must be True or False, got 1; it is: ",
        ),
        (lambda log: ml.Weighted(hidden="wide").fit(log), "hidden must be a tuple, each part a whole number"),
    ],
)
def test_learners_and_loggers(call: Call, message: str, replayed: ml.BanditLog) -> None:
    assert message in refused(lambda: call(replayed))


@pytest.mark.parametrize(
    ("p", "message"),
    [
        (np.full((300, 2), 0.5), "(rows, labels) = (300, 6), got shape (300, 2); wrap it"),
        (np.full(300, 0.5), "(rows, labels) = (300, 6), got shape (300,); wrap it"),
        (np.full((300, 6), 1.5), "probabilities in [0, 1], got 1.5 in row 0, column 0; mend it"),
        (np.full((300, 6), np.nan), "probabilities in [0, 1], got nan in row 0, column 0; mend it"),
    ],
)
def test_foreign_policies(p: Any, message: str, replayed: ml.BanditLog) -> None:
    class Foreign:
        def predict_proba(self, _: object) -> Any:
            return p

    assert message in refused(lambda: ml.evaluate(Foreign(), replayed))


def test_numpy_settings_are_taken_and_places_are_not(replayed: ml.BanditLog) -> None:
    settings = {
        "standardise": np.True_,
        "epochs": np.int64(1),
        "hidden": np.array([4]),
        "clip": np.float32(5),
    }
    assert ml.Weighted(**settings).fit(replayed).policy_.labels == 6
    with pytest.raises(
        TypeError, match=r"Weighted\.__init__\(\) takes 1 positional argument but 2 were given"
    ):
        ml.Weighted(3)


def test_a_report_on_rewards_says_so(fitted: ml.Learner, replayed: ml.BanditLog) -> None:
    report = ml.evaluate(fitted, replace(replayed, reward_range=(-1.0, 5.0)), bootstrap=100)
    best = report.recommended
    line = "Rewards lie in [-1, 5]; a risk r is an expected reward of 5 - r"
    if best is not None:
        ends = f"{5 - best.bootstrap.high:.4g} to {5 - best.bootstrap.low:.4g}"
        line += f", by {best.name} {5 - best.value:.4g} ({ends})"
    assert f"{line}." in repr(report)
    assert f"{line}." in report._repr_html_()
    assert "Rewards" not in repr(replace(report, reward_range=None))
