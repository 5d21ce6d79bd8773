"""An imported log with the propensities that it lacks, estimated; test rows by models that never saw them."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.log.files import LogFiles, open_log_files
from multilogger.components.log.reading import LogBatch, read_rows
from multilogger.components.log.schema import LogRows, log_file, space_of
from multilogger.components.log.writing import RowWriter
from multilogger.components.own_log.write_log import TIMES
from multilogger.components.propensities.complete import CompletedPropensities, complete_propensities
from multilogger.components.propensities.estimated_policy import EstimatedPolicy
from multilogger.components.propensities.rows import with_columns
from multilogger.components.propensities.time import TimeHats, time_hats


@dataclass(frozen=True)
class _Columns:
    """What estimation needs of the rows, in the order of the files: (n,) each, and (n, J)."""

    context: NDArray[np.int64]
    action: Actions
    logger: NDArray[np.int64]
    own: Vector
    table: Matrix


def complete_log(
    log: Path, x: Features, loggers: tuple[str, ...], seed: int, time: Vector | None
) -> tuple[CompletedPropensities, ActionSpace]:
    """Estimate what the log in a folder lacks, from its training and validation rows and their times (n,)."""
    files = _open(log)
    space, columns = space_of(files.dataset.schema), _columns(files)
    done = complete_propensities(
        x, columns.context, columns.action, columns.logger, columns.own, columns.table, space, loggers, seed,
        extra=None if time is None else time_hats(time),
    )  # fmt: skip
    return done, space


def read_times(log: Path) -> Vector | None:
    """The time of each row (n,) in the order of the files; None of a log without times."""
    places = [Path(fragment.path).with_name(TIMES) for fragment in _open(log).dataset.get_fragments()]
    if not all(place.is_file() for place in places):
        return None
    return np.concatenate([np.fromfile(place, dtype=np.float64) for place in places])


def write_completed(log: Path, to: Path, every: Matrix) -> None:
    """Write the log again with propensities under every logger (n, J), in the order of its files."""
    _write(log, to, _taken(_open(log), every))


def write_by_policies(
    log: Path,
    to: Path,
    x: Features,
    policies: tuple[EstimatedPolicy, ...],
    space: ActionSpace,
    hats: TimeHats | None = None,
) -> None:
    """Write a log again, the gaps filled in by what the policies say of contexts and times."""

    def filled() -> Iterator[LogBatch]:
        done = 0
        for batch in read_rows(_open(log)):
            here = np.arange(done, done + len(batch.logger))
            done += len(here)
            yield _filled(batch, x, policies, space, None if hats is None else hats[here])

    _write(log, to, filled())


def repeat_own(log: Path, to: Path) -> None:
    """Write a log again, the row's own propensity standing for those of all loggers that are not known.

    Choice: h_avg is then h_j, and balanced estimates are naive ones.
    """

    def repeated(batch: LogBatch) -> LogBatch:
        every = batch.rows.log_propensities
        filled = np.where(np.isnan(every), batch.rows.log_propensity[:, None], every)
        return LogBatch(replace(batch.rows, log_propensities=filled), batch.logger)

    _write(log, to, (repeated(batch) for batch in read_rows(_open(log))))


def _open(log: Path) -> LogFiles:
    return open_log_files(log, contexts_given=True)


def _columns(files: LogFiles) -> _Columns:
    parts = list(read_rows(files))
    return _Columns(
        context=np.concatenate([part.rows.context for part in parts]).astype(np.int64),
        action=np.concatenate([part.rows.action for part in parts]),
        logger=np.concatenate([part.logger for part in parts]),
        own=np.concatenate([part.rows.log_propensity for part in parts]),
        table=np.concatenate([part.rows.log_propensities for part in parts]),
    )


def _taken(files: LogFiles, every: Matrix) -> Iterator[LogBatch]:
    done = 0
    for batch in read_rows(files):
        part = every[done : done + len(batch.logger)]
        done += len(batch.logger)
        yield _with(batch, part)


def _filled(
    batch: LogBatch,
    x: Features,
    policies: tuple[EstimatedPolicy, ...],
    space: ActionSpace,
    more: Matrix | None,
) -> LogBatch:
    every = batch.rows.log_propensities.copy()
    for j, policy in enumerate(policies):
        gaps = np.flatnonzero(np.isnan(every[:, j]))
        if len(gaps):
            seen = x[batch.rows.context[gaps]]
            logits = policy.logits(seen if more is None else with_columns(seen, more[gaps]))
            every[gaps, j] = space.log_probability(logits, batch.rows.action[gaps])
    return _with(batch, every)


def _with(batch: LogBatch, every: Matrix) -> LogBatch:
    own = every[np.arange(len(batch.logger)), batch.logger]
    return LogBatch(replace(batch.rows, log_propensities=every, log_propensity=own), batch.logger)


def _write(log: Path, to: Path, batches: Iterator[LogBatch]) -> None:
    """One file per logger, with the schema that the log has."""
    import pyarrow.parquet as pq

    writers: dict[int, RowWriter] = {}
    with ExitStack() as stack:
        for batch in batches:
            for j in np.unique(batch.logger).tolist():
                if j not in writers:
                    path = log_file(to, j, 0)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    schema = pq.read_schema(log_file(log, j, 0))
                    writers[j] = stack.enter_context(RowWriter(path, schema))
                writers[j].add(_only(batch.rows, batch.logger == j))


def _only(rows: LogRows, kept: NDArray[np.bool_]) -> LogRows:
    return LogRows(*(column[kept] for column in vars(rows).values()))
