"""The folder that a command writes its results to."""

import tempfile
from pathlib import Path

from multilogger.components.errors import BadInput


def writable_folder(path: Path) -> Path:
    """Make the folder and show that it can be written to, before hours of work go by."""
    folder = path.expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"writable")
    except OSError as error:
        raise BadInput(
            f"cannot write to the output folder {folder} ({error.strerror}); choose another with --out"
        ) from error
    return folder
