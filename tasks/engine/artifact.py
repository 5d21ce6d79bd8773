"""Artifacts: the folder of files that a stage leaves, its manifest, and the one rename that publishes it."""

import hashlib
import json
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from multilogger.components.json_text import parsed_json
from multilogger.tasks.engine.locks import probing

MANIFEST = "manifest.json"
MENDING = "taking MLflow's copy of it, or computing it again"


class DamagedArtifact(Exception):
    """The files on disk are not those of the manifest."""


class FileEntry(BaseModel):
    """One file of a manifest."""

    model_config = ConfigDict(frozen=True)
    sha256: str
    bytes: int


class Artifact(BaseModel):
    """A reference to a finished stage: small, JSON, and enough to verify every byte of it.

    `root` is where the store stands now; it is not written down, so a store may be moved. `manifest` is the
    sha256 of the manifest's own file; records of earlier versions have none.
    """

    model_config = ConfigDict(frozen=True)
    stage: str
    key: str
    path: str
    files: dict[str, FileEntry]
    run_id: str
    manifest: str | None = None
    root: Path = Field(exclude=True)

    @property
    def folder(self) -> Path:
        return self.root / self.path

    @property
    def digest(self) -> str:
        """Hash of the content alone: equal files give an equal digest, whoever made them."""
        return digest_of(self.files)

    def verify(self) -> None:
        """Check every file against the manifest; raise `DamagedArtifact` with the first difference."""
        if not self.folder.is_dir():
            raise DamagedArtifact("its folder is gone")
        present = _files_below(self.folder)
        for name, entry in self.files.items():
            if name not in present:
                raise DamagedArtifact(f"{name} is missing")
            if not _is_still(present[name], entry):
                raise DamagedArtifact(f"{name} was altered")
        if MANIFEST not in present:
            raise DamagedArtifact(f"{MANIFEST} is missing")
        if not self._is_described_by(present[MANIFEST]):
            raise DamagedArtifact(f"{MANIFEST} was altered")
        extra = sorted(set(present) - set(self.files) - {MANIFEST})
        if extra:
            raise DamagedArtifact(f"{extra[0]} does not belong to it")

    def _is_described_by(self, manifest: Path) -> bool:
        """Whether the manifest on disk is the one that was written: `evaluate --logs` goes by it."""
        try:
            if self.manifest is not None:
                return sha256_of(manifest) == self.manifest
            content = parsed_json(manifest.read_bytes())
            listed = {name: FileEntry(**entry) for name, entry in content["files"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        return listed == self.files and (content.get("stage"), content.get("key")) == (self.stage, self.key)


def _is_still(path: Path, entry: FileEntry) -> bool:
    """Whether a file is what its entry says; it may vanish while somebody else puts a new result in place."""
    try:
        return path.stat().st_size == entry.bytes and sha256_of(path) == entry.sha256
    except OSError as error:
        raise DamagedArtifact(f"{path.name} cannot be read ({error.strerror})") from error


def digest_of(files: dict[str, FileEntry]) -> str:
    """Hash of a manifest: names and hashes of the files, in the order of their names."""
    listing = json.dumps({name: files[name].sha256 for name in sorted(files)})
    return hashlib.sha256(listing.encode()).hexdigest()


def sha256_of(path: Path) -> str:
    """sha256 of a file, read in chunks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def manifest_of(folder: Path) -> dict[str, FileEntry]:
    """Every file below a folder but the manifest itself, by its relative name."""
    return {
        name: FileEntry(sha256=sha256_of(path), bytes=path.stat().st_size)
        for name, path in sorted(_files_below(folder).items())
        if name != MANIFEST
    }


def temporary_folder(final: Path) -> Path:
    """A new folder beside the final one; what a killed process left there before is removed.

    The caller holds the lock of the key, so nobody else is writing it.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    discard_drafts(final)
    return Path(tempfile.mkdtemp(prefix=f".{final.name}.", dir=final.parent))


def discard_drafts(final: Path) -> None:
    """Remove every temporary folder of a result, also one that nobody was told of when a signal came."""
    for leftover in final.parent.glob(f".{final.name}.*"):
        shutil.rmtree(leftover, ignore_errors=True)


def sweep_temporary_folders(artifacts: Path, locks: Path) -> None:
    """Remove what killed processes left: folders named `.<key>.*` of keys whose lock nobody holds."""
    for leftover in artifacts.glob("*/.*"):
        with probing(locks / leftover.name.split(".")[1]) as free:
            if free:
                shutil.rmtree(leftover, ignore_errors=True)


def publish(temporary: Path, final: Path) -> None:
    """Flush a finished folder to disk and move it into place in one rename.

    What stood there, damaged or refreshed, is moved aside first: a reader sees the old folder,
    none, or the new one, never a mixture.
    """
    temporary.chmod(0o755)
    mode = (temporary / MANIFEST).stat().st_mode  # safetensors makes files that nobody else may read
    for path in _files_below(temporary).values():
        path.chmod(mode)
        _flush(path)
    for folder in [temporary, *(p for p in temporary.rglob("*") if p.is_dir())]:
        _flush(folder)
    if final.exists():
        aside = Path(tempfile.mkdtemp(prefix=f".{final.name}.old.", dir=final.parent))
        final.rename(aside / "old")
        temporary.rename(final)
        shutil.rmtree(aside)
    else:
        temporary.rename(final)
    _flush(final.parent)


def _files_below(folder: Path) -> dict[str, Path]:
    return {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if not p.is_dir()}


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def recorded_key(record: Path) -> str | None:
    """The key of the artifact that one of Prefect's records refers to; None if there is no record."""
    return _recorded(record, "key")


def recorded_run(record: Path) -> str | None:
    """The MLflow run of the artifact that a record refers to; None if no record says."""
    with suppress(ValueError):
        return _recorded(record, "run_id")
    return None


def _recorded(record: Path, name: str) -> str | None:
    """What the engine wrote into a record; see `ArtifactReference`."""
    try:
        return str(parsed_json(parsed_json(record.read_text())["result"])[name]) if record.exists() else None
    except (KeyError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"{record} is no record of an artifact") from error
