"""The files of a log, and their rows batch by batch."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from multilogger.components.errors import BadInput, first_line, short
from multilogger.components.estimators.checks import first_bad
from multilogger.components.features.frames import Rows
from multilogger.components.log.actions import ActionId
from multilogger.components.log.files import BATCH_ROWS
from multilogger.components.log.schema import read_facts
from multilogger.components.log.stated_ids import check_stated_ids, stated_ids
from multilogger.components.log.unreadable import READ_ERRORS
from multilogger.components.own_log.csv_files import csv_format, said_of_csv
from multilogger.components.own_log.packed_files import check_unpacked

PARQUET, CSV = "parquet", "csv"
ACTION = "action"


@dataclass(frozen=True)
class Source:
    """The files of a log, all of one format, and what their names are below."""

    path: str
    files: tuple[str, ...]
    format: str
    system: Any
    base: str

    @property
    def is_local(self) -> bool:
        return "://" not in self.path

    def digest(self) -> str:
        """The content of local files, or what an object store says of its own: size and time of change."""
        parts = [
            [self.name(file), _content(file) if self.is_local else self._said(file)] for file in self.files
        ]
        return hashlib.sha256(json.dumps(sorted(parts)).encode()).hexdigest()

    def name(self, file: str) -> str:
        """What messages call a file."""
        place = PurePosixPath(file)
        return str(place.relative_to(self.base) if place.is_relative_to(self.base) else place)

    def _unreadable(self, error: BaseException) -> BadInput:
        """Say what the first file is instead of CSV, if that can be seen, or else what Arrow says."""
        first = self.files[0]
        if self.format == CSV and (other := said_of_csv(self.system, first)) is not None:
            return BadInput(f"{self.name(first)} {other}")
        if "duplicate field names" in str(error):
            import pyarrow.parquet as pq

            check_named_once(pq.read_schema(first, filesystem=self.system).names, self.name(first))
        return BadInput(
            f"{self.path} cannot be read as {self.format} ({_of_arrow(error)}); mend the files, or name "
            "others"
        )

    def said(self) -> list[str]:
        """What the file system says of the files, in their order."""
        return [self._said(file) for file in self.files]

    def _said(self, file: str) -> str:
        facts = self.system.get_file_info(file)
        return f"{facts.size} {facts.mtime_ns}"

    def check_unpacked(self, max_bytes: int | None = None) -> None:
        """Refuse compressed files that unpack to more than `max_bytes`, or than their size allows."""
        check_unpacked(self.files, self.system, max_bytes)

    def open(self, max_bytes: int | None = None) -> "OpenSource":
        """Read the schema that all files have; `max_bytes` is what a compressed one may unpack to."""
        import pyarrow.dataset as ds

        self.check_unpacked(max_bytes)
        try:
            dataset = ds.dataset(
                list(self.files),
                filesystem=self.system,
                format=csv_format() if self.format == CSV else self.format,
                partitioning="hive",
                partition_base_dir=self.base,
            )
            names = list(dataset.schema.names)
        except READ_ERRORS as error:
            raise self._unreadable(error) from error
        check_named_once(names, self.path)
        check_stated_ids(dataset)
        return OpenSource(self, dataset)


@dataclass(frozen=True)
class OpenSource:
    """A log that can be read batch by batch, always in the same order."""

    source: Source
    dataset: Any

    @cached_property
    def schema(self) -> Any:
        """The columns, as Arrow has them; actions that files have by number are called by their ids."""
        import pyarrow as pa

        schema = self.dataset.schema
        if self.stated_ids is None:
            return schema
        place = schema.get_field_index(ACTION)
        return schema.set(place, schema.field(place).with_type(pa.array(self.stated_ids).type))

    @cached_property
    def stated_ids(self) -> list[ActionId] | None:
        """The ids of actions by number, of files that this package wrote; None of others."""
        import pyarrow as pa

        schema = self.dataset.schema
        if ACTION not in schema.names or not pa.types.is_integer(schema.field(ACTION).type):
            return None
        return stated_ids(schema)

    @property
    def stated_max_loss(self) -> float | None:
        """The largest possible loss, where the files say it themselves."""
        facts = read_facts(self.dataset.schema)
        return None if facts is None else float(facts["max_loss"])

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.schema.names]

    def kind(self, name: str) -> Any:
        """The Arrow type of a column."""
        return self.schema.field(name).type

    def batches(self, names: Sequence[str]) -> Iterator[Rows]:
        """Some rows at a time, the named columns alone."""
        import pyarrow as pa

        wanted = list(dict.fromkeys(names))
        for fragment in self.dataset.get_fragments():
            where, done = self.source.name(str(fragment.path)), 0
            try:
                for batch in fragment.to_batches(
                    schema=self.dataset.schema,
                    columns=wanted,
                    batch_size=BATCH_ROWS,
                    batch_readahead=2,
                    fragment_readahead=1,
                    **self._options(),
                ):
                    if len(batch):
                        yield self._called(Rows(pa.Table.from_batches([batch]), where, done))
                        done += len(batch)
            except BadInput:
                raise
            except READ_ERRORS as error:
                raise self.unlike(where, error) from error

    def unlike(self, where: str, error: BaseException) -> BadInput:
        """What is said of a file that cannot be read as the others are."""
        reason = first_line(error)
        if isinstance(error, OSError) or len(self.source.files) == 1:
            return BadInput(f"{where} is damaged, or its rows are not of one kind ({reason}); write it again")
        return BadInput(
            f"{where} cannot be read with the columns of the other files ({reason}); write it "
            "with the same schema, or leave it out"
        )

    def _options(self) -> dict[str, Any]:
        """Without these Arrow keeps the bytes of a whole file of this machine; far ones are read ahead."""
        import pyarrow.dataset as ds

        if self.source.format != PARQUET or not self.source.is_local:
            return {}
        return {"fragment_scan_options": ds.ParquetFragmentScanOptions(pre_buffer=False)}

    def _called(self, rows: Rows) -> Rows:
        """Rows whose actions are ids instead of numbers."""
        if self.stated_ids is None or ACTION not in rows.names:
            return rows
        import pyarrow as pa

        numbers = rows.column(ACTION, ACTION)
        if (row := first_bad(~np.isin(np.asarray(numbers), np.arange(len(self.stated_ids))))) is not None:
            raise BadInput(
                f"{rows.at(row)}: action {numbers[row].as_py()} is not the number of one of the "
                f"{len(self.stated_ids)} actions of the schema; write the file again"
            )
        named = pa.array(self.stated_ids).take(numbers.combine_chunks())
        table = rows.table.set_column(rows.names.index(ACTION), ACTION, named)
        return Rows(table, rows.where, int(rows.numbers_of_rows[0]))


def check_named_once(names: Sequence[str], where: str) -> None:
    """Refuse two columns of one name: nobody could say which is meant."""
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise BadInput(f"{where} has {count} columns that are called {short(name)}; give each its own name")


def _of_arrow(error: BaseException) -> str:
    """What Arrow says last; before it stands the path, which it says twice."""
    return first_line(ValueError(re.split(r"' file\?: |input source '[^']*': ", str(error))[-1]))


def _content(file: str) -> str:
    facts = Path(file).stat()
    return _content_at(file, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size)


@lru_cache(maxsize=4096)
def _content_at(file: str, _written: int, _changed: int, _bytes: int) -> str:
    """Read again only if the file has changed: every cell of a study asks."""
    with Path(file).open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
