"""A log on disk as the looks take it: any columns of Parquet files, in two passes, a batch at a time.

The first pass numbers loggers and actions; the second gives the rows. Features of words are taken by a number
of each word, times by their seconds: good enough to look for leaks. Where a propensity is missing, the share
of the action among the logger's rows stands in, and the report says so.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Vector
from multilogger.components.actions.space import SPACES
from multilogger.components.checks.batches import CheckBatch, LogFacts, feature_keys, mixed
from multilogger.components.checks.check import check
from multilogger.components.checks.disk.columns import (
    Columns,
    Names,
    feature_of,
    ids_of,
    label_vectors,
    resolved,
    times_of,
)
from multilogger.components.checks.disk.first_pass import Coded, FirstPass, Found
from multilogger.components.checks.findings import Finding
from multilogger.components.checks.report import LogReport
from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import check_losses, checked_log_propensity, first_of
from multilogger.components.features.frames import Rows
from multilogger.components.log.actions import stated_actions
from multilogger.components.log.files import BATCH_ROWS, is_list, read_facts
from multilogger.components.log.unreadable import READ_ERRORS


class LogOnDisk:
    """Parquet files: one, or all below a folder; folders logger=<label> are a column."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self._dataset, self._base = _open(path)
        names = [str(name) for name in self._dataset.schema.names]
        self._columns = c = resolved(columns, names)
        single = (c.loss, c.reward, c.propensity, c.log_propensity, c.logger, c.context, c.time)
        self._cheap = [*c.action, *(name for name in single if name is not None)]
        self._validation = "validation" if "validation" in names else None
        stated = stated_actions(self._dataset.schema)
        labels = len(c.action) > 1 or is_list(self._dataset.schema.field(c.action[0]).type)
        self._found = self._first_pass(labels, None if labels else stated)
        facts = read_facts(self._dataset.schema)
        size = self._found.size
        self._most = float(facts["max_loss"]) if facts and c.reward is None else self._found.most_loss(size)
        self.facts = LogFacts(
            title=f"{path}: {self.rows:,} rows, {size} {'labels' if labels else 'actions'}",
            loggers=tuple(str(label) for label in self._found.loggers),
            actions=tuple(str(one) for one in self._found.actions),
            space=SPACES["labels" if labels else "one-of"](size),
            features=self._feature_names(),
            counts=self._found.counts,
            max_loss=self._most,
            contexts_known=c.context is not None,
            all_propensities=bool(c.propensities or c.log_propensities),
            policies_known=True,  # nobody asks files for policies
            time_edges=self._found.edges,
            words="loss" if c.reward is None else "reward",
        )

    @property
    def missing(self) -> float:
        """The share of rows without a propensity."""
        return self._found.missing / float(self._found.counts.sum())

    @property
    def rows(self) -> int:
        return int(self._found.counts.sum())

    def batches(self) -> Iterator[CheckBatch]:
        c = self._columns
        more = [*c.propensities, *c.log_propensities, *c.features]
        more += [self._validation] if self._validation else []
        for rows in self._read([*self._cheap, *more]):
            yield self._batch(rows)

    def _batch(self, rows: Rows) -> CheckBatch:
        c = self._columns
        logger = self._found.logger_of(self._labels(rows), len(rows))
        action = self._actions(rows)
        own = self._own(rows)
        gaps = np.isnan(own)
        own[gaps] = self._found.log_share(logger[gaps], action[gaps])
        every = None
        if c.propensities or c.log_propensities:
            names = c.propensities or c.log_propensities
            values = rows.matrix(names if len(names) > 1 else names[0], "propensities")
            if values.shape[1] != len(self.facts.loggers):
                raise BadInput(
                    f"{rows.where}: {values.shape[1]} propensities a row, {len(self.facts.loggers)} loggers; "
                    f"give one per logger, in the order {', '.join(self.facts.loggers)}"
                )
            with np.errstate(divide="ignore", invalid="ignore"):
                every = values if c.log_propensities else np.log(values)
            every = np.where(np.isnan(every), own[:, None], every)
        x = self._features(rows)
        return CheckBatch(
            facts=self.facts,
            logger=logger,
            action=action,
            loss=self._losses(rows),
            log_propensity=own,
            log_propensities=every,
            context=self._contexts(rows, x),
            features=lambda places: np.asarray(x[places], dtype=np.float32),
            time=None if c.time is None else times_of(rows, c.time),
            validation=None
            if self._validation is None
            else rows.numbers(self._validation, "validation") == 1,
        )

    def _first_pass(self, labels: bool, stated: Sequence[str] | None) -> Found:
        seen = FirstPass(labels, stated, self._columns.reward is not None)
        for rows in self._read(self._cheap):
            time = None if self._columns.time is None else times_of(rows, self._columns.time)
            action = label_vectors(rows, self._columns.action) if labels else self._ids(rows)
            seen.add(self._labels(rows), action, self._outcome(rows), self._own(rows), time)
        return seen.found(self._columns.action if len(self._columns.action) > 1 else None)

    def _read(self, names: Sequence[str]) -> Iterator[Rows]:
        import pyarrow as pa
        import pyarrow.dataset as ds

        for fragment in self._dataset.get_fragments():
            place = Path(fragment.path)
            where = str(place.relative_to(self._base) if place.is_relative_to(self._base) else place)
            done = 0
            try:
                for batch in fragment.to_batches(
                    schema=self._dataset.schema,
                    columns=list(dict.fromkeys(names)),
                    batch_size=BATCH_ROWS,
                    batch_readahead=2,
                    fragment_readahead=1,
                    # else Arrow keeps the bytes of the whole file
                    fragment_scan_options=ds.ParquetFragmentScanOptions(pre_buffer=False),
                ):
                    if len(batch):
                        yield Rows(pa.Table.from_batches([batch]), where, done)
                        done += len(batch)
            except BadInput:
                raise
            except READ_ERRORS as error:
                raise BadInput(f"{where} cannot be read ({str(error).splitlines()[0][:200]})") from error

    def _labels(self, rows: Rows) -> Coded | None:
        name = self._columns.logger
        return None if name is None else ids_of(rows, name, "logger")

    def _ids(self, rows: Rows) -> Coded:
        return ids_of(rows, self._columns.action[0], "action")

    def _actions(self, rows: Rows) -> Actions:
        if self.facts.choices:
            return self._found.action_of(self._ids(rows))
        return label_vectors(rows, self._columns.action).astype(np.int64)

    def _outcome(self, rows: Rows) -> Vector:
        name = self._columns.reward or self._columns.loss or ""
        values = rows.numbers(name, "reward or loss")
        if (row := first_of(~np.isfinite(values))) is not None:
            raise BadInput(f"{rows.at(row)}: {name!r} is missing, NaN or infinite; fill it in")
        return values

    def _losses(self, rows: Rows) -> Vector:
        values = self._outcome(rows)
        losses = self._found.high - values if self._columns.reward else values
        check_losses(losses, self._most, rows.where, rows.numbers_of_rows)
        return losses

    def _own(self, rows: Rows) -> Vector:
        name = self._columns.propensity or self._columns.log_propensity
        if name is None:
            return np.full(len(rows), np.nan)
        values = rows.numbers(name, "propensity")
        known = np.flatnonzero(~np.isnan(values))
        found = np.full(len(rows), np.nan)
        found[known] = checked_log_propensity(
            values[known], self._columns.propensity is None, rows.where, rows.numbers_of_rows[known]
        )
        return found

    def _feature_names(self) -> Names:
        names: list[str] = []
        first = next(self._read(self._columns.features), None) if self._columns.features else None
        for name in self._columns.features if first is not None else ():
            wide = first.lists(name).shape[1] if first is not None and is_list(first.kind(name)) else 1
            names += [name] if wide == 1 else [f"{name}{i}" for i in range(wide)]
        return tuple(names)

    def _features(self, rows: Rows) -> NDArray[np.float32]:
        parts = [feature_of(rows, name) for name in self._columns.features]
        with np.errstate(over="ignore"):
            return np.hstack(parts or [np.zeros((len(rows), 0))]).astype(np.float32)

    def _contexts(self, rows: Rows, x: NDArray[np.float32]) -> NDArray[np.uint64]:
        import pandas as pd

        if self._columns.context is not None:
            ids = rows.column(self._columns.context, "context").to_pandas()
            return mixed(np.asarray(pd.util.hash_array(ids.to_numpy())))
        if x.shape[1]:
            return feature_keys(x)
        return mixed(rows.numbers_of_rows + (zlib.crc32(rows.where.encode()) << 32))


def _open(path: Path) -> tuple[Any, Path]:
    """All Parquet files of a place, and what their names are below."""
    import pyarrow.dataset as ds

    if not path.exists():
        raise BadInput(f"there is no log at {path}; give a Parquet file or a folder of them")
    files = sorted(str(p) for p in path.rglob("*.parquet")) if path.is_dir() else [str(path)]
    if not files:
        raise BadInput(f"no Parquet files (*.parquet) below {path}; give the folder that holds the log")
    base = path if path.is_dir() else path.parent
    try:
        return ds.dataset(files, format="parquet", partitioning="hive", partition_base_dir=str(base)), base
    except READ_ERRORS as error:
        raise BadInput(f"{path} cannot be read as Parquet ({str(error).splitlines()[0][:200]})") from error


def check_files(path: Path, columns: Columns, advance: Callable[[float], None] = lambda _: None) -> LogReport:
    """Look at a log on disk without holding it."""
    log = LogOnDisk(path, columns)
    found = []
    if log.missing:
        what = f"{log.missing:.0%} of the rows have no propensity; the share of the action stands in below"
        remedy = "log the probability at the time of the action, or estimate it"
        found.append(Finding("propensities-missing", "unsafe", what, log.missing, remedy))
    return check(log, policy_findings=found, advance=advance)
