"""Table 1: the datasets as they were loaded, beside the paper's statistics."""

from dataclasses import dataclass, replace

from multilogger.components.reproduction.paper_figures import SAME_ROWS, paper_dataset, paper_table1
from multilogger.components.reproduction.results import DatasetSize, Reproduction


@dataclass(frozen=True)
class Table1Row:
    """`paper` is None for a dataset that the paper does not have."""

    ours: DatasetSize
    paper: DatasetSize | None

    @property
    def agrees(self) -> bool:
        return self.paper is not None and replace(self.paper, dataset=self.ours.dataset) == self.ours

    @property
    def note(self) -> str:
        if self.paper is None:
            return "not in the paper"
        same_rows = SAME_ROWS.get(self.ours.dataset)
        return f"other features of {same_rows}'s rows" if same_rows else ""


def table1_rows(reproduction: Reproduction) -> list[Table1Row]:
    paper = paper_table1()
    return [Table1Row(size, paper.get(paper_dataset(size.dataset))) for size in reproduction.table1]
