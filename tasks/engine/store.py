"""The store: one folder that holds artifacts, cache records, locks, the MLflow and Prefect databases.

And the folder that a command writes its results to.
"""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from multilogger.components.errors import BadInput, first_line

ROOT_VARIABLE = "MULTILOGGER_HOME"
DEFAULT_ROOT = "data"
LOGIN_VARIABLE = "MULTILOGGER_MIRROR_LOGIN"  # user:password of a mirror


@dataclass(frozen=True)
class Store:
    """Where everything is; the folders below `root` are made by `open`."""

    root: Path

    @classmethod
    def current(cls) -> "Store":
        """The store that the environment names. Child processes find the same one."""
        return cls(absolute(os.environ.get(ROOT_VARIABLE) or DEFAULT_ROOT))

    @property
    def artifacts(self) -> Path:
        return self.root / "artifacts"

    @property
    def results(self) -> Path:
        """Prefect's persisted results: one small JSON reference a key."""
        return self.root / "results"

    @property
    def checkpoints(self) -> Path:
        """Unfinished work of stages that take long, by key."""
        return self.root / "checkpoints"

    @property
    def locks(self) -> Path:
        return self.root / "locks"

    @property
    def cell_runs(self) -> Path:
        """The MLflow run of each finished cell, by the key of its evaluation."""
        return self.root / "cell-runs"

    @property
    def prefect_home(self) -> Path:
        return self.root / "prefect"

    @property
    def mlflow_artifacts(self) -> Path:
        return self.root / "mlflow-artifacts"

    @property
    def tracking_uri(self) -> str:
        """MLflow's tracking URI: the environment's, or a SQLite file in the store."""
        return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{self.root / 'mlflow.db'}"

    @property
    def own_database(self) -> Path | None:
        """The SQLite file that MLflow's runs are kept in, unless the environment names another place."""
        return None if os.environ.get("MLFLOW_TRACKING_URI") else self.root / "mlflow.db"

    @property
    def tracks_by_server(self) -> bool:
        """An MLflow server keeps the runs' files itself; with a database they are kept in the store."""
        return self.tracking_uri.startswith(("http:", "https:", "databricks"))

    @property
    def identity(self) -> str:
        """A random name, made once and moved with the store: it tells this store's runs from others'.

        A damaged one is made anew, as a missing one is.
        """
        path = self.root / "store-id"
        known = _identity_in(path)
        if known is None:
            path.unlink(missing_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.root) as draft:
                draft.write(uuid4().hex)
                draft.flush()
                Path(draft.name).chmod(0o644)  # others may read the store too
                with suppress(FileExistsError):
                    path.hardlink_to(draft.name)  # whoever is first decides
            known = path.read_text()
        return known

    def check_has_runs(self, maker: str) -> None:
        """Refuse a store without MLflow runs; `maker` is a command that would make some."""
        if not os.environ.get("MLFLOW_TRACKING_URI") and not (self.root / "mlflow.db").exists():
            raise BadInput(
                f"the store at {self.root} has no runs yet; run 'multilogger {maker}' first, "
                f"or name another store with {ROOT_VARIABLE}"
            )

    def open(self) -> "Store":
        """Make the folders and show that they can be written to."""
        remedy = f"choose another folder with {ROOT_VARIABLE} or mend its permissions"
        if {"?", "#"} & set(str(self.root)):
            raise BadInput(
                "the path of a store has no ? and no #, which mean other things in addresses of databases; "
                f"got {self.root}: choose another folder with {ROOT_VARIABLE}"
            )
        with _complaining(f"the store at {self.root}", remedy):
            made = (self.artifacts, self.results, self.locks, self.prefect_home, self.mlflow_artifacts)
            for folder in made:
                folder.mkdir(parents=True, exist_ok=True)
            _probe(self.root)
        return self


def absolute(path: str | Path) -> Path:
    """The path from the root of the file system; `~` stays as it is where nobody knows a home."""
    try:
        return Path(path).expanduser().absolute()
    except (RuntimeError, FileNotFoundError) as error:
        raise BadInput(
            f"{path} cannot be found ({first_line(error)}); give a path that begins with /"
        ) from error


def check_folder(path: Path) -> None:
    """Refuse an output folder that could not be made or written to, before hours of work; makes nothing."""
    folder = absolute(path)
    with _complaining(f"the output folder {folder}", "choose another with --out"):
        _probe(next(place for place in (folder, *folder.parents) if place.exists()))


def writable_folder(path: Path) -> Path:
    """Make an output folder and show that it can be written to."""
    folder = absolute(path)
    with _complaining(f"the output folder {folder}", "choose another with --out"):
        folder.mkdir(parents=True, exist_ok=True)
        _probe(folder)
    return folder


def _probe(folder: Path) -> None:
    with tempfile.TemporaryFile(dir=folder) as probe:
        probe.write(b"writable")


@contextmanager
def _complaining(where: str, remedy: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        room = "free some space, or " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise BadInput(f"cannot write to {where} ({error.strerror}); {room}{remedy}") from error


def _identity_in(path: Path) -> str | None:
    """The identity that a file holds; None if there is no file, or it holds something else."""
    try:
        return UUID(hex=path.read_bytes().decode("ascii")).hex
    except (FileNotFoundError, ValueError):
        return None
