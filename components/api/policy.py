"""A policy that frames and arrays can be given to, and its folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.labels import LEAST_CHANCE, logits_of
from multilogger.components.actions.space import SPACES, ActionSpace
from multilogger.components.api.features import FeatureColumns
from multilogger.components.api.read_log import check_actions
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput

if TYPE_CHECKING:
    from multilogger.components.api.bandit_log import BanditLog

COLUMNS_FILE = "columns.json"
POLICY_FILES = ("policy.json", "policy.safetensors")


class HasLogits(Protocol):
    """A policy by its logits (n, q) of contexts (n, d)."""

    def logits(self, x: Features) -> Matrix: ...


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """h(y|x): for each of the labels `actions`, how likely it is to be 1.

    Contexts are a frame with the columns that the log had, or an array (n, d) of the features themselves.
    `method` says how it came about.
    """

    model: HasLogits
    columns: FeatureColumns
    actions: tuple[str, ...]
    method: str = "policy"

    @property
    def labels(self) -> int:
        return len(self.actions)

    @property
    def features(self) -> int:
        return self.columns.width

    @property
    def space(self) -> ActionSpace:
        """What its actions are."""
        return SPACES["labels"](self.labels)

    def predict_proba(self, x: Any) -> Matrix:
        """The probability of each label: (n, q), in the order of `actions`."""
        return self.space.probabilities(self.logits(self.columns(x)))

    def predict(self, x: Any) -> Actions:
        """The most likely action: (n, q) of 0 and 1."""
        return self.space.greedy(self.logits(self.columns(x)))

    def sample(self, x: Any, rng: np.random.Generator | int | None = None) -> Actions:
        """An action drawn from the policy: (n, q) of 0 and 1. `rng` is a generator or a seed."""
        return self.space.draw(self.logits(self.columns(x)), np.random.default_rng(rng))

    def log_proba(self, x: Any, action: Any) -> Vector:
        """The natural logarithm of the probability of whole actions (n, q), what a log needs: (n,)."""
        return self.space.log_probability(self.logits(self.columns(x)), check_actions(action))

    def logits(self, x: Features) -> Matrix:
        """Logits of the features themselves: (n, q)."""
        return self.model.logits(x)

    def save(self, folder: str | Path) -> None:
        """Write the policy into a folder, made if need be; `load_policy` and the command line read it."""
        from multilogger.components.policies.policy import LearnedPolicy

        if not isinstance(self.model, LearnedPolicy):
            raise BadInput(f"a policy of {type(self.model).__name__} cannot be saved; only learned ones can")
        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise BadInput(f"a policy is saved into a folder, but {place} is a file; name another") from error
        self.model.save(place)
        facts = {"actions": self.actions, "features": self.columns.to_json()}
        (place / COLUMNS_FILE).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")

    def __repr__(self) -> str:
        return f"Policy(method={self.method!r}, features={self.features}, labels={self.labels})"


def load_policy(folder: str | Path) -> Policy:
    """Read what `Policy.save` wrote, or a policy that the command line learned."""
    from multilogger.components.policies import policy as files

    place = Path(folder)
    missing = [name for name in POLICY_FILES if not (place / name).is_file()]
    if missing:
        raise BadInput(f"{place} has no {' and no '.join(missing)}; give the folder of a learned policy")
    model = files.load_policy(place)
    if not (place / COLUMNS_FILE).is_file():
        names = tuple(f"action_{i}" for i in range(model.space.size))
        return Policy(model, FeatureColumns.numbered(model.features), names, model.method)
    try:
        facts = json.loads((place / COLUMNS_FILE).read_text(encoding="utf-8"))
        columns, actions = FeatureColumns.from_json(facts["features"]), tuple(facts["actions"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(
            f"{place / COLUMNS_FILE} is damaged ({type(error).__name__}: {error}); save the policy again"
        ) from error
    return Policy(model, columns, actions, model.method)


@dataclass(frozen=True)
class _Foreign:
    """What has a `predict_proba` of its own, asked for features as an array."""

    model: Any
    labels: int

    def logits(self, x: Features) -> Matrix:
        p, wanted = np.asarray(self.model.predict_proba(x), dtype=np.float64), (x.shape[0], self.labels)
        if p.shape != wanted:
            raise BadInput(
                f"predict_proba must give an array (rows, labels) = {wanted}, got shape {p.shape}; wrap it "
                "so that column l is the probability that label l is 1"
            )
        if (bad := np.argwhere(~((p >= 0) & (p <= 1)))).size:
            row, label = bad[0].tolist()
            raise BadInput(
                f"predict_proba must give probabilities in [0, 1], got {p[row, label]:g} in row {row}, "
                f"column {label}; mend it"
            )
        return logits_of(p, LEAST_CHANCE)


def as_policy(given: Any, log: "BanditLog") -> Policy:
    """A policy as it is, that of a fitted learner, or what has a `predict_proba`, if it fits a log."""
    policy = getattr(given, "policy_", given)
    if not isinstance(policy, Policy):
        if not hasattr(policy, "predict_proba"):
            raise BadInput(
                f"a policy is needed, or an object with predict_proba, got {type(given).__name__}"
                + ("; fit it first" if hasattr(given, "fit") else "")
            )
        policy = Policy(_Foreign(policy, len(log.actions)), log.columns, log.actions, type(given).__name__)
    width = int(log.x.shape[1])
    if policy.features != width or policy.labels != len(log.actions):
        raise BadInput(
            f"the log's contexts have {width} features and {len(log.actions)} labels, the policy "
            f"{policy.features} and {policy.labels}; was the policy learned on this problem?"
        )
    return policy


def policies_of_loggers(log: "BanditLog", policies: Sequence[Any] | Mapping[Any, Any]) -> tuple[Policy, ...]:
    """One policy per logger, in the order of the log's names."""
    named = policies if isinstance(policies, Mapping) else dict(zip(log.loggers, policies, strict=False))
    by_name = {str(name): policy for name, policy in named.items()}
    if len(policies) != len(log.loggers) or set(by_name) != set(log.loggers):
        raise BadInput(
            f"one policy per logger is needed, of {', '.join(log.loggers)}, got {len(policies)}"
            + (f" of {', '.join(by_name)}" if isinstance(policies, Mapping) else "")
        )
    return tuple(as_policy(by_name[name], log) for name in log.loggers)
