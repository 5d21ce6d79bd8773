"""The first pass over a log: what its columns hold, who acted, what was done, and how much is missing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.space import SPACES, ActionSpace
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import check_losses
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.features.frames import Rows
from multilogger.components.features.learn_encoding import EncodingLearner, Limits
from multilogger.components.log.actions import ActionIds, check_ids, id_key, usual_ids
from multilogger.components.log.keys import Keys
from multilogger.components.names import check_label
from multilogger.components.own_log.mapping import Mapping
from multilogger.components.own_log.read_rows import (
    check_rewards,
    label_vectors,
    labelled,
    loggers_of,
    outcomes_of,
    own_propensity,
    table_of,
)
from multilogger.components.own_log.source import OpenSource
from multilogger.components.own_log.split import Side, Splitter, context_keys

Range = tuple[float, float]


@dataclass(frozen=True)
class Outcomes:
    """What an action may bring: losses in [0, `max_loss`], from rewards in `reward_range` if from any."""

    max_loss: float
    reward_range: Range | None


@dataclass(frozen=True)
class Survey:
    """What one pass found. `loggers` are names in ascending order of the labels `logger_labels`.

    `rows` (J, 3) counts them by logger and side; `contexts` are the keys of the context of each row by
    side, in the order of the files, empty where every row is a context of its own; `logged` (J,) counts rows
    whose own propensity is known, `all_logged` says that those under every logger are; `ids` are
    features with another value in nearly every row.
    """

    columns: FeatureColumns
    space: ActionSpace
    actions: ActionIds
    loggers: tuple[str, ...]
    logger_labels: tuple[object, ...]
    outcomes: Outcomes
    rows: NDArray[np.int64]
    contexts: tuple[Keys, Keys]
    logged: NDArray[np.int64]
    all_logged: bool
    ids: dict[str, float]


@dataclass(frozen=True)
class Stated:
    """What a person says beside the columns."""

    actions: tuple[str, ...] = ()
    max_loss: float | None = None
    reward_range: Range | None = None


def stated_by(source: OpenSource, stated: Stated) -> Stated:
    """The same, completed by what files that this package wrote say of themselves."""
    ids = source.stated_ids
    most = stated.max_loss if stated.reward_range is not None else stated.max_loss or source.stated_max_loss
    actions = stated.actions or (() if ids is None else tuple(str(one) for one in ids))
    return Stated(actions, most, stated.reward_range)


def survey(
    source: OpenSource, mapping: Mapping, splitter: Splitter, stated: Stated, limits: Limits
) -> Survey:
    """Read every row once; the encoding is learned from rows that are not test."""
    seen = _Seen(mapping, stated, limits)
    for rows in source.batches([*mapping.named, *mapping.features]):
        seen.add(rows, splitter(rows))
    return seen.survey()


class _Seen:
    def __init__(self, mapping: Mapping, stated: Stated, limits: Limits) -> None:
        self._mapping, self._stated = mapping, stated
        self._learner = EncodingLearner(mapping.features, limits)
        self._actions: dict[tuple[bool, object], object] = {}
        self._labels = 0
        self._rows: dict[object, NDArray[np.int64]] = {}
        self._logged: dict[object, int] = {}
        self._low, self._high = np.inf, -np.inf
        self._gaps = 0
        self._hashes: tuple[list[Keys], list[Keys]] = ([], [])

    def add(self, rows: Rows, sides: NDArray[np.int8]) -> None:
        mapping = self._mapping
        known = sides != Side.TEST
        if known.any():
            self._learner.add(rows.only(known))
        self._add_actions(rows)
        self._add_outcomes(rows)
        who, logged = loggers_of(rows, mapping), self._logged_rows(rows)
        for place, label in enumerate(who.values):
            mine = who.place == place
            counts = np.bincount(sides[mine], minlength=len(Side))
            self._rows[label] = self._rows.get(label, np.zeros(len(Side), dtype=np.int64)) + counts
            self._logged[label] = self._logged.get(label, 0) + int(logged[mine].sum())
        if mapping.context is not None:
            hashes = context_keys(rows, mapping)
            self._hashes[0].append(hashes[known])
            self._hashes[1].append(hashes[~known])

    def _logged_rows(self, rows: Rows) -> NDArray[np.bool_]:
        """Rows whose own propensity is known, from its column or among those of all loggers: (n,)."""
        several, logged = self._mapping.propensities, ~np.isnan(own_propensity(rows, self._mapping))
        if several:
            gaps = np.isnan(table_of(rows, self._mapping))
            logged |= ~gaps.any(axis=1)
            self._gaps += int(gaps.sum())
        self._gaps += int((~logged).sum())
        return logged

    def _add_actions(self, rows: Rows) -> None:
        if not self._mapping.labels:
            for one in labelled(rows, self._mapping.action[0], "action").values:
                self._actions[id_key(one)] = one
            return
        width = label_vectors(rows, self._mapping).shape[1]
        if self._labels not in (0, width):
            raise BadInput(
                f"{rows.where}: actions have {width} labels, those of other files {self._labels}; give all "
                "the same number"
            )
        self._labels = width

    def _add_outcomes(self, rows: Rows) -> None:
        values = outcomes_of(rows, self._mapping)
        low, high = self._stated.reward_range or (-np.inf, np.inf)
        if self._mapping.is_reward:
            check_rewards(rows, values, low, high)
        else:
            check_losses(values, self._largest(), rows.where, rows.numbers_of_rows)
        self._low, self._high = min(self._low, float(values.min())), max(self._high, float(values.max()))

    def _largest(self) -> float:
        if self._stated.max_loss is not None:
            return self._stated.max_loss
        return float(self._labels) if self._mapping.labels else 1.0

    def survey(self) -> Survey:
        if not self._rows:
            raise BadInput("the log has no rows; check the filter that made it")
        labels = sorted(self._rows, key=order_labels)
        actions, space = self._space()
        rows = np.stack([self._rows[label] for label in labels])
        loggers = tuple(str(label) for label in labels)
        for name in loggers:
            check_label("logger", name)
        _check_sides(loggers, rows)
        whole, (first, second) = bool(self._mapping.propensities), self._hashes
        return Survey(
            columns=self._learner.columns,
            space=space,
            actions=actions,
            loggers=loggers,
            logger_labels=tuple(labels),
            outcomes=self._outcomes(space),
            rows=rows,
            contexts=(_joined(first), _joined(second)),
            logged=np.array([self._logged[label] for label in labels]),
            all_logged=self._gaps == 0 and (whole or len(labels) == 1),
            ids=self._learner.ids,
        )

    def _space(self) -> tuple[ActionIds, ActionSpace]:
        if self._mapping.labels:
            space = SPACES["labels"](self._labels)
            several = len(self._mapping.action) > 1
            return (self._mapping.action if several else usual_ids(space)), space
        found = sorted(self._actions.values(), key=order_labels)
        if len(found) == 1 and not self._stated.actions:
            raise BadInput(
                f"column {self._mapping.action[0]!r} (action) is {found[0]!r} in every row; a choice needs "
                "two actions or more: list those that nobody took with --all-actions"
            )
        ids = check_ids(listed_ids(self._stated.actions, found) if self._stated.actions else found)
        return ids, SPACES["one-of"](len(ids))

    def _outcomes(self, space: ActionSpace) -> Outcomes:
        if not self._mapping.is_reward:
            most = self._stated.max_loss
            return Outcomes(space.largest_loss if most is None else most, None)
        low, high = self._stated.reward_range or (self._low, self._high)
        if not low < high:
            raise BadInput(
                f"rewards must vary, column {self._mapping.loss!r} is {low:g} in every row; give the least "
                "and the largest possible reward with --reward-range"
            )
        return Outcomes(high - low, (low, high))


def listed_ids(stated: Sequence[str], found: Sequence[object]) -> list[object]:
    """All possible actions as the log has them: a person types words."""
    known = {str(one): one for one in found}
    kind = type(found[0])
    return [
        known.get(name, int(name) if kind is int and re.fullmatch(r"-?\d+", name) else name)
        for name in stated
    ]


def order_labels(label: object) -> tuple[str, object]:
    """Numbers among themselves, words among themselves."""
    return ("" if isinstance(label, int | float) else type(label).__name__, label)


def _joined(parts: Sequence[Keys]) -> Keys:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)


def _check_sides(loggers: Sequence[str], rows: NDArray[np.int64]) -> None:
    """Every logger must be seen on every side: each of them is weighed and judged."""
    for name, counts in zip(loggers, rows, strict=True):
        for side in Side:
            if counts[side] < (needed := 2 if side is Side.TEST else 1):
                raise BadInput(
                    f"logger {name} has {counts[side]} of its {counts.sum()} rows in the {side.name.lower()} "
                    f"part, which needs {needed} of every logger; log more of it, drop its rows, or split "
                    "otherwise (--split-by, --test-share, --validation-share; rows of one --context stay "
                    "together)"
                )
