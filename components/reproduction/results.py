"""What a reproduction is made of: one result a cell, a cell being a method on a dataset with one seed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CellResult:
    """One cell. `exp` and `greedy` are losses on test, None if the cell failed; `error` then says why.

    `validation_risk` is the self-normalised balanced estimate on validation rows; `additivity_p` the p-value
    of the test that the loss adds up over labels, which only the additive methods do. `page` is where MLflow
    shows the run that made the result, below the server's address; empty if there is none. The last fields
    say where in a sweep the cell stands; they are None or empty outside of one.
    """

    dataset: str
    method: str
    preset: str
    seed: int
    exp: float | None
    greedy: float | None
    validation_risk: float | None = None
    additivity_p: float | None = None
    page: str = ""
    error: str = ""
    replay_count: int | None = None
    tau: float | None = None
    loggers: int | None = None
    choice: str = ""
    axis: str = ""
    level: str = ""
    objective: str = ""


@dataclass(frozen=True)
class DatasetSize:
    """A row of Table 1 as it was loaded."""

    dataset: str
    features: int
    labels: int
    n_train: int
    n_test: int


@dataclass(frozen=True)
class Reproduction:
    """Everything that was run, by the table or figure that it belongs to; what was not asked for is empty.

    `table2` has methods x datasets x seeds. `figure1` varies `replay_count`; its reference lines have None
    there. `figure2` and `figure3` vary `tau`, in the same way. `choices` has one cell for each thing that the
    paper leaves open, named by `choice` (such as `loss_shift=none`; `default` is ours), and seed. `loggers`
    varies the number of `loggers` that the same number of rows comes from. `pairwise` has methods x seeds on
    the simulated dataset whose loss does not add up over labels. `constraint` varies the `level` of one
    `axis` at a time, under each `objective`.
    """

    table1: tuple[DatasetSize, ...] = ()
    table2: tuple[CellResult, ...] = ()
    figure1: tuple[CellResult, ...] = ()
    figure2: tuple[CellResult, ...] = ()
    figure3: tuple[CellResult, ...] = ()
    choices: tuple[CellResult, ...] = ()
    loggers: tuple[CellResult, ...] = ()
    pairwise: tuple[CellResult, ...] = ()
    constraint: tuple[CellResult, ...] = ()

    @property
    def cells(self) -> tuple[CellResult, ...]:
        """All cells of all parts."""
        sweeps = (*self.figure1, *self.figure2, *self.figure3)
        return (*self.table2, *sweeps, *self.choices, *self.loggers, *self.pairwise, *self.constraint)
