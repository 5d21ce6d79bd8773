"""Presets as tables: each row gives some methods, on some datasets, other numbers than their defaults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.training.method import Group
from multilogger.components.learners.training.settings import Settings, read_of


def of_group(*groups: Group) -> tuple[str, ...]:
    """The names of the methods of some groups."""
    return tuple(name for name, method in METHODS.items() if method.group in groups)


DIRECT, CONSTRAINED, EXACT = (of_group(g) for g in (Group.DIRECT, Group.CONSTRAINED, Group.EXACT))
LOSS_MODELS = of_group(Group.LOSS_MODEL)
WCRM = of_group(Group.BASELINE)
SMOOTHED = of_group(Group.SMOOTHED)
PAPER_METHODS = (*WCRM, *DIRECT, *CONSTRAINED, *EXACT)
"""The methods whose settings differ between presets."""

TMC = ("tmc500", "tmc")
ONE_OF = ("one-of",)


@dataclass(frozen=True)
class Row:
    """Values for some methods; of all datasets and action spaces, unless some are named.

    A method takes those that it reads.
    """

    methods: Sequence[str]
    values: Mapping[str, Any]
    datasets: Sequence[str] = field(default=())
    spaces: Sequence[str] = field(default=())

    def applies(self, dataset: str, method: str, space: str) -> bool:
        named = method in self.methods and (not self.datasets or dataset in self.datasets)
        return named and (not self.spaces or space in self.spaces)


def look_up(rows: Sequence[Row], dataset: str, method: str, space: str = "labels") -> Settings:
    """The method's defaults, changed by every row that applies, the later ones last."""
    kind = METHODS[method].settings
    values: dict[str, Any] = {}
    for row in rows:
        if row.applies(dataset, method, space):
            values |= read_of(kind, row.values)
    return kind(**values)
