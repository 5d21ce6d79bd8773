"""The folder that a command writes its results to."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from multilogger.components.errors import BadInput


def check_folder(path: Path) -> None:
    """Refuse a folder that could not be made or written to, before hours of work go by; makes nothing."""
    folder = path.expanduser().absolute()
    with _complaining(folder):
        _probe(next(place for place in (folder, *folder.parents) if place.exists()))


def writable_folder(path: Path) -> Path:
    """Make the folder and show that it can be written to."""
    folder = path.expanduser().absolute()
    with _complaining(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _probe(folder)
    return folder


def _probe(folder: Path) -> None:
    with tempfile.TemporaryFile(dir=folder) as probe:
        probe.write(b"writable")


@contextmanager
def _complaining(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadInput(
            f"cannot write to the output folder {folder} ({error.strerror}); choose another with --out"
        ) from error
