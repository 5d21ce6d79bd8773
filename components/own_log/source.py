"""The files of a log, wherever they stand: one file, a folder, a glob, or an address in an object store."""

import fnmatch
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from multilogger.components.errors import BadInput
from multilogger.components.features.frames import Rows
from multilogger.components.log.files import BATCH_ROWS, READ_ERRORS

PARQUET, CSV = "parquet", "csv"
ENDINGS = {
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".csv": CSV,
    ".csv.gz": CSV,
    ".csv.bz2": CSV,
}
WILD = "*?["


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

    def _said(self, file: str) -> str:
        facts = self.system.get_file_info(file)
        return f"{facts.size} {facts.mtime_ns}"

    def open(self) -> "OpenSource":
        """Read the schema that all files have."""
        import pyarrow.dataset as ds

        try:
            dataset = ds.dataset(
                list(self.files),
                filesystem=self.system,
                format=self.format,
                partitioning="hive",
                partition_base_dir=self.base,
            )
        except READ_ERRORS as error:
            raise BadInput(
                f"{self.path} cannot be read as {self.format} ({str(error).splitlines()[0]}); mend the "
                "files, or name others"
            ) from error
        return OpenSource(self, dataset)


@dataclass(frozen=True)
class OpenSource:
    """A log that can be read batch by batch, always in the same order."""

    source: Source
    dataset: Any

    @property
    def schema(self) -> Any:
        """The columns, as Arrow has them."""
        return self.dataset.schema

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
                ):
                    if len(batch):
                        yield Rows(pa.Table.from_batches([batch]), where, done)
                        done += len(batch)
            except BadInput:
                raise
            except READ_ERRORS as error:
                raise BadInput(
                    f"{where} cannot be read with the columns of the other files "
                    f"({str(error).splitlines()[0]}); write it with the same schema, or leave it out"
                ) from error


def find_source(path: str) -> Source:
    """Find the files that a person names."""
    if "://" in path:
        return _remote(path)
    place = Path(path).expanduser()
    if any(sign in path for sign in WILD) and not place.exists():
        root = Path(*_fixed(place.absolute().parts))
        found = sorted(p for p in root.rglob("*") if _matches(str(p), str(place.absolute())) and p.is_file())
        return _local(path, found, root)
    if place.is_dir():
        return _local(path, [p for p in sorted(place.rglob("*")) if p.is_file()], place)
    if not place.exists():
        raise BadInput(f"there is no file or folder {path}; --logs takes Parquet or CSV files")
    return _local(path, [place], place.parent)


def local_source(path: str, files: Sequence[Path], kind: str, base: Path) -> Source:
    """Files of a known layout, all on this machine."""
    from pyarrow import fs

    names = tuple(str(file.absolute()) for file in files)
    return Source(path, names, kind, fs.LocalFileSystem(), str(base.absolute()))


def _local(path: str, found: Sequence[Path], base: Path) -> Source:
    from pyarrow import fs

    return _source(path, [str(p.absolute()) for p in found], fs.LocalFileSystem(), str(base.absolute()))


def _remote(path: str) -> Source:
    from pyarrow import fs

    try:
        wild = any(sign in path for sign in WILD)
        head = path[: min(path.find(sign) for sign in WILD if sign in path)] if wild else path
        system, base = fs.FileSystem.from_uri(head.rsplit("/", 1)[0] if wild else path)
        facts = system.get_file_info(base)
        if facts.type == fs.FileType.File:
            return _source(path, [base], system, str(PurePosixPath(base).parent))
        listed = system.get_file_info(fs.FileSelector(base, recursive=True))
        files = sorted(one.path for one in listed if one.type == fs.FileType.File)
    except READ_ERRORS as error:
        reason = str(error).splitlines()[0]
        raise BadInput(
            f"{path} cannot be listed ({reason}); check the address and its credentials"
        ) from error
    if wild:
        files = [file for file in files if _matches(file, path.partition("://")[2])]
    return _source(path, files, system, base)


def _source(path: str, found: Sequence[str], system: Any, base: str) -> Source:
    kinds = {file: kind for file in found if (kind := _format(file)) is not None}
    if not kinds:
        raise BadInput(f"no files of Parquet or CSV ({', '.join(ENDINGS)}) at {path}; give those of the log")
    if len(set(kinds.values())) > 1:
        raise BadInput(f"{path} has both Parquet and CSV files; name one kind, for example with *.parquet")
    return Source(path, tuple(kinds), next(iter(kinds.values())), system, base)


def _format(file: str) -> str | None:
    name = PurePosixPath(file).name.lower()
    if name.startswith((".", "_")):  # as other tools leave them beside their files
        return None
    return next((kind for ending, kind in ENDINGS.items() if name.endswith(ending)), None)


def _fixed(parts: Sequence[str]) -> list[str]:
    """The parts of a pattern before the first that is one."""
    fixed = []
    for part in parts[:-1]:
        if any(sign in part for sign in WILD):
            break
        fixed.append(part)
    return fixed


def _matches(file: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(file, pattern)


def _content(file: str) -> str:
    facts = Path(file).stat()
    return _content_at(file, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size)


@lru_cache(maxsize=4096)
def _content_at(file: str, _written: int, _changed: int, _bytes: int) -> str:
    """Read again only if the file has changed: every cell of a study asks."""
    with Path(file).open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
