"""What all learners of scripts share, in scikit-learn's habit: settings in, a log to `fit`, a policy out."""

import copy
import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from multilogger.components.actions.arrays import Matrix
from multilogger.components.api.bandit_log import BanditLog
from multilogger.components.api.companions import (
    REMEDY,
    estimated_note,
    known_table,
    require_propensities,
)
from multilogger.components.api.method_settings import Origin, build_settings, meanings_of, settings_of
from multilogger.components.api.policy import Policy
from multilogger.components.api.split_log import check_seed
from multilogger.components.errors import BadInput, meant
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.training.method import Needs
from multilogger.components.learners.training.settings import DivergenceKind, Settings
from multilogger.components.log.actions import ActionIds
from multilogger.components.log.checks import check_loggers
from multilogger.components.log.same_rows import keys_of_rows

if TYPE_CHECKING:
    from multilogger.components.learners.learn import Learned
    from multilogger.components.learners.training.record import EpochRecord
    from multilogger.components.log.memory import TrainingLog

OF_ALL: dict[str, Any] = {"seed": 0, "validation_fraction": 0.25, "split_by": "context"}
OF_ALL_MEANINGS = {
    "seed": "initialisation, mini-batches and the choice of validation rows",
    "validation_fraction": "share of the log that chooses the epoch, unless the log marks its rows itself",
    "split_by": "what goes to one side of that split as a whole: context, row or time",
}
REMEDIES = {
    Needs.ALL_PROPENSITIES: f"read the log with propensities= or log_propensities=, or: {REMEDY}",
    Needs.LOGGER_POLICIES: "add them with log.with_logger_policies(...)",
    Needs.TRUTH: "add them with log.with_truth(...)",
}


class Learner(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learns a policy from a bandit log; make one by its class, such as `Dr`, or by `learner("dr")`.

    The constructor keeps its arguments and checks no values; `fit` does. `fit` returns the learner itself,
    which then acts as the policy that it learned: `predict_proba`, `predict`, `sample` and `save` are those
    of `policy_`.
    """

    method: ClassVar[str]
    _given: frozenset[str] = frozenset()
    _origin: Origin = Origin()

    def __init_subclass__(cls, method: str, **rest: Any) -> None:
        """Give a class the settings of its method: a signature, and a list of them in its docstring."""
        super().__init_subclass__(**rest)
        cls.method = method
        cls.__init__ = _initialiser(cls.__name__, OF_ALL | settings_of(method))  # type: ignore[method-assign]
        cls.__doc__ = f"{cls.__doc__}\n\n{_settings_text(method)}"

    def fit(self, log: BanditLog, on_epoch: "Callable[[EpochRecord], None] | None" = None) -> Self:
        """Learn from a log; its validation rows choose the epoch. `on_epoch` is told of every epoch.

        Warns if the constraint never moved the policy, if the log cannot judge any epoch, if actions are
        right more or less often than the loss model of `Dm` or `Dr` says, if `Auto` shows no gain, or if
        propensities were estimated.
        Sets `policy_`, `records_` (one per epoch), `best_` (that of the chosen one), `n_features_in_` and, of
        a method that chooses among candidates, `verdict_`.
        """
        from multilogger.components.api.log_files import training_log
        from multilogger.components.learners.learn import learn
        from multilogger.components.names import name_loggers

        if not hasattr(self, "method"):
            raise BadInput('Learner itself has no method; use a class such as Dr, or learner("dr")')
        params = self.get_params(deep=False)
        self._check_log(log, exact=params.get("divergence") == DivergenceKind.EXACT)
        settings, seed = self.settings_for(log.space.name), check_seed(params["seed"])
        training = training_log(log, params["validation_fraction"], params["split_by"], seed)
        try:
            with one_thread():
                learned = learn(self.method, training, settings, seed, on_epoch)
        except BadInput:
            for side in (~training.validation, training.validation):  # to say the same by the loggers' names
                check_loggers(log.loggers, log.logger[side], log.loss[side])
            raise
        self.policy_ = Policy(
            learned.policy, log.columns, log.actions, log.space, self.method, keys_of_rows(log)
        )
        self.records_, self.best_, self.verdict_ = learned.records, learned.best, learned.verdict
        for doubt in self._doubts(learned, training, log):
            warnings.warn(name_loggers(doubt, log.loggers), stacklevel=2)
        self.n_features_in_ = int(log.x.shape[1])
        return self

    def predict_proba(self, x: Any) -> Matrix:
        """The probability of each action (n, K), or of each label (n, q), in the order of `actions`."""
        return self._fitted().predict_proba(x)

    def predict(self, x: Any) -> NDArray[Any]:
        """The most likely action: ids (n,), or label vectors (n, q)."""
        return self._fitted().predict(x)

    def sample(self, x: Any, rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """Actions drawn from the policy: ids (n,), or label vectors (n, q)."""
        return self._fitted().sample(x, rng)

    def save(self, folder: str | Path) -> None:
        """Write the policy into a folder; `load_policy` reads it."""
        self._fitted().save(folder)

    @property
    def actions(self) -> ActionIds:
        """The ids of the actions that the policy chooses from, or the names of the labels that it decides."""
        return self._fitted().actions

    def settings_for(self, space: str) -> Settings:
        """The numbers that `fit` learns with from a log of these actions, "labels" or "one-of".

        What was not given has the defaults of the actions, which may differ from those shown.
        """
        values = {n: value for n, value in self.get_params(deep=False).items() if n not in OF_ALL}
        return build_settings(self.method, values, space, self._given, self._origin)

    def set_params(self, **params: Any) -> Self:
        """Change settings; what is named here counts as given, also where it equals the default."""
        super().set_params(**params)
        self._given |= params.keys()
        return self

    def __sklearn_clone__(self) -> Self:
        """An unfitted copy, which knows which of its settings were given."""
        twin = type(self)(**copy.deepcopy(self.get_params(deep=False)))
        twin._given, twin._origin = self._given, self._origin
        return twin

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "policy_")

    def _fitted(self) -> Policy:
        policy = vars(self).get("policy_")
        if not isinstance(policy, Policy):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(log) first")
        return policy

    def _doubts(self, learned: "Learned", training: "TrainingLog", log: BanditLog) -> list[str]:
        """What `fit` warns of, as the stage `learn` says it: a sentence each."""
        from multilogger.components.learners.loss_models.calibration import calibration_test

        doubts: list[str | None] = [*learned.doubts]
        chances, one_of = learned.blind_chances, not log.space.action_shape
        if chances is not None and one_of and not METHODS[self.method].saw_labels:
            test = calibration_test(training, chances)
            doubts.append(test.complaint(self.method) if test.rejected else None)
        doubts.append(estimated_note(log))
        if (guard := learned.guard) is not None:
            doubts.append(guard.line(self.method, str(log.loggers[guard.logger])))
        return [doubt for doubt in doubts if doubt is not None]

    def _check_log(self, log: object, exact: bool) -> None:
        if not isinstance(log, BanditLog):
            raise BadInput(
                f"fit takes a BanditLog, got {type(log).__name__}; make one with BanditLog.from_pandas or "
                "another of its from_ methods"
            )
        METHODS[self.method].check_space(log.space.name)
        require_propensities(log, "fit")
        has = {
            Needs.ALL_PROPENSITIES: known_table(log) is not None or len(log.loggers) == 1,
            Needs.LOGGER_POLICIES: bool(log.logger_policies),
            Needs.TRUTH: log.truth is not None,
        }
        who = f"{self.method} with divergence='exact'" if exact else self.method
        for need in sorted({*METHODS[self.method].needs, *([Needs.LOGGER_POLICIES] if exact else [])}):
            if not has[need]:
                raise BadInput(f"{who} needs {need}, which the log lacks; {REMEDIES[need]}")


class one_thread:  # noqa: N801, a context manager reads as a word
    """torch on one thread: the networks are small, and the bits are those of the command line."""

    def __enter__(self) -> None:
        import torch

        self._before = torch.get_num_threads()
        torch.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        import torch

        torch.set_num_threads(self._before)


def _initialiser(name: str, defaults: dict[str, Any]) -> Callable[..., None]:
    """An `__init__` of keyword arguments that sets them as attributes and refuses others."""

    def __init__(self: Learner, **settings: Any) -> None:  # noqa: N807
        for given in settings:
            if given not in defaults:
                hint = meant(given, defaults).rstrip() or f"it has {', '.join(defaults)}"
                raise TypeError(f"{name} has no setting {given!r}; {hint}")
        for setting, value in (defaults | settings).items():
            setattr(self, setting, value)
        self._given = frozenset(settings)

    kinds = inspect.Parameter
    parameters = [kinds("self", kinds.POSITIONAL_OR_KEYWORD)]
    parameters += [kinds(one, kinds.KEYWORD_ONLY, default=value) for one, value in defaults.items()]
    __init__.__qualname__ = f"{name}.__init__"
    __init__.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return __init__


def _settings_text(method: str) -> str:
    defaults, meanings = OF_ALL | settings_of(method), OF_ALL_MEANINGS | meanings_of(method)
    lines = [f"        {name}: {meanings[name]} ({value!r})" for name, value in defaults.items()]
    return "\n".join(["    Args:", *lines])
