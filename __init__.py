"""Learn better decision policies from the logs of several old ones.

>>> import multilogger as ml
>>> log = ml.datasets.load_replay("digits", passes=1, seed=0)
>>> train, test = log.split(test=0.3, by="context", seed=0)
>>> policy = ml.Additive(epochs=5, seed=0).fit(train)
>>> report = ml.evaluate(policy, test, bootstrap=200)
>>> report.to_pandas().loc["dr", "value"] < 1.0
np.True_

Names are imported when they are first used: `import multilogger` alone is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multilogger.components.api import datasets as datasets
    from multilogger.components.api.bandit_log import BanditLog as BanditLog
    from multilogger.components.api.learner import Learner as Learner
    from multilogger.components.api.learners import Additive as Additive
    from multilogger.components.api.learners import AdditiveIps as AdditiveIps
    from multilogger.components.api.learners import AdditiveSoft as AdditiveSoft
    from multilogger.components.api.learners import Auto as Auto
    from multilogger.components.api.learners import Balanced as Balanced
    from multilogger.components.api.learners import BalancedExact as BalancedExact
    from multilogger.components.api.learners import BalancedReg as BalancedReg
    from multilogger.components.api.learners import Dm as Dm
    from multilogger.components.api.learners import Dr as Dr
    from multilogger.components.api.learners import FullInformation as FullInformation
    from multilogger.components.api.learners import Ix as Ix
    from multilogger.components.api.learners import Ls as Ls
    from multilogger.components.api.learners import Naive as Naive
    from multilogger.components.api.learners import NaiveExact as NaiveExact
    from multilogger.components.api.learners import NaiveReg as NaiveReg
    from multilogger.components.api.learners import Wcrm as Wcrm
    from multilogger.components.api.learners import Weighted as Weighted
    from multilogger.components.api.learners import WeightedExact as WeightedExact
    from multilogger.components.api.learners import WeightedReg as WeightedReg
    from multilogger.components.api.learners import learner as learner
    from multilogger.components.api.policy import Policy as Policy
    from multilogger.components.api.report import EvaluationReport as EvaluationReport
    from multilogger.components.api.report import evaluate as evaluate
    from multilogger.components.errors import BadInput as BadInput
    from multilogger.tasks.mlflow_model import load_policy as load_policy
    from multilogger.tasks.mlflow_model import save_mlflow_model as save_mlflow_model

_API = "multilogger.components.api"
_PLACES = {
    f"{_API}.bandit_log": ("BanditLog",),
    f"{_API}.learner": ("Learner",),
    f"{_API}.learners": (
        "Additive",
        "AdditiveSoft",
        "Auto",
        "Balanced",
        "BalancedExact",
        "Ls",
        "Ix",
        "AdditiveIps",
        "BalancedReg",
        "Dm",
        "Dr",
        "FullInformation",
        "Naive",
        "NaiveExact",
        "NaiveReg",
        "Wcrm",
        "Weighted",
        "WeightedExact",
        "WeightedReg",
        "learner",
    ),
    f"{_API}.policy": ("Policy",),
    f"{_API}.report": ("EvaluationReport", "evaluate"),
    "multilogger.components.errors": ("BadInput",),
    "multilogger.tasks.mlflow_model": ("load_policy", "save_mlflow_model"),
}
_PLACE = {name: module for module, names in _PLACES.items() for name in names}

__all__ = sorted([*_PLACE, "datasets"])


if not TYPE_CHECKING:  # or type checkers would believe in any name

    def __getattr__(name: str) -> Any:
        """Import a public name on its first use."""
        if name == "datasets":
            return import_module(f"{_API}.datasets")
        if name not in _PLACE:
            raise AttributeError(f"module 'multilogger' has no attribute {name!r}")
        return getattr(import_module(_PLACE[name]), name)


def __dir__() -> list[str]:
    return __all__
