"""The data of a command: a registered dataset, a person's own files, or a person's own log."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from multilogger.components.errors import BadInput, short
from multilogger.flows.cli.log_options import LOG_OPTIONS, named_log, with_log_options
from multilogger.flows.cli.options import (
    Actions,
    Classes,
    Dataset,
    Features,
    Labels,
    Mirror,
    Set,
    Test,
    Train,
    own_files,
)

FILE_OPTIONS = {
    "train": Train,
    "test": Test,
    "features": Features,
    "labels": Labels,
    "classes": Classes,
    "actions": Actions,
}
DATA_OPTIONS = ("dataset", "mirror", *FILE_OPTIONS, *LOG_OPTIONS)


@dataclass(frozen=True)
class GivenData:
    """What a person typed of the data and of settings; `log` has the options for own logs that were given.

    `named` says that --dataset was typed and is not the default.
    """

    dataset: str
    mirror: str | None
    files: dict[str, Any]
    assignments: list[str]
    log: dict[str, Any]
    named: bool = False

    def chosen(self, stage: str | None = None, stages: Sequence[str] | None = None) -> "ChosenData":
        """The name of the data and the settings of stages; those without a stage's name belong to `stage`."""
        from multilogger.flows.pipelines.registered_logs import with_registered_log
        from multilogger.flows.pipelines.settings import parse_assignments
        from multilogger.tasks.registry import STAGES

        files = dict(self.files)
        dataset, own = named_log(self.dataset, self.log, files["features"])
        if own:
            if self.named:
                raise BadInput(
                    f"--dataset {short(self.dataset)} is data that is known by name, --logs a log of your "
                    "own; leave one of them out, and name a log with --name"
                )
            files["features"] = None
            if named := [name for name, value in files.items() if value is not None]:
                raise BadInput(
                    f"--{named[0]} is for svmlight files and --logs for logs; leave one of them out, and "
                    "give the actions of a log with --all-actions"
                )
        typed = parse_assignments(self.assignments, stage, stages or tuple(STAGES))
        settings = typed | own_files(**files) | own
        return ChosenData(dataset, self.mirror, with_registered_log(dataset, self.mirror, settings))


@dataclass(frozen=True)
class ChosenData:
    """A name of data, and settings by `stage.setting`."""

    dataset: str
    mirror: str | None
    settings: dict[str, Any]


def takes_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options for its data; it gets them as the argument `data`."""

    def with_data(**given: Any) -> None:
        files = {name: given.pop(name) for name in FILE_OPTIONS}
        typed = getattr(given["context"].get_parameter_source("dataset"), "name", "") == "COMMANDLINE"
        dataset, mirror, log = (given.pop(name) for name in ("dataset", "mirror", "log"))
        data = GivenData(dataset, mirror, files, given.pop("assignments") or [], log, typed)
        command(**given, data=data)

    def option(name: str, kind: Any, default: Any = None) -> inspect.Parameter:
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)

    kept = [one for one in inspect.signature(command).parameters.values() if one.name != "data"]
    plain = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in kept]
    added = [option("dataset", Dataset, "digits"), option("mirror", Mirror)]
    added += [option(name, kind) for name, kind in FILE_OPTIONS.items()]
    added += [option("assignments", Set), option("log", Any)]
    wrapped = wraps(command)(with_data)
    wrapped.__signature__ = inspect.Signature([*plain[:1], *added[:2], *plain[1:], *added[2:]])  # type: ignore[attr-defined]
    return with_log_options(wrapped)
