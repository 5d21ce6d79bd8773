"""The Open Bandit Dataset as it is published: a fashion shop's recommendations by two loggers.

Below a folder stand `obd/<random|bts>/<campaign>/<campaign>.csv` and `item_context.csv`, plain or compressed
(.bz2, .gz). A row is one item at one of three positions: when, which item, clicked or not, the probability
of the item at that position, and features of the user.

What has to be minded:

- The position is part of the context. `random` draws every position uniformly, so its propensity is one over
  the number of items, known for every row of both loggers.
- `bts`, a Thompson sampler, changes its propensities all the time: that of one item at one position spans a
  factor of 37 within the week (median). What it would have done in a row of `random` is not in the files; it
  is left open (NaN), and an estimate models it, with the time.
- Features of items are hashed otherwise for each logger, so they cannot be compared; items are known by id.
  Only `item_feature_0`, a number, must agree, else the files are not of one campaign.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from multilogger.components.errors import BadInput, first_line
from multilogger.components.features.frames import Rows
from multilogger.components.log.actions import ActionId
from multilogger.components.log.unreadable import READ_ERRORS
from multilogger.components.own_log.find_source import local_source
from multilogger.components.own_log.source import CSV, OpenSource, Source

LOGGERS = ("bts", "random")
CAMPAIGNS = {"all": 80, "men": 34, "women": 46}
LAYOUTS = {f"obd-{campaign}": campaign for campaign in CAMPAIGNS}
SUFFIXES = ("", ".bz2", ".gz")
USER = tuple(f"user_feature_{i}" for i in range(4))
NEEDED = ("timestamp", "item_id", "position", "click", "propensity_score", *USER)
ADDED = ("logger", "propensity_bts", "propensity_random")
AFFINITY = "user-item_affinity_"
UNIFORM_TOLERANCE = 1e-6
COLUMNS: dict[str, Any] = {
    "action": ["item_id"],
    "reward": "click",
    "reward_range": [0.0, 1.0],
    "propensity": "propensity_score",
    "propensities": ["propensity_bts", "propensity_random"],
    "logger": "logger",
    "features": ["position", "user_feature_*"],
    "time": "timestamp",
    "split_by": "time",
}
"""Which column says what, as settings of an import."""


@dataclass(frozen=True)
class ObdRows:
    """An Arrow table with a row per shown item; `items` are the ids of all items of the campaign."""

    table: Any
    items: tuple[int, ...]
    features: tuple[str, ...]


def obd_files(base: str | Path, campaign: str) -> dict[str, tuple[Path, Path]]:
    """The log and the items of each logger, below `base` or below its folder `obd`."""
    if campaign not in CAMPAIGNS:
        raise BadInput(f"a campaign is one of {', '.join(CAMPAIGNS)}, got {campaign!r}")
    place = Path(base).expanduser()
    root = place / "obd" if (place / "obd").is_dir() else place
    return {
        logger: (
            _file(root / logger / campaign, f"{campaign}.csv"),
            _file(root / logger / campaign, "item_context.csv"),
        )
        for logger in LOGGERS
    }


def obd_source(base: str | Path, campaign: str) -> Source:
    """The four files of a campaign, known by their content."""
    files = [path for pair in obd_files(base, campaign).values() for path in pair]
    return local_source(str(base), files, CSV, files[0].parents[2])


def open_obd(base: str | Path, campaign: str, max_bytes: int | None = None) -> "OpenObd":
    """The log of a campaign, to be read batch by batch; `max_bytes` is what a packed file may unpack to."""
    import pyarrow.csv as pc
    import pyarrow.dataset as ds

    files, source = obd_files(base, campaign), obd_source(base, campaign)
    source.check_unpacked(max_bytes)
    items = _items({logger: pair[1] for logger, pair in files.items()})
    kinds = _kinds() | {f"{AFFINITY}{item}": "float64" for item in items}
    form = ds.CsvFileFormat(convert_options=pc.ConvertOptions(column_types=kinds, strings_can_be_null=True))
    logs = {}
    for logger, (path, _) in files.items():
        try:
            logs[logger] = ds.dataset([str(path)], format=form)
        except READ_ERRORS as error:
            raise _unreadable(path, error) from error
        _check_columns(path, NEEDED, logs[logger].schema.names)
    return OpenObd(source, None, logs, items)


@dataclass(frozen=True)
class OpenObd(OpenSource):
    """The log of one campaign: an Arrow dataset of each logger, and the ids of all items."""

    logs: dict[str, Any]
    items: tuple[int, ...]

    @property
    def stated_max_loss(self) -> float | None:
        return None

    @cached_property
    def stated_ids(self) -> list[ActionId] | None:
        return None

    @cached_property
    def schema(self) -> Any:
        import pyarrow as pa

        fields = [pa.field(name, kind) for name, kind in _kinds().items()]
        fields += [one for one in self.logs[LOGGERS[0]].schema if one.name.startswith(AFFINITY)]
        more = {"logger": pa.string(), "propensity_bts": pa.float64(), "propensity_random": pa.float64()}
        return pa.schema([*fields, *(pa.field(name, more[name]) for name in ADDED)])

    def batches(self, names: Sequence[str]) -> Iterator[Rows]:
        """Some rows at a time, the named columns alone; propensities that the files imply are added."""
        wanted = list(dict.fromkeys(names))
        stored = [name for name in wanted if name not in ADDED]
        for logger, log in self.logs.items():
            read = list(dict.fromkeys([*stored, "propensity_score"]))
            _check_columns(Path(log.files[0]), read, log.schema.names)
            done = 0
            for table in _tables(log, read):
                rows = Rows(table, log.files[0], done)
                done += len(rows)
                yield self._completed(rows, logger, wanted)

    def _completed(self, rows: Rows, logger: str, wanted: list[str]) -> Rows:
        import pyarrow as pa

        own = rows.numbers("propensity_score", "propensity")
        uniform = 1.0 / len(self.items)
        if logger == "random" and (off := np.flatnonzero(np.abs(own - uniform) > UNIFORM_TOLERANCE)).size:
            raise BadInput(
                f"{rows.at(int(off[0]))}: the random logger has propensity {own[off[0]]:g}, not "
                f"1/{len(self.items)} = {uniform:.6g}; give the files of one campaign"
            )
        added = {
            "logger": pa.array([logger] * len(rows)),
            "propensity_bts": pa.array(own if logger == "bts" else np.full(len(rows), np.nan)),
            "propensity_random": pa.array(np.full(len(rows), uniform)),
        }
        columns = {name: added[name] if name in added else rows.table.column(name) for name in wanted}
        return Rows(pa.table(columns), rows.where, int(rows.numbers_of_rows[0]))


def read_obd(
    base: str | Path, campaign: str, affinities: bool = False, max_bytes: int | None = None
) -> ObdRows:
    """The rows of both loggers."""
    import pyarrow as pa

    log = open_obd(base, campaign, max_bytes)
    extra = [f"{AFFINITY}{item}" for item in log.items] if affinities else []
    table = pa.concat_tables([rows.table for rows in log.batches([*NEEDED, *extra, *ADDED])])
    return ObdRows(table, log.items, ("position", *USER, *extra))


def _kinds() -> dict[str, Any]:
    """The Arrow type of each column; a position is a word, not a quantity."""
    import pyarrow as pa

    known = {"timestamp": pa.timestamp("ns", "UTC"), "item_id": pa.int64(), "position": pa.string()}
    known |= {"click": pa.float64(), "propensity_score": pa.float64()}
    return known | dict.fromkeys(USER, pa.string())


def _tables(log: Any, names: list[str]) -> Iterator[Any]:
    import pyarrow as pa

    try:
        for batch in log.to_batches(columns=names, batch_readahead=2, fragment_readahead=1):
            if len(batch):
                yield pa.Table.from_batches([batch])
    except READ_ERRORS as error:
        raise _unreadable(Path(log.files[0]), error) from error


def _unreadable(path: Path, error: Exception) -> BadInput:
    return BadInput(f"{path} cannot be read as CSV ({first_line(error)}); fetch it again")


def _check_columns(path: Path, columns: Sequence[str], there: Sequence[str]) -> None:
    if missing := [name for name in columns if name not in there]:
        known = "give the file as it was published"
        remedy = "read it without affinities" if missing[0].startswith(AFFINITY) else known
        raise BadInput(f"{path} has no column {missing[0]}; {remedy}")


def _file(folder: Path, name: str) -> Path:
    for suffix in SUFFIXES:
        if (path := folder / f"{name}{suffix}").is_file():
            return path
    raise BadInput(
        f"there is no file {folder / name}, plain, .bz2 or .gz; give the folder of the Open Bandit Dataset "
        "as it was published, which has obd/random and obd/bts"
    )


def _items(paths: dict[str, Path]) -> tuple[int, ...]:
    """The ids of all items, which both loggers must have."""
    import pyarrow.csv as pc

    found = {}
    for logger, path in paths.items():
        try:
            table = pc.read_csv(path)
        except READ_ERRORS as error:
            raise _unreadable(path, error) from error
        _check_columns(path, ("item_id", "item_feature_0"), table.column_names)
        numbers = table.column("item_feature_0").to_pylist()
        found[logger] = dict(zip(table.column("item_id").to_pylist(), numbers, strict=True))
    first, second = (found[logger] for logger in LOGGERS)
    if first.keys() != second.keys() or any(first[item] != second[item] for item in first):
        raise BadInput(
            f"{paths[LOGGERS[0]]} and {paths[LOGGERS[1]]} must have the same items with the same "
            "item_feature_0; give both files of one campaign"
        )
    return tuple(sorted(first))


def export_obd(base: str | Path, campaign: str, folder: str | Path, max_bytes: int | None = None) -> Path:
    """Write both loggers' rows to a Parquet file, and which column says what to columns.toml beside it."""
    import pyarrow.parquet as pq

    read, place = read_obd(base, campaign, max_bytes=max_bytes), Path(folder).absolute()
    place.mkdir(parents=True, exist_ok=True)
    pq.write_table(read.table, place / "log.parquet")
    said = {"logs": (place / "log.parquet").as_posix(), "name": f"obd-{campaign}", **COLUMNS}
    said["all_actions"] = [str(item) for item in read.items]
    columns = place / "columns.toml"
    lines = [f"{name.replace('_', '-')} = {json.dumps(value)}" for name, value in said.items()]
    columns.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return columns
