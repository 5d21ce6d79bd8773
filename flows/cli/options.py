"""The options that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer

from multilogger.components.errors import BadInput
from multilogger.flows.cells.runner_choice import MOST_SEEDS
from multilogger.flows.environment import without_login

OWN_FILES = "Your own files"
Dataset = Annotated[str, typer.Option(help="Registered dataset, or a name for your own files.")]
Seed = Annotated[int, typer.Option(min=0, help="Drives the loggers' sample, the replay and the split.")]


def _without_login(mirror: str | None) -> str | None:
    """What was typed, for which the variable stands too."""
    try:
        return mirror if mirror is None else without_login("MULTILOGGER_MIRROR", mirror)
    except BadInput as error:
        raise typer.BadParameter(str(error)) from error


Mirror = Annotated[
    str | None,
    typer.Option(
        envvar="MULTILOGGER_MIRROR",
        callback=_without_login,
        help="Folder or URL with LibSVM's layout. Default: LibSVM.",
    ),
]
SVMLIGHT = "Svmlight file, multi-label or multi-class."
Train = Annotated[Path | None, typer.Option(help=SVMLIGHT, rich_help_panel=OWN_FILES)]
Test = Annotated[Path | None, typer.Option(help=SVMLIGHT, rich_help_panel=OWN_FILES)]
Features = Annotated[
    list[str] | None,
    typer.Option(
        help="Number of features of svmlight files; of a log the columns, patterns will do. Repeatable.",
        rich_help_panel=OWN_FILES,
    ),
]
Labels = Annotated[
    int | None, typer.Option(help="Number of labels, of multi-label files.", rich_help_panel=OWN_FILES)
]
Classes = Annotated[
    int | None, typer.Option(help="Number of classes, of multi-class files.", rich_help_panel=OWN_FILES)
]
Actions = Annotated[
    str | None,
    typer.Option(
        help="labels: any number of labels in a row, counted from 0; one-of: one class, counted from 0 or 1. "
        "Default: one-of with --classes, else labels.",
        rich_help_panel=OWN_FILES,
    ),
]
METHODS_HELP = (
    "auto; naive, weighted, balanced, each also with -reg and -exact; wcrm; ls; ix; dr; "
    "for labels additive-ips, additive, additive-soft; for one-of actions dm; "
    "or a reference: full-information, logger-1, logger-2, ..., crf, best-logger-greedy."
)
Method = Annotated[str, typer.Option(help=METHODS_HELP)]
PRESETS_HELP = (
    "paper: the printed settings; printed-objective: the printed objective with our network and rates; "
    "tuned: ours, chosen on validation risk; auto: from the log."
)
Preset = Annotated[str, typer.Option(help=PRESETS_HELP)]
Presets = Annotated[
    list[str] | None,
    typer.Option("--preset", help=f"{PRESETS_HELP} Repeatable, to see them side by side. Default: tuned."),
]
Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="table2, one-of, figure1, figure2, figure3, choices, loggers, pairwise, constraint, all.",
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option("--dataset", help="Repeatable. Default: the target's own, the paper's where it has some."),
]
Methods = Annotated[
    list[str] | None,
    typer.Option("--method", help=f"{METHODS_HELP} Repeatable. Default: all of the target's."),
]
StudiedMethods = Annotated[
    list[str] | None,
    typer.Option("--method", help=f"{METHODS_HELP} Repeatable. Default: weighted, balanced, dr."),
]
Seeds = Annotated[int, typer.Option(min=1, max=MOST_SEEDS, help="Seeds 0 to N - 1.")]
Out = Annotated[Path, typer.Option(help="Folder for tables, figures and report.html.")]
Workers = Annotated[int, typer.Option(min=1, help="Cells to run at a time, one core each.")]
RunnerName = Annotated[
    str, typer.Option("--runner", help="process: processes of this machine; dask: a Dask cluster.")
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Of --runner dask: the scheduler, tcp://HOST:8786. Default: a cluster on this machine of "
        "--workers processes."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting, e.g. train-loggers.C=0.03. Repeatable."),
]


def own_files(
    train: Path | None,
    test: Path | None,
    features: list[str] | None,
    labels: int | None,
    classes: int | None,
    actions: str | None,
) -> dict[str, Any]:
    """The options for own files as settings of `download`."""
    if labels is not None and classes is not None:
        raise BadInput(
            "--labels is for files with any number of labels in a row, --classes for files with one class; "
            f"got --labels {labels} and --classes {classes}: leave one of them out"
        )
    if classes is not None and actions == "labels":
        raise BadInput("--classes is for --actions one-of, got --actions labels; give --labels instead")
    if labels is not None and actions == "one-of":
        raise BadInput("--labels is for --actions labels, got --actions one-of; give --classes instead")
    if features is not None and not (len(features) == 1 and features[0].isdecimal()):
        raise BadInput(f"--features is the number of features of svmlight files, got {', '.join(features)}")
    given = {
        "train_path": train,
        "test_path": test,
        "features": None if features is None else int(features[0]),
        "labels": labels if classes is None else classes,
        "actions": "one-of" if actions is None and classes is not None else actions,
    }
    return {
        f"download.{name}": str(value.absolute()) if isinstance(value, Path) else value
        for name, value in given.items()
        if value is not None
    }
