"""Which columns of a log say what: names that a person may use, found in the schema of the files."""

import re
from dataclasses import dataclass
from typing import Literal

from multilogger.components.errors import BadInput

FEATURE = re.compile(r"x(\d+)")
NO_FEATURE = (
    "cannot be a feature: it is the action, the outcome or another part of the log, which a policy does not "
    "know when it acts; leave it out"
)


@dataclass(frozen=True)
class LogColumns:
    """Names of columns; None where a log does without. `features` is empty where contexts come by id."""

    loss: str
    propensity: str
    propensities: str | None
    context: str | None
    features: tuple[str, ...]
    validation: str | None
    logger: str = "logger"
    action: str = "action"

    @property
    def is_log(self) -> bool:
        """Whether propensities are kept as logarithms."""
        return self.propensity.startswith("log_")

    @property
    def are_log(self) -> bool:
        return self.propensities is not None and self.propensities.startswith("log_")

    def need(self, which: Literal["context", "propensities", "validation"]) -> str:
        """A column that a log may do without, for those who cannot."""
        name: str | None = getattr(self, which)
        if name is None:
            raise BadInput(f"the log has no column {which!r}, which is needed here; add it")
        return name

    @property
    def learned(self) -> list[str]:
        """Columns that learning reads, but for the logger's."""
        wanted = [self.need(name) for name in ("context", "propensities", "validation")]
        return [self.action, self.loss, self.propensity, *wanted]

    @property
    def cheap(self) -> list[str]:
        """Columns of the first pass: everything but actions and features."""
        wanted = [self.logger, self.loss, self.propensity, self.context, self.validation]
        return [name for name in wanted if name is not None]

    @property
    def costly(self) -> list[str]:
        """Columns of the passes that ask the policy."""
        wanted = [self.action, self.propensities, self.validation, *self.features]
        return [name for name in wanted if name is not None]


def find_columns(names: list[str], contexts_given: bool) -> LogColumns:
    """The columns of a log whose contexts are given apart (by id) or stand in its rows."""
    loss = _one_of(names, ("delta", "loss"), "the loss of the action")
    propensity = _one_of(
        names, ("log_propensity", "propensity"), "the probability under the logger of the row"
    )
    for name, meaning in (
        ("logger", "who acted (also from folders logger=<name>)"),
        ("action", "the label vector, or which of K actions was chosen"),
    ):
        _one_of(names, (name,), meaning)
    context = "context" if "context" in names else None
    if contexts_given and context is None:
        raise BadInput(
            f"contexts are given apart but the log has no column 'context' that names them, only "
            f"{_list(names)}; add it, or put the features into each row"
        )
    features = () if contexts_given else feature_columns(names)
    propensities = [name for name in ("log_propensities", "propensities") if name in names]
    return LogColumns(
        loss=loss,
        propensity=propensity,
        propensities=propensities[0] if propensities else None,
        context=context,
        features=features,
        validation="validation" if "validation" in names else None,
    )


def feature_columns(names: list[str]) -> tuple[str, ...]:
    """The feature columns of a log or of a file of contexts."""
    if "x" in names:
        return ("x",)
    numbers = sorted(int(match[1]) for name in names if (match := FEATURE.fullmatch(name)))
    if not numbers:
        raise BadInput(
            f"the log has no features, neither a list column 'x' nor columns x0, x1, ..., only "
            f"{_list(names)}; add them, or give ids in a column 'context' and features with --contexts"
        )
    if numbers != list(range(len(numbers))):
        missing = next(i for i in range(len(numbers)) if i not in numbers)
        raise BadInput(f"feature columns must run x0, x1, ... without gaps, x{missing} is missing")
    return tuple(f"x{number}" for number in numbers)


def _one_of(names: list[str], wanted: tuple[str, ...], meaning: str) -> str:
    for name in wanted:
        if name in names:
            return name
    raise BadInput(
        f"the log needs a column {' or '.join(repr(name) for name in wanted)}, {meaning}; "
        f"it has {_list(names)}"
    )


def _list(names: list[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
