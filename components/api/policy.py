"""A policy that frames and arrays can be given to, and its folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.labels import LEAST_CHANCE
from multilogger.components.actions.space import ActionSpace
from multilogger.components.api.contexts import check_encoding
from multilogger.components.api.read_log import check_given
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput, first_line
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.json_text import parsed_json
from multilogger.components.log.actions import ActionIds, ids_of, places_of, size_word, usual_ids
from multilogger.components.log.keys import Keys

if TYPE_CHECKING:
    import pandas as pd

    from multilogger.components.api.bandit_log import BanditLog

COLUMNS_FILE = "columns.json"
POLICY_FILES = ("policy.json", "policy.safetensors")
SUM_TOLERANCE = 1e-4  # of rows of probabilities, which may be 32-bit numbers


class HasLogits(Protocol):
    """A policy by its logits (n, q) of contexts (n, d)."""

    def logits(self, x: Features) -> Matrix: ...


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """h(y|x): how likely each of the `actions` is, or each of the labels of these names to be 1.

    `space` says whether it takes one of K actions, known by their ids, or decides label vectors.
    Contexts are a frame with the columns that the log had, or an array (n, d) of the features themselves.
    `method` says how it came about, `learned` are keys of the rows that it was just learned from.
    """

    model: HasLogits
    columns: FeatureColumns
    actions: ActionIds
    space: ActionSpace
    method: str = "policy"
    learned: Keys | None = None

    @property
    def labels(self) -> int:
        return len(self.actions)

    @property
    def features(self) -> int:
        return self.columns.width

    def predict_proba(self, x: Any) -> Matrix:
        """The probability of each action (n, K), or of each label (n, q), in the order of `actions`."""
        return self.space.probabilities(self.logits(self.columns(x)))

    def predict(self, x: Any) -> NDArray[Any]:
        """The most likely action: ids (n,), or label vectors (n, q)."""
        return ids_of(self.space.greedy(self.logits(self.columns(x))), self.actions, self.space)

    def sample(self, x: Any, rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """Actions drawn from the policy: ids (n,), or label vectors (n, q). `rng` may be a seed."""
        drawn = self.space.draw(self.logits(self.columns(x)), np.random.default_rng(rng))
        return ids_of(drawn, self.actions, self.space)

    def decide(self, x: Any, rng: np.random.Generator | int | None = None) -> "pd.DataFrame":
        """Actions drawn from the policy, with what the next log needs: one row per context.

        Columns: `action` (an id, or a list of 0 and 1), `propensity`, `log_propensity`, and `sample_id`, by
        which the reward can be found later. `rng` may be a seed, which draws the same again, ids included.
        """
        from multilogger.components.api.decide import decisions

        return decisions(self, x, rng)

    def log_proba(self, x: Any, action: Any) -> Vector:
        """The natural logarithm of the probability of actions, as `sample` gives them: (n,).

        This is what a log needs.
        """
        numbers = check_given(action, self.space, self.actions, "action")
        return self.space.log_probability(self.logits(self.columns(x)), numbers)

    def logits(self, x: Features) -> Matrix:
        """Logits of the features themselves: (n, K) or (n, q)."""
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
        size = f"features={self.features}, {size_word(self.space)}={self.labels}"
        return f"Policy(method={self.method!r}, {size})"


def load_policy(folder: str | Path) -> Policy:
    """Read what `Policy.save` wrote, or a policy that the command line learned."""
    from multilogger.components.policies import policy as files

    place = Path(folder)
    missing = [name for name in POLICY_FILES if not (place / name).is_file()]
    if missing:
        raise BadInput(f"{place} has no {' and no '.join(missing)}; give the folder of a learned policy")
    model = files.load_policy(place)
    if not (place / COLUMNS_FILE).is_file():
        columns, actions = FeatureColumns.numbered(model.features), usual_ids(model.space)
        return Policy(model, columns, actions, model.space, model.method)
    try:
        facts = parsed_json((place / COLUMNS_FILE).read_text(encoding="utf-8"))
        columns, actions = FeatureColumns.from_json(facts["features"]), tuple(facts["actions"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise BadInput(
            f"{place / COLUMNS_FILE} is damaged ({type(error).__name__}: {first_line(error)}); save it again"
        ) from error
    if len(actions) != model.space.size:
        raise BadInput(
            f"{place / COLUMNS_FILE} names {len(actions)} {size_word(model.space)}, policy.json has "
            f"{model.space.size}; save the policy again"
        )
    return Policy(model, columns, actions, model.space, model.method)


@dataclass(frozen=True)
class _Foreign:
    """What has a `predict_proba` of its own, asked for features as an array."""

    model: Any
    space: ActionSpace
    actions: ActionIds

    def logits(self, x: Features) -> Matrix:
        p = np.asarray(self.model.predict_proba(x), dtype=np.float64)
        one_each = not self.space.action_shape
        classes = getattr(self.model, "classes_", None) if one_each else None
        width = self.space.size if classes is None else len(classes)
        if p.shape != (wanted := (x.shape[0], width)):
            column = (
                "a is the probability of action a" if one_each else "l is the probability that label l is 1"
            )
            raise BadInput(
                f"predict_proba must give an array (rows, {size_word(self.space)}) = {wanted}, got shape "
                f"{p.shape}; wrap it so that column {column}"
            )
        if (bad := np.argwhere(~((p >= 0) & (p <= 1)))).size:
            row, label = bad[0].tolist()
            raise BadInput(
                f"predict_proba must give probabilities in [0, 1], got {p[row, label]:g} in row {row}, "
                f"column {label}; mend it"
            )
        if one_each and (off := np.flatnonzero(np.abs(p.sum(axis=1) - 1.0) > SUM_TOLERANCE)).size:
            raise BadInput(
                f"predict_proba must give rows that add up to 1, got {p[off[0]].sum():g} in row {off[0]}; "
                "mend it"
            )
        return self.space.logits_of(p if classes is None else self._placed(p, classes), LEAST_CHANCE)

    def _placed(self, p: Matrix, classes: Any) -> Matrix:
        """Columns by the names of scikit-learn's classes; an action that is no class is never taken."""
        places = places_of(names := np.asarray(classes).tolist(), self.actions)
        if (unknown := np.flatnonzero(places < 0)).size:
            raise BadInput(
                f"the classes_ of the policy must be actions of the log, got {names[unknown[0]]!r}; list it "
                "with actions= when the log is read"
            )
        wide = np.zeros((len(p), self.space.size))
        wide[:, places] = p
        return wide


def as_policy(given: Any, log: "BanditLog") -> Policy:
    """A policy as it is, that of a fitted learner, or what has a `predict_proba`, if it fits a log."""
    policy = getattr(given, "policy_", given)
    if not isinstance(policy, Policy):
        if not hasattr(policy, "predict_proba"):
            what = "a policy is needed, or an object with predict_proba, got"
            raise BadInput(f"{what} {type(given).__name__}{'; fit it first' * hasattr(given, 'fit')}")
        foreign = _Foreign(policy, log.space, log.actions)
        policy = Policy(foreign, log.columns, log.actions, log.space, type(given).__name__)
    check_encoding(policy.columns, log.columns)
    width, sized = int(log.x.shape[1]), policy.space == log.space or not log.space.action_shape
    if policy.features != width or policy.space.name != log.space.name or not sized:
        kind = "" if policy.space.name == log.space.name else f" {size_word(policy.space)}"
        raise BadInput(
            f"the log's contexts have {width} features and {len(log.actions)} {size_word(log.space)}, the "
            f"policy {policy.features} and {policy.labels}{kind}; was the policy learned on this problem?"
        )
    return policy if log.space.action_shape else _ordered(policy, log.actions)


@dataclass(frozen=True)
class _Reordered:
    """A policy whose actions stand in another order: `order` (K,) is where each of them was."""

    model: HasLogits
    order: NDArray[np.int64]

    def logits(self, x: Features) -> Matrix:
        return self.model.logits(x)[:, self.order]


def _ordered(policy: Policy, actions: ActionIds) -> Policy:
    """A policy of one-of actions with its actions in the given order."""
    order, back = places_of(actions, policy.actions), places_of(policy.actions, actions)
    if (order < 0).any() or (back < 0).any():
        who, one = (
            ("policy", actions[int(np.argmin(order))])
            if (order < 0).any()
            else ("log", policy.actions[int(np.argmin(back))])
        )
        raise BadInput(
            f"policy and log must have the same actions, but the {who} does not know {one!r}; read all logs "
            "with the same actions="
        )
    same = bool((order == np.arange(len(order))).all())
    return policy if same else replace(policy, model=_Reordered(policy.model, order), actions=actions)


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
