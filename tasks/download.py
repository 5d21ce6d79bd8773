"""Stage: a dataset's files, from LibSVM, a mirror or the user's disk -> checked train and test splits."""

import os
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from multilogger.components.datasets.embedded import EMBEDDED
from multilogger.components.datasets.fetch import fetch_file
from multilogger.components.datasets.losses import USUAL_LOSS
from multilogger.components.datasets.registry import (
    DATASETS,
    LIBSVM,
    MOST_FEATURES,
    MOST_LABELS,
    DatasetSpec,
    find_dataset,
)
from multilogger.components.datasets.svmlight import check_size, read_splits
from multilogger.components.errors import BadInput, short
from multilogger.tasks.dataset_files import DatasetFacts, save_dataset
from multilogger.tasks.engine.artifact import sha256_of
from multilogger.tasks.engine.progress import say
from multilogger.tasks.engine.stage import Name, StageSettings, stage
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.engine.store import LOGIN_VARIABLE


class DownloadSettings(StageSettings):
    """Which dataset, and where its files are."""

    # Local files enter the key by their content, not by their place; a URL enters it by its address.
    not_in_key: ClassVar[frozenset[str]] = frozenset({"train_path", "test_path", "max_bytes"})
    secrets_go: ClassVar[str] = f"put it into the environment as {LOGIN_VARIABLE}=user:password"

    dataset: Name = Field(default="digits", description="registered name, or a name for your own files")
    mirror: str | None = Field(
        default=None, description="folder or URL with LibSVM's layout; default LibSVM itself"
    )
    train_path: Path | None = Field(default=None, description="own svmlight train file")
    test_path: Path | None = Field(default=None, description="own svmlight test file")
    features: int | None = Field(
        default=None, ge=1, le=MOST_FEATURES, description="number of features of own files"
    )
    labels: int | None = Field(
        default=None, ge=1, le=MOST_LABELS, description="number of labels or classes of own files"
    )
    actions: Literal["labels", "one-of"] = Field(
        default="labels", description="own files are multi-label (labels) or multi-class (one-of)"
    )
    train_sha256: str | None = Field(
        default=None, pattern="^[0-9a-f]{64}$", description="sha256 of the train file"
    )
    test_sha256: str | None = Field(
        default=None, pattern="^[0-9a-f]{64}$", description="sha256 of the test file"
    )
    max_bytes: int | None = Field(
        default=None, ge=1, description="most bytes of a file, uncompressed; default: what its shape can need"
    )

    @model_validator(mode="before")
    @classmethod
    def _hash_local_files(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Files of the user's and of a mirror on disk are known by their content."""
        hashed = dict(values)
        spec = DATASETS.get(str(values.get("dataset", "digits")))
        if spec is not None and values.get("train_path") is None:
            hashed.setdefault("actions", spec.actions)
        for split in ("train", "test"):
            path = _local_file(split, values)
            if path is not None and values.get(f"{split}_sha256") is None:
                hashed[f"{split}_sha256"] = _known_sha256(path)
        return hashed

    @model_validator(mode="after")
    def _known_or_complete(self) -> "DownloadSettings":
        own = [self.train_path, self.test_path, self.features, self.labels]
        if all(part is None for part in own):
            if find_dataset(self.dataset).actions != self.actions:
                raise BadInput(
                    f"{self.dataset} has actions of the kind {find_dataset(self.dataset).actions}, "
                    f"got --actions {self.actions}; leave it out, it is for your own files"
                )
        elif any(part is None for part in own):
            raise BadInput("your own files need all of --train, --test, --features and --labels or --classes")
        if self.actions == "one-of" and self.labels == 1:
            raise BadInput("a choice needs two classes or more, got --classes 1")
        address = self.mirror if self.mirror is not None and "://" in self.mirror else None
        if address and (not address.startswith(("http://", "https://")) or set(address) & set("?#")):
            raise BadInput(f"a mirror is a folder or an http(s) URL, without ? or #, got {self.mirror!r}")
        self._check_sizes()
        return self

    def _check_sizes(self) -> None:
        """Refuse files on this disk that unpack to too much, before anything is started."""
        rows = {"train": self.spec.n_train, "test": self.spec.n_test}
        for split in rows if self.max_bytes is None else ():
            if (path := _local_file(split, vars(self))) is not None:
                check_size(path, self.spec, rows[split])

    def identity(self) -> dict[str, Any]:
        """As of any stage; own files held label vectors before there was a choice."""
        said = self.train_path is None or self.actions == "labels"
        values = {n: v for n, v in super().identity().items() if n != "actions" or not said}
        return values if self.mirror is not None and "://" in self.mirror else values | {"mirror": None}

    @property
    def spec(self) -> DatasetSpec:
        """What the files must look like."""
        if self.features is not None and self.labels is not None:
            return DatasetSpec(
                self.dataset, self.features, self.labels,
                train_file=str(self.train_path), test_file=str(self.test_path),
                loss=USUAL_LOSS[self.actions], actions=self.actions,
            )  # fmt: skip
        return find_dataset(self.dataset)


def _known_sha256(path: Path) -> str:
    """The hash of a file, read again only if the file has changed: every cell of a reproduction asks."""
    facts = path.stat()
    return _sha256_at(path, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size)


@lru_cache(maxsize=64)
def _sha256_at(path: Path, _written: int, _changed: int, _bytes: int) -> str:
    return sha256_of(path)


def _is_file(path: str | Path) -> bool:
    """Whether there is such a file; a name that no file can have is none."""
    try:
        return Path(path).is_file()
    except OSError:
        return False


def _local_file(split: str, values: Mapping[str, Any]) -> Path | None:
    """Where one file stands on this machine, None if it is to be fetched or embedded."""
    own, mirror = values.get(f"{split}_path"), values.get("mirror")
    if not isinstance(own, str | Path | None) or not isinstance(mirror, str | Path | None):
        return None  # the field says what it takes
    if own is not None:
        if not _is_file(own):
            raise BadInput(
                f"there is no file {short(Path(own).as_posix(), 200)}; --{split} takes an svmlight file"
            )
        return Path(own)
    spec = DATASETS.get(str(values.get("dataset")))
    if spec is None or spec.embedded or mirror is None or "://" in str(mirror):
        return None
    name = str(spec.train_file if split == "train" else spec.test_file)
    path = Path(mirror).expanduser() / name
    if not _is_file(path):
        raise BadInput(
            f"the mirror has no file {path}; a mirror is the folder that holds {name.split('/')[0]}/, "
            "or leave --mirror out to fetch from LibSVM"
        )
    return path


@stage("download", version=1)
def download(settings: DownloadSettings, run: StageRun) -> None:
    """Fetch a dataset, check its shape, labels and numbers, and log the paper's Table 1 row."""
    spec = settings.spec
    if spec.embedded:
        splits = EMBEDDED[spec.name]()
    else:
        with tempfile.TemporaryDirectory(dir=run.folder) as raw:
            train_file = _fetch(
                spec.train_file, settings.train_path, settings.train_sha256, settings, Path(raw), run
            )
            test_file = _fetch(
                spec.test_file, settings.test_path, settings.test_sha256, settings, Path(raw), run
            )
            with run.progress("reading", 2) as advance:
                splits = read_splits(train_file, test_file, spec, advance, settings.max_bytes)
    if numbers := splits.train.classes:
        say(
            f"{spec.name}: the classes {', '.join(map(str, numbers))} are the actions 0 to {len(numbers) - 1}"
        )
    facts = save_dataset(run, spec.name, splits.train, splits.test, spec.loss)
    run.log_metrics(table1_metrics(facts))


def table1_metrics(facts: DatasetFacts) -> dict[str, float]:
    """The numbers of Table 1, by name; every row of multi-class data has one class."""
    sizes: dict[str, float] = {**facts.counts(), "n_train": facts.n_train, "n_test": facts.n_test}
    if facts.actions == "one-of":
        return sizes
    return sizes | {
        "labels_per_row": facts.labels_per_row,
        "rows_without_label": facts.rows_without_label,
    }


def _fetch(
    name: str | None,
    own: Path | None,
    sha256: str | None,
    settings: DownloadSettings,
    raw: Path,
    run: StageRun,
) -> Path:
    """The local path of one file, its hash checked where one is known."""
    if own is not None:
        return _checked(own, sha256)
    if name is None:
        raise TypeError(f"{settings.dataset} is embedded and has no files")
    base = settings.mirror or LIBSVM
    if "://" in base:
        limit = settings.max_bytes or settings.spec.most_bytes
        with run.progress(f"fetching {Path(name).name}") as bar:
            return fetch_file(base, name, sha256, raw, limit, os.environ.get(LOGIN_VARIABLE, ""), bar)
    return _checked(Path(base).expanduser() / name, sha256)


def _checked(path: Path, sha256: str | None) -> Path:
    if sha256 is not None and sha256_of(path) != sha256:
        raise BadInput(
            f"{path} has sha256 {sha256_of(path)}, expected {sha256}; the file changed: fetch it again"
        )
    return path
