"""Learners in scikit-learn's habit, and what they refuse."""

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import multilogger as ml
from multilogger.components.api.learners import LEARNERS
from multilogger.components.api.log_files import training_log
from multilogger.components.api.method_settings import build_settings, settings_of
from multilogger.components.learners.learn import learn
from multilogger.components.learners.methods import METHODS

QUICK = {"epochs": 2, "hidden": (8,), "folds": 2, "model_epochs": 2, "warm_up_steps": 2, "warm_up_epochs": 1}
QUICK_WCRM = {"wcrm_clips": (10.0,), "wcrm_variances": (1.0,), "wcrm_l2s": (0.1,), "wcrm_rounds": 1}


def quick(method: str) -> ml.Learner:
    known = settings_of(method)
    settings: dict[str, Any] = {name: v for name, v in (QUICK | QUICK_WCRM).items() if name in known}
    return ml.learner(method, **settings)


def test_there_is_a_class_for_every_method() -> None:
    assert set(LEARNERS) == set(METHODS)
    for method, kind in LEARNERS.items():
        assert kind.__name__ == "".join(part.title() for part in method.split("-"))
        assert getattr(ml, kind.__name__) is kind


@pytest.mark.parametrize("method", METHODS)
def test_parameters_are_the_settings_of_the_method(method: str) -> None:
    kind = LEARNERS[method]
    learner = kind()
    values = learner.get_params()
    assert values == {"seed": 0, "validation_fraction": 0.25, "split_by": "context"} | settings_of(method)
    assert repr(learner) == f"{kind.__name__}()"
    parameters = inspect.signature(kind).parameters
    assert set(parameters) == set(values)
    assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in parameters.values())
    assert all(f"    {name}: " in (kind.__doc__ or "") for name in parameters)


def test_get_set_clone_and_repr() -> None:
    learner = ml.Weighted(clip=10.0, hidden=(4, 4))
    assert repr(learner) == "Weighted(clip=10.0, hidden=(4, 4))"
    twin = clone(learner)
    assert twin is not learner
    assert twin.get_params() == learner.get_params()
    assert twin.set_params(seed=3).seed == 3
    with pytest.raises(ValueError, match="Invalid parameter 'kappa'"):
        learner.set_params(kappa=1.0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("clipp", "Weighted has no setting 'clipp'; did you mean 'clip'?"),
        ("kappa", "Weighted has no setting 'kappa'"),
    ],
)
def test_unknown_settings(name: str, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        ml.Weighted(**{name: 1.0})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"clip": -1.0}, "clip must be above 0, got -1.0"),
        ({"clip": "much"}, "clip must be a number, got 'much'"),
        ({"epochs": 2.5}, "epochs must be a whole number, got 2.5; it is: "),
        ({"epochs": True}, "epochs must be a whole number, got True; it is: "),
        ({"weights": "cut"}, "weights must be one of raw, clip, self-normalised, got 'cut'"),
        ({"split_by": "user"}, "a split is by context, row or time, got 'user'"),
        ({"validation_fraction": 0.0}, "validation_fraction must be a number between 0 and 1, got 0.0"),
    ],
)
def test_bad_values_are_found_by_fit(
    replayed: ml.BanditLog, settings: dict[str, object], message: str
) -> None:
    learner = ml.Weighted(**settings)
    with pytest.raises(ml.BadInput) as caught:
        learner.fit(replayed)
    assert message in str(caught.value)


def test_unknown_methods_and_what_is_no_log(frame: pd.DataFrame) -> None:
    with pytest.raises(ml.BadInput, match="unknown method 'best'; choose one of wcrm, naive"):
        ml.learner("best")
    with pytest.raises(ml.BadInput, match="fit takes a BanditLog, got DataFrame; make one with BanditLog"):
        ml.Naive().fit(frame)  # type: ignore[arg-type]


def test_not_fitted(replayed: ml.BanditLog, tmp_path: Path) -> None:
    learner = ml.Dr()
    for call in (learner.predict, learner.predict_proba, learner.sample):
        with pytest.raises(NotFittedError, match="this Dr is not fitted yet; call fit"):
            call(replayed.x)
    with pytest.raises(NotFittedError):
        learner.save(tmp_path)
    with pytest.raises(NotFittedError):
        ml.evaluate(learner, replayed)


OF_LABELS = [name for name, method in METHODS.items() if "labels" in method.spaces]
ONE_OF = [name for name, method in METHODS.items() if "one-of" in method.spaces]


@pytest.mark.filterwarnings("ignore:(improvement. none shown|the loss does not add up)")
@pytest.mark.filterwarnings("ignore:the constraint of")  # two epochs may be too few for it
@pytest.mark.parametrize("method", OF_LABELS)
def test_every_method_learns_what_the_stage_learns(method: str, replayed: ml.BanditLog) -> None:
    learner = quick(method)
    assert learner.fit(replayed) is learner
    values = learner.get_params()
    seed, share, by = (values.pop(name) for name in ("seed", "validation_fraction", "split_by"))
    rows = training_log(replayed, share, by, seed)
    learned = learn(method, rows, build_settings(method, values), seed)
    np.testing.assert_allclose(
        learner.policy_.logits(replayed.x), learned.policy.logits(replayed.x), rtol=1e-4, atol=1e-5
    )
    p = learner.predict_proba(np.asarray(replayed.x))
    assert p.shape == (300, 6)
    np.testing.assert_array_equal(learner.predict(np.asarray(replayed.x)), (p > 0.5).astype(np.uint8))


BARE = ("naive", "weighted", "naive-reg", "weighted-reg", "wcrm", "additive", "dr")


@pytest.mark.filterwarnings("ignore:the constraint of")  # two epochs may be too few for it
@pytest.mark.parametrize("method", BARE)
def test_own_propensities_are_enough_for_most(method: str, replayed: ml.BanditLog) -> None:
    bare = replace(replayed, log_propensities=None, logger_policies=(), truth=None)
    assert quick(method).fit(bare).predict(replayed.x).shape == (300, 6)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (
            "balanced",
            "balanced needs the propensities of each action under every logger, which the log lacks",
        ),
        ("balanced-reg", "balanced-reg needs the loggers' own policies, which the log lacks; add them with"),
        (
            "naive-exact",
            "naive-exact needs the loggers' own policies, which the log lacks; add them with log.",
        ),
        ("weighted-exact", "log.with_logger_policies(...)"),
        ("balanced-exact", "balanced-exact needs the loggers' own policies"),
        (
            "full-information",
            "needs the true labels of its contexts, which the log lacks; add them with log.",
        ),
    ],
)
def test_what_a_method_needs(method: str, message: str, replayed: ml.BanditLog) -> None:
    bare = replace(replayed, log_propensities=None, logger_policies=(), truth=None)
    with pytest.raises(ml.BadInput) as caught:
        quick(method).fit(bare)
    assert message in str(caught.value)


def test_companions(replayed: ml.BanditLog) -> None:
    bare = replace(replayed, logger_policies=(), truth=None)
    first, second = replayed.logger_policies
    for policies in ([first, second], {"logger-2": second, "logger-1": first}):
        assert bare.with_logger_policies(policies).logger_policies == (first, second)
    with pytest.raises(ml.BadInput, match="one policy per logger is needed, of logger-1, logger-2, got 1"):
        bare.with_logger_policies([first])
    assert replayed.truth is not None
    np.testing.assert_array_equal(bare.with_truth(replayed.truth).truth, replayed.truth)
    with pytest.raises(ml.BadInput, match=r"truth must be \(contexts, labels\) = \(300, 6\), got \(2, 6\)"):
        bare.with_truth(np.zeros((2, 6)))


def test_losses_of_any_height_learn_the_same(replayed: ml.BanditLog) -> None:
    tall = replace(replayed, loss=100.0 * replayed.loss, max_loss=600.0)
    one, other = quick("weighted").fit(replayed), quick("weighted").fit(tall)
    np.testing.assert_allclose(
        one.predict_proba(replayed.x), other.predict_proba(replayed.x), rtol=1e-3, atol=1e-4
    )


def test_marked_validation_rows_are_used(replayed: ml.BanditLog) -> None:
    marked = replace(replayed, validation=np.arange(len(replayed)) % 3 == 0)
    np.testing.assert_array_equal(training_log(marked, 0.1, "row", 0).validation, marked.validation)


def test_a_constraint_that_never_binds_is_said(replayed: ml.BanditLog) -> None:
    learner = quick("weighted-reg").set_params(kappa=1e6)
    with pytest.warns(UserWarning, match="the constraint of weighted-reg never moved the policy, so this is"):
        learner.fit(replayed)


def test_a_policy_that_the_log_cannot_judge_is_said(replayed: ml.BanditLog) -> None:
    with pytest.warns(UserWarning, match="no epoch of weighted passed the guard of model selection"):
        quick("weighted").set_params(least_effective_rows=1e6).fit(replayed)


def test_numbers_of_a_preset() -> None:
    learner = ml.learner("weighted-reg", preset="paper", dataset="yeast", clip=5.0)
    assert (learner.hidden, learner.weights, learner.tau, learner.clip) == ((7, 7), "raw", 3.0, 5.0)
    with pytest.raises(ml.BadInput, match="unknown preset 'best'; choose one of paper, printed-objective"):
        ml.learner("weighted", preset="best")


# Two epochs may be too few for a constraint.
@pytest.mark.filterwarnings("ignore:the constraint of", "ignore:no epoch of", "ignore:the loss model is off")
@pytest.mark.parametrize("method", ONE_OF)
def test_every_method_of_choices_learns_what_the_stage_learns(method: str, one_of: ml.BanditLog) -> None:
    learner = quick(method)
    assert learner.fit(one_of) is learner
    values = learner.get_params()
    seed, share, by = (values.pop(name) for name in ("seed", "validation_fraction", "split_by"))
    rows = training_log(one_of, share, by, seed)
    learned = learn(method, rows, build_settings(method, values, "one-of"), seed)
    np.testing.assert_allclose(
        learner.policy_.logits(one_of.x), learned.policy.logits(one_of.x), rtol=1e-4, atol=1e-5
    )
    p = learner.predict_proba(np.asarray(one_of.x))
    assert p.shape == (300, 4)
    np.testing.assert_array_equal(learner.predict(np.asarray(one_of.x)), p.argmax(axis=1))


def test_a_loss_model_that_is_off_is_told_of(one_of: ml.BanditLog) -> None:
    """By the test of the stage `learn`; warnings are errors here, so the longer fit has none."""
    with pytest.warns(UserWarning, match=r"the loss model is off by up to .*: 'dm' may be biased here, use"):
        quick("dm").fit(one_of)
    quick("dm").set_params(epochs=60, hidden=(64,)).fit(one_of)


def test_a_method_for_other_actions_is_refused(one_of: ml.BanditLog, replayed: ml.BanditLog) -> None:
    for learner, log, message in (
        (ml.Additive(), one_of, "additive is for actions of the kind labels, the log has one-of; take dr"),
        (
            ml.AdditiveSoft(),
            one_of,
            "additive-soft is for actions of the kind labels, the log has one-of; take",
        ),
        (ml.Dm(), replayed, "dm is for actions of the kind one-of, the log has labels; take dr"),
    ):
        with pytest.raises(ml.BadInput) as caught:
            learner.fit(log)
        assert message in str(caught.value)


def test_the_model_of_choices_in_scikit_learns_habit(one_of: ml.BanditLog) -> None:
    learner = ml.Dm(epochs=20, folds=3, hidden=(16,), seed=2)
    assert repr(learner) == "Dm(epochs=20, folds=3, hidden=(16,), seed=2)"
    twin = clone(learner)
    assert twin.get_params() == learner.get_params()
    with pytest.warns(UserWarning, match="the loss model is off"):  # of so few nodes and epochs
        one, other = learner.fit(one_of), twin.fit(one_of)
    np.testing.assert_array_equal(one.predict_proba(one_of.x), other.predict_proba(one_of.x))
    assert not hasattr(clone(one), "policy_")
    assert one_of.truth is not None
    logged = [one_of.loss[one_of.logger == j].mean() for j in range(2)]
    assert (one.predict(one_of.x) != one_of.truth).mean() < min(logged)
