"""The store: one folder that holds artifacts, cache records, locks, the MLflow and Prefect databases."""

import contextlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from multilogger.components.errors import BadInput

ROOT_VARIABLE = "MULTILOGGER_HOME"
DEFAULT_ROOT = "data"


@dataclass(frozen=True)
class Store:
    """Where everything is; the folders below `root` are made by `open`."""

    root: Path

    @classmethod
    def current(cls) -> "Store":
        """The store that the environment names. Child processes find the same one."""
        return cls(Path(os.environ.get(ROOT_VARIABLE) or DEFAULT_ROOT).expanduser().absolute())

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
    def tracks_by_server(self) -> bool:
        """An MLflow server keeps the runs' files itself; with a database they are kept in the store."""
        return self.tracking_uri.startswith(("http:", "https:", "databricks"))

    @property
    def identity(self) -> str:
        """A random name, made once and moved with the store: it tells this store's runs from others'."""
        path = self.root / "store-id"
        if not path.exists():
            with tempfile.NamedTemporaryFile("w", dir=self.root) as draft:
                draft.write(uuid4().hex)
                draft.flush()
                with contextlib.suppress(FileExistsError):
                    path.hardlink_to(draft.name)  # whoever is first decides
        return path.read_text()

    def open(self) -> "Store":
        """Make the folders and show that they can be written to."""
        try:
            for folder in (
                self.artifacts,
                self.results,
                self.locks,
                self.prefect_home,
                self.mlflow_artifacts,
            ):
                folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root) as probe:
                probe.write(b"writable")
        except OSError as error:
            raise BadInput(
                f"cannot write to the store at {self.root} ({error.strerror}); "
                f"choose another folder with {ROOT_VARIABLE} or mend its permissions"
            ) from error
        return self
