"""The report's section on the constraint, a dataset at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from multilogger.components.reproduction.constraint_rows import AXES, Axis, ConstraintRow
from multilogger.components.reproduction.constraint_words import constraint_paragraph
from multilogger.components.reproduction.plots import Picture


@dataclass(frozen=True)
class ConstraintSection:
    """What was found on a dataset in words, its picture, and the rows of each axis."""

    dataset: str
    paragraph: str
    picture: Picture | None
    axes: tuple[tuple[Axis, tuple[ConstraintRow, ...]], ...]


def rows_by_dataset(rows: Sequence[ConstraintRow]) -> dict[str, list[ConstraintRow]]:
    """The rows of each dataset, in their order."""
    datasets = dict.fromkeys(row.dataset for row in rows)
    return {dataset: [row for row in rows if row.dataset == dataset] for dataset in datasets}


def constraint_sections(
    rows: Sequence[ConstraintRow], pictures: Mapping[str, Picture]
) -> list[ConstraintSection]:
    """`pictures` are those of the study, by dataset."""
    return [
        ConstraintSection(
            dataset,
            constraint_paragraph(own),
            pictures.get(dataset),
            tuple(
                (about, found)
                for axis, about in AXES.items()
                if (found := tuple(row for row in own if row.axis == axis))
            ),
        )
        for dataset, own in rows_by_dataset(rows).items()
    ]
