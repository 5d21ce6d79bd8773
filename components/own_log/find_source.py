"""The files that a person names: one file, a folder, a glob, or an address in an object store."""

import fnmatch
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from multilogger.components.errors import BadInput, first_line
from multilogger.components.log.unreadable import READ_ERRORS
from multilogger.components.own_log.source import CSV, PARQUET, Source

ENDINGS = {
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".csv": CSV,
    ".csv.gz": CSV,
    ".csv.bz2": CSV,
}
WILD = "*?["
RETRY, RETRY_SECONDS = "retry_limit_seconds", 20
OPTIONS = re.compile(r"\?(?=\w+=)")  # of an address: s3://bucket/logs?region=eu-west-1


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
    if not place.is_file():  # a pipe or a device has no end, or gives its content once
        raise BadInput(f"{path} is neither a file nor a folder, and a log is read twice; write it to a file")
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

    address, *options = OPTIONS.split(path, maxsplit=1)
    try:
        wild = any(sign in address for sign in WILD)
        head = address[: min(address.find(sign) for sign in WILD if sign in address)] if wild else address
        folder = head.rsplit("/", 1)[0] if wild else address
        system, base = fs.FileSystem.from_uri("?".join([folder, *with_limit(folder, options)]))
        facts = system.get_file_info(base)
        if facts.type == fs.FileType.File:
            return _source(path, [base], system, str(PurePosixPath(base).parent))
        listed = system.get_file_info(fs.FileSelector(base, recursive=True))
        files = sorted(one.path for one in listed if one.type == fs.FileType.File)
    except READ_ERRORS as error:
        reason, remedy = first_line(error), "check the address and its credentials"
        if "Unrecognized filesystem" in reason:
            reason, remedy = (
                "no object store that Arrow knows",
                "give s3:// or gs://, or a copy on this machine",
            )
        raise BadInput(f"{path} cannot be listed ({reason}); {remedy}") from error
    if wild:
        files = [file for file in files if _matches(file, address.partition("://")[2])]
    return _source(path, files, system, base)


def with_limit(address: str, options: Sequence[str]) -> list[str]:
    """The options with a limit to how long Google's store is asked again; Arrow asks for 15 minutes."""
    if not address.startswith(("gs://", "gcs://")) or any(RETRY in one for one in options):
        return list(options)
    return ["&".join([*options, f"{RETRY}={RETRY_SECONDS}"])]


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
