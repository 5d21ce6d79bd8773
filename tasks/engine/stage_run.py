"""What a stage function is handed: a folder to write to, and a place for its metrics and progress."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multilogger.components.json_text import parsed_json
from multilogger.tasks.engine.progress import Bar, open_bar


@dataclass(frozen=True)
class MetricPoint:
    """One value of a metric; curves have a step a point."""

    name: str
    value: float
    step: int = 0


ANY = "any"


@dataclass(frozen=True)
class ModelColumn:
    """A column of a model by MLflow's name of its type, or `ANY`, with an example; lists are of that type."""

    name: str
    type: str
    required: bool = True
    example: Any = None
    is_list: bool = False


@dataclass(frozen=True)
class ModelParameter:
    """What a call of a model may be given besides its rows, by MLflow's name of its type."""

    name: str
    type: str
    default: Any


@dataclass(frozen=True)
class ModelFiles:
    """Files of the result that MLflow is to offer as a model, the module that loads them, and its columns."""

    name: str
    loader_module: str
    files: tuple[str, ...]
    takes: tuple[ModelColumn, ...]
    gives: tuple[ModelColumn, ...]
    parameters: tuple[ModelParameter, ...] = ()


@dataclass(frozen=True)
class DatasetUsed:
    """The data that a run learned from: a name, the digest of its content, a URI, a few numbers."""

    name: str
    digest: str
    source: str
    profile: Mapping[str, int]


@dataclass
class StageRun:
    """Collects what one execution leaves; the engine publishes it when the function returns.

    `checkpoints` is a folder that outlives a killed process, for long work to go on from; the engine
    removes it when the stage is done.
    """

    folder: Path
    title: str = ""
    checkpoints: Path | None = None
    metrics: list[MetricPoint] = field(default_factory=list)
    models: list[ModelFiles] = field(default_factory=list)

    def file(self, name: str) -> Path:
        """The path of a file to write, its folder made."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def save_json(self, name: str, content: Mapping[str, Any] | Sequence[Any]) -> None:
        """Write a JSON file that is the same for the same content."""
        text = json.dumps(content, indent=2, sort_keys=True, allow_nan=False)
        self.file(name).write_text(text + "\n", encoding="utf-8")

    def log_metrics(self, values: Mapping[str, float]) -> None:
        """Record single values."""
        self.metrics += [MetricPoint(name, float(value)) for name, value in values.items()]

    def offer_model(self, model: ModelFiles) -> None:
        """Have MLflow log files of the result as a model."""
        self.models.append(model)

    def log_curve(self, name: str, values: Iterable[float], first_step: int = 0) -> None:
        """Record a value per step; written to MLflow in batches when the stage is done."""
        self.metrics += [MetricPoint(name, float(v), first_step + i) for i, v in enumerate(values)]

    def progress(self, doing: str, total: float | None = None) -> Bar:
        """A progress bar, as a context manager; call it with the amount of work done."""
        return open_bar(f"{self.title} · {doing}" if self.title else doing, total)


def read_json(path: Path) -> Any:
    """Read what `save_json` wrote."""
    return parsed_json(path.read_text(encoding="utf-8"))
