"""Arrays of a size that may not fit in memory: held if small, else a temporary file that is mapped.

A mapped file is read and written like memory. Its pages are those of the disk cache, which the system takes
back when memory is short. The numbers are the same either way.
"""

import os
import tempfile

import numpy as np
from numpy.typing import NDArray

from multilogger.components.errors import BadInput

LARGEST_HELD = 2**30  # bytes
SHARE_OF_DISK = 0.95  # of what is left of it
REMEDY = (
    "make room there, name another folder by TMPDIR, or make fewer features with import-log.hash_width and "
    "import-log.max_categories"
)


def empty_floats(shape: tuple[int, int], largest_held: int | None = None) -> NDArray[np.float32]:
    """An array of float32 to be filled; above `largest_held` bytes in a file that ends with the array."""
    size = 4 * shape[0] * shape[1]
    if size <= (LARGEST_HELD if largest_held is None else largest_held):
        return np.empty(shape, dtype=np.float32)
    folder = tempfile.gettempdir()
    disk = os.statvfs(folder)
    if size > SHARE_OF_DISK * disk.f_bavail * disk.f_frsize:
        return _held(shape, size, folder, disk.f_bavail * disk.f_frsize)
    with tempfile.TemporaryFile(prefix="multilogger-") as file:  # the map keeps it until it ends itself
        try:
            os.posix_fallocate(file.fileno(), 0, size)  # a disk that is full shows now, not as a bus error
        except OSError as error:
            raise BadInput(
                f"{_wanted(shape, size)} cannot be written to {folder} ({error}); {REMEDY}"
            ) from error
        return np.memmap(file, dtype=np.float32, mode="r+", shape=shape)


def _held(shape: tuple[int, int], size: int, folder: str, left: int) -> NDArray[np.float32]:
    """In memory after all, if the machine has twice as much."""
    half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    if size > half:
        raise BadInput(
            f"{_wanted(shape, size)} fit neither in half of the memory ({half / 1e9:.1f} GB) nor in "
            f"{folder} ({left / 1e9:.1f} GB left); {REMEDY}"
        )
    return np.empty(shape, dtype=np.float32)


def _wanted(shape: tuple[int, int], size: int) -> str:
    return f"{shape[0]:,} contexts of {shape[1]:,} features, {size / 1e9:.1f} GB,"
