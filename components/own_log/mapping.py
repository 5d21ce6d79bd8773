"""Which column of a person's log says what."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from multilogger.components.errors import BadInput, meant, short
from multilogger.components.log.columns import FEATURE, NO_FEATURE
from multilogger.components.log.files import is_list

Names = tuple[str, ...]


@dataclass(frozen=True)
class Wanted:
    """What a person says of the columns; None or empty where the usual names will do."""

    action: Names = ()
    reward: str | None = None
    loss: str | None = None
    propensity: str | None = None
    log_propensity: str | None = None
    propensities: Names = ()
    log_propensities: Names = ()
    logger: str | None = None
    features: Names = ()
    context: str | None = None
    time: str | None = None
    split: str | None = None


@dataclass(frozen=True)
class Mapping:
    """The columns of a log by what they say; None or empty for what the log lacks.

    `labels` says that actions are label vectors. `propensity` and `propensities` are logarithms where
    `is_log` and `are_log` say so.
    """

    action: Names
    labels: bool
    loss: str
    is_reward: bool
    propensity: str | None
    is_log: bool
    propensities: Names
    are_log: bool
    logger: str | None
    features: Names
    context: str | None
    time: str | None
    split: str | None

    @property
    def named(self) -> list[str]:
        """Every column that is read, but for features."""
        single = (self.loss, self.logger, self.context, self.time, self.split)
        return [*self.action, *self.said_propensities, *(name for name in single if name is not None)]

    @property
    def said_propensities(self) -> list[str]:
        """The columns of propensities, under the row's own logger and under every one."""
        return [*self.propensities, *([] if self.propensity is None else [self.propensity])]


def resolve(wanted: Wanted, schema: Any, where: str, look: bool = False) -> Mapping:
    """Find the wanted columns among those that the files have.

    To `look` at a log, features are not needed, and a column `time` says the time.
    """
    names = [str(name) for name in schema.names]
    _only_one("the outcome", reward=wanted.reward, loss=wanted.loss)
    _only_one("the propensity", propensity=wanted.propensity, log_propensity=wanted.log_propensity)
    both = {"propensities": wanted.propensities or None, "log_propensities": wanted.log_propensities or None}
    _only_one("the propensities under every logger", **both)
    find = _Finder(list(names), where)
    action = wanted.action or ("action",)
    for name in action:
        find.need(name, "action", "what was done")
    loss = find.one("loss", wanted.loss, () if wanted.reward else ("loss", "delta"))
    reward = None if loss else find.one("reward", wanted.reward, ("reward",))
    outcome = loss or reward
    if outcome is None:
        raise BadInput(
            f"{where} has no column of rewards or losses; name it with --reward or --loss, it has "
            f"{find.listed}"
        )
    own = find.one("propensity", wanted.propensity, ())
    log_own = find.one("log-propensity", wanted.log_propensity, () if own else ("log_propensity",))
    own = own or (None if log_own else find.one("propensity", None, ("propensity", "pscore")))
    every = tuple(find.need(name, "propensities", "") for name in wanted.propensities)
    log_every = tuple(find.need(name, "log-propensities", "") for name in wanted.log_propensities)
    if not every and not log_every:
        log_every = find.some("log_propensities")
        every = () if log_every else find.some("propensities")
    mapping = Mapping(
        action=action,
        labels=len(action) > 1 or is_list(schema.field(action[0]).type),
        loss=outcome,
        is_reward=loss is None,
        propensity=own or log_own,
        is_log=log_own is not None and own is None,
        propensities=every or log_every,
        are_log=bool(log_every),
        logger=find.one("logger", wanted.logger, ("logger",)),
        features=(),
        context=find.one("context", wanted.context, ("context",)),
        time=find.one("time", wanted.time, ("time",) if look else ()),
        split=find.one("split-column", wanted.split, ()),
    )
    return _with_features(mapping, wanted.features, find, look)


def _with_features(mapping: Mapping, patterns: Names, find: "_Finder", look: bool) -> Mapping:
    taken = set(mapping.named) - ({mapping.time} if mapping.time else set())
    if not patterns:
        usual = ["x"] if "x" in find.names else _numbered(find.names)
        if not usual and not look:
            free = [name for name in find.names if name not in mapping.named]
            raise BadInput(
                f"{find.where} has no features, neither a column 'x' nor x0, x1, ...; name them with "
                f"--features, patterns will do; not used so far: {', '.join(free[:12]) or 'none'}"
            )
        return replace(mapping, features=tuple(usual))
    found: list[str] = []
    for pattern in patterns:
        if pattern in find.names:
            if pattern in taken:
                raise BadInput(f"column {pattern!r} {NO_FEATURE}")
            found.append(pattern)
            continue
        free = [name for name in find.names if name not in taken and name != mapping.time]
        matching = fnmatch.filter(free, pattern)
        if not matching:
            raise BadInput(
                f"no column of {find.where} is called {pattern!r} (--features), it has {find.listed}; "
                f"{meant(pattern, find.names) or 'mend it'}".rstrip()
            )
        found += matching
    return replace(mapping, features=tuple(dict.fromkeys(found)))


def _numbered(names: Sequence[str]) -> list[str]:
    """x0, x1, ... in the order of their numbers."""
    found = [(int(match[1]), name) for name in names if (match := FEATURE.fullmatch(name))]
    return [name for _, name in sorted(found)]


@dataclass(frozen=True)
class _Finder:
    names: list[str]
    where: str

    @property
    def listed(self) -> str:
        if len(self.names) == 1 and any(mark in self.names[0] for mark in ";\t|"):
            return f"one column, {self.names[0]!r}: separate the values by commas"
        return ", ".join(self.names[:12]) + (", ..." if len(self.names) > 12 else "")

    def need(self, name: str, option: str, what: str) -> str:
        """A column that must be there."""
        if name not in self.names:
            means = f", {what}" if what else ""
            near = meant(name, self.names)
            raise BadInput(
                f"{self.where} has no column {short(name)}{means}; {near}name one of its own with "
                f"--{option}, it has {self.listed}"
            )
        return name

    def one(self, option: str, given: str | None, usual: Names) -> str | None:
        """The column that was given, or the first of the usual ones."""
        if given is not None:
            return self.need(given, option, "")
        return next((name for name in usual if name in self.names), None)

    def some(self, usual: str) -> Names:
        return (usual,) if usual in self.names else ()


def _only_one(what: str, **given: object) -> None:
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise BadInput(f"{what} came twice, as {' and '.join(named)}; give one of them")
