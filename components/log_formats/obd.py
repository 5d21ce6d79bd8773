"""The Open Bandit Dataset as it is published: a fashion shop's recommendations by two loggers.

Below a folder stand `obd/<random|bts>/<campaign>/<campaign>.csv` and `item_context.csv`, plain or compressed
(.bz2, .gz). A row is one item at one of three positions: when, which item, clicked or not, the probability
of the item at that position, and features of the user.

What has to be minded:

- The position is part of the context. `random` draws every position uniformly, so its propensity is one over
  the number of items, known for every row of both loggers.
- `bts`, a Thompson sampler, changes its propensities all the time: that of one item at one position spans a
  factor of 37 within the week (median). What it would have done in a row of `random` is not in the files; it
  is left open (NaN), and `estimate_propensities` models it.
- Features of items are hashed otherwise for each logger, so they cannot be compared; items are known by id.
  Only `item_feature_0`, a number, must agree, else the files are not of one campaign.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from multilogger.components.errors import BadInput

LOGGERS = ("bts", "random")
CAMPAIGNS = {"all": 80, "men": 34, "women": 46}
SUFFIXES = ("", ".bz2", ".gz")
USER = tuple(f"user_feature_{i}" for i in range(4))
NEEDED = ("timestamp", "item_id", "position", "click", "propensity_score", *USER)
UNIFORM_TOLERANCE = 1e-6


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
    place = Path(base)
    root = place / "obd" if (place / "obd").is_dir() else place
    return {
        logger: (
            _file(root / logger / campaign, f"{campaign}.csv"),
            _file(root / logger / campaign, "item_context.csv"),
        )
        for logger in LOGGERS
    }


def read_obd(base: str | Path, campaign: str, affinities: bool = False) -> ObdRows:
    """The rows of both loggers."""
    import pyarrow as pa

    files = obd_files(base, campaign)
    items = _items({logger: pair[1] for logger, pair in files.items()})
    parts = [_log(logger, pair[0], items, affinities) for logger, pair in files.items()]
    table = pa.concat_tables(parts)
    extra = tuple(name for name in table.column_names if name.startswith("user-item_affinity_"))
    return ObdRows(table, items, ("position", *USER, *extra))


def _file(folder: Path, name: str) -> Path:
    for suffix in SUFFIXES:
        if (path := folder / f"{name}{suffix}").is_file():
            return path
    raise BadInput(
        f"there is no file {folder / name}, plain, .bz2 or .gz; give the folder of the Open Bandit Dataset "
        "as it was published, which has obd/random and obd/bts"
    )


def _read_csv(path: Path, columns: tuple[str, ...]) -> Any:
    """A CSV file as an Arrow table; its first column, which has no name, counts rows."""
    import pyarrow as pa
    import pyarrow.csv as pc

    try:
        table = pc.read_csv(path)
    except (pa.ArrowInvalid, OSError, EOFError) as error:
        line = str(error).splitlines()[0]
        raise BadInput(f"{path} cannot be read as CSV ({line}); fetch it again") from error
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        raise BadInput(f"{path} has no column {missing[0]}; give the file as it was published")
    return table


def _items(paths: dict[str, Path]) -> tuple[int, ...]:
    """The ids of all items, which both loggers must have."""
    found = {}
    for logger, path in paths.items():
        table = _read_csv(path, ("item_id", "item_feature_0"))
        numbers = table.column("item_feature_0").to_pylist()
        found[logger] = dict(zip(table.column("item_id").to_pylist(), numbers, strict=True))
    first, second = (found[logger] for logger in LOGGERS)
    if first.keys() != second.keys() or any(first[item] != second[item] for item in first):
        raise BadInput(
            f"{paths[LOGGERS[0]]} and {paths[LOGGERS[1]]} must have the same items with the same "
            "item_feature_0; give both files of one campaign"
        )
    return tuple(sorted(first))


def _log(logger: str, path: Path, items: tuple[int, ...], affinities: bool) -> Any:
    import pyarrow as pa

    table = _read_csv(path, NEEDED)
    extra = [f"user-item_affinity_{item}" for item in items] if affinities else []
    if lost := [name for name in extra if name not in table.column_names]:
        raise BadInput(f"{path} has no column {lost[0]}; read it without affinities")
    own = np.asarray(table.column("propensity_score").to_numpy(), dtype=np.float64)
    uniform = 1.0 / len(items)
    if logger == "random" and (off := np.flatnonzero(np.abs(own - uniform) > UNIFORM_TOLERANCE)).size:
        raise BadInput(
            f"{path}, row {off[0]}: the random logger has propensity {own[off[0]]:g}, not 1/{len(items)} "
            f"= {uniform:.6g}; give the files of one campaign"
        )
    sampler = own if logger == "bts" else np.full(len(own), np.nan)
    rows = table.select([*NEEDED, *extra])
    position = pa.array([str(one) for one in table.column("position").to_pylist()])
    rows = rows.set_column(rows.column_names.index("position"), "position", position)
    return (
        rows.append_column("logger", pa.array([logger] * len(own)))
        .append_column("propensity_random", pa.array(np.full(len(own), uniform)))
        .append_column("propensity_bts", pa.array(sampler))
    )


def export_obd(base: str | Path, campaign: str, folder: str | Path) -> Path:
    """Write both loggers' rows to a Parquet file, and which column says what to columns.toml beside it."""
    import pyarrow.parquet as pq

    read, place = read_obd(base, campaign), Path(folder).absolute()
    place.mkdir(parents=True, exist_ok=True)
    pq.write_table(read.table, place / "log.parquet")
    columns = place / "columns.toml"
    columns.write_text(
        f'logs = "{(place / "log.parquet").as_posix()}"\n'
        f'name = "obd-{campaign}"\n'
        'action = "item_id"\n'
        f"all-actions = {[str(item) for item in read.items]}\n".replace("'", '"')
        + 'reward = "click"\n'
        'reward-range = "0,1"\n'
        'propensity = "propensity_score"\n'
        'propensities = ["propensity_bts", "propensity_random"]\n'
        'logger = "logger"\n'
        'features = ["position", "user_feature_*"]\n'
        'time = "timestamp"\n'
        'split-by = "time"\n',
        encoding="utf-8",
    )
    return columns
