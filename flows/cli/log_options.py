"""The options for a person's own log, which several commands take, and the file that may stand for them."""

import inspect
import tomllib
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from multilogger.components.errors import BadInput, first_line
from multilogger.components.names import check_name, name_from

OWN_LOGS = "Your own logs"


def _option(kind: Any, text: str, *names: str) -> Any:
    return Annotated[kind, typer.Option(*names, help=text, rich_help_panel=OWN_LOGS)]


Text, Texts = str | None, list[str] | None
LOG_OPTIONS: dict[str, Any] = {
    "logs": _option(Text, "File, folder, glob, s3:// or gs:// of Parquet or CSV files."),
    "log_called": _option(Text, "A name for the log. Default: that of the file or folder.", "--name"),
    "columns": _option(Path | None, "TOML or YAML file with these options by name; options win."),
    "action": _option(Texts, "Column of ids or of lists of 0 and 1, or one column per label. Repeatable."),
    "all_actions": _option(Texts, "Every possible action: a,b,c. Default: those of the log."),
    "reward": _option(Text, "Column of rewards."),
    "loss": _option(Text, "Column of losses, 0 or more."),
    "propensity": _option(Text, "Column of the probability of the action under the row's own logger."),
    "log_propensity": _option(Text, "Column of its natural logarithm."),
    "propensities": _option(Texts, "Columns of the probability under every logger, in the order of names."),
    "log_propensities": _option(Texts, "Columns of their natural logarithms."),
    "logger": _option(Text, "Column of who acted."),
    "context_id": _option(Text, "Column of ids; rows of one id share their features.", "--context"),
    "time": _option(Text, "Column of times, to split by."),
    "split_by": _option(Text, "context, time, or given by --split-column. Default: context."),
    "split_column": _option(Text, "Column that says train, validation or test, or is true for test."),
    "test_share": _option(float | None, "Share of the log that judges policies. Default: 0.25."),
    "validation_share": _option(float | None, "Share of the rest that chooses epochs. Default: 0.25."),
    "max_loss": _option(float | None, "Largest possible loss. Default: 1 for one of K, else the labels."),
    "reward_range": _option(Text, "Least and largest possible reward: 0,5. Default: those of the log."),
    "max_bytes": _option(int | None, "Most bytes that a .gz or .bz2 may unpack to. Default: by its size."),
}
RENAMED = {
    "all_actions": "actions",
    "test_share": "test",
    "validation_share": "validation",
    "context_id": "context",
}
ARGUMENTS = {"context": "context_id", "name": "log_called"}  # commands have arguments of these names
ELSEWHERE = ("log_called", "columns")
FEATURES = "features"  # an option of its own: svmlight files have a number of them


COLUMN_OPTIONS = {
    name: option
    for name, option in LOG_OPTIONS.items()
    if name not in ("logs", "log_called", "split_by", "split_column", "test_share", "validation_share")
} | {FEATURES: _option(Texts, "Columns of features, patterns will do. Repeatable.")}
"""Those that say what the columns of a log hold."""


def with_log_options(
    command: Callable[..., None], options: Mapping[str, Any] = LOG_OPTIONS
) -> Callable[..., None]:
    """Give a command the options for own logs; it gets those that were given as the argument `log`."""

    @wraps(command)
    def with_options(**given: Any) -> None:
        log = {name: given.pop(name) for name in options}
        command(**given, log={name: value for name, value in log.items() if value not in (None, [])})

    kept = [one for one in inspect.signature(command).parameters.values() if one.name != "log"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in options.items()
    ]
    plain = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in kept]
    with_options.__signature__ = inspect.Signature([*plain, *added])  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in (*plain, *added)}
    return with_options


def own_log(log: Mapping[str, Any], features: list[str] | None) -> dict[str, Any]:
    """The options for own logs as settings of `import-log`; none without --logs."""
    given = dict(log)
    file = given.pop("columns", None)
    if file is not None:
        given = _read_columns(Path(file)) | given
    if features:
        given[FEATURES] = features
    if "logs" not in given:
        others = [name for name in given if name != FEATURES]
        if others:
            raise BadInput(f"--{others[0].replace('_', '-')} is for your own logs; name them with --logs")
        return {}
    given["logs"] = _absolute(str(given["logs"]))
    return {
        f"import-log.{RENAMED.get(name, name)}": _plain(value)
        for name, value in given.items()
        if name not in ELSEWHERE
    }


def with_column_options(command: Callable[..., None]) -> Callable[..., None]:
    """The same for a command that looks at a log, or judges by it."""
    return with_log_options(command, COLUMN_OPTIONS)


def log_settings(logs: str | None, log: Mapping[str, Any]) -> Any:
    """A log and its columns, unread, as settings of `import-log`."""
    from multilogger.flows.pipelines.settings import checked_settings

    given = dict(log) | ({} if logs is None else {"logs": logs})
    features = given.pop(FEATURES, None)
    if "logs" not in given and "columns" not in given:
        raise BadInput("name the files of the log")
    values = {name.partition(".")[2]: value for name, value in own_log(given, features).items()}
    return checked_settings("import-log", values)


def named_log(dataset: str, log: Mapping[str, Any], features: list[str] | None) -> tuple[str, dict[str, Any]]:
    """The name of the log and its settings; that of the dataset and none, if no log was given."""
    settings, name = own_log(log, features if "logs" in log or "columns" in log else None), log_name(log)
    return (dataset, {}) if name is None else (name, settings)


def log_name(log: Mapping[str, Any]) -> str | None:
    """What the log is called; None if none was given."""
    given = (_read_columns(Path(log["columns"])) if "columns" in log else {}) | dict(log)
    if "logs" not in given:
        return None
    if called := given.get("log_called"):
        return check_name("log", str(called))
    place = str(given["logs"])
    plain = place.partition("?")[0] if "://" in place else place  # an address may have options
    names = (part.partition(".")[0].strip("*?[]-_ ") for part in reversed(Path(plain).parts))
    return name_from(next((name for name in names if name), ""), "log")


def _absolute(path: str) -> str:
    return path if "://" in path else str(Path(path).expanduser().absolute())


def _plain(value: Any) -> Any:
    """Repeated options and commas are both lists."""
    if isinstance(value, list | tuple):
        return [part for one in value for part in str(one).split(",") if part.strip()]
    return value


def _read_columns(path: Path) -> dict[str, Any]:
    """A mapping file: the options without their dashes."""
    if not path.is_file():
        raise BadInput(f"there is no file {path}; --columns takes TOML or YAML")
    try:
        content = _parse(path)
    except ValueError as error:  # what both parsers raise derives from it
        raise BadInput(f"{path} is no {path.suffix[1:] or 'TOML'} ({first_line(error)}); mend it") from error
    if not isinstance(content, dict):
        raise BadInput(f'{path} must map names to columns, such as action = "item_id"; mend it')
    typed = {str(name).replace("-", "_"): value for name, value in content.items()}
    found = {ARGUMENTS.get(name, name): value for name, value in typed.items()}
    known = {*LOG_OPTIONS, FEATURES} - {"columns"}
    for name in typed:
        if ARGUMENTS.get(name, name) not in known:
            called = {one: word for word, one in ARGUMENTS.items()}
            listed = ", ".join(sorted(called.get(one, one) for one in known))
            raise BadInput(f"{path}: {name!r} is not known; it may have {listed}")
    return found


def _parse(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix.lower() not in (".yaml", ".yml"):
        return tomllib.loads(text)
    import yaml  # type: ignore[import-untyped]

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
