"""The one place that says what a thing may be called.

Names of datasets and of logs become folders, experiments and models; names of loggers stand in tables.
"""

import re

from multilogger.components.errors import BadInput

LONGEST = 60  # a folder's name has at most 255 bytes, and a letter up to 4
LONGEST_LABEL = 1000
MARKS = "-_. "
RULE = (
    f"letters, digits, spaces, '-', '_' and '.', at most {LONGEST} of them, a letter or digit first and last"
)
NOT_IN_METRICS = re.compile(r"[^\w .:-]", re.ASCII)  # of MLflow's metrics
MOST_OF_A_METRIC = 200


def check_name(kind: str, name: str) -> str:
    """A name that may become a folder, below the one that it is meant for."""
    good = name.replace(" ", "") and all(letter.isalnum() or letter in MARKS for letter in name)
    if not (good and len(name) <= LONGEST and name[0].isalnum() and name[-1].isalnum()):
        raise BadInput(f"the name of a {kind} has {RULE}; got {_shown(name)}")
    return name


def name_from(text: str, otherwise: str) -> str:
    """A name made of what a file or a folder is called."""
    plain = "".join(letter if letter.isalnum() or letter in MARKS else "-" for letter in text)
    return plain.strip(MARKS)[:LONGEST].strip(MARKS) or otherwise


def check_label(kind: str, label: str) -> None:
    """A name that is shown and nothing else: it fits a line."""
    if not label or len(label) > LONGEST_LABEL or not label.isprintable():
        raise BadInput(
            f"the name of a {kind} is 1 to {LONGEST_LABEL} printable characters; got {_shown(label)}"
        )


def logger_name(logger: int) -> str:
    """What a logger is called that has no name: the paper counts from 1, the column `logger` from 0."""
    return f"logger-{logger + 1}"


def metric_part(name: str, number: int) -> str:
    """A name as part of the name of a metric, told apart by its number where it cannot be kept.

    MLflow takes letters, digits and few signs, and no part that leads to another folder.
    """
    fine = NOT_IN_METRICS.sub("_", name)[:MOST_OF_A_METRIC]
    return name if fine == name and fine.strip(".") else f"{fine}_{number}"


def name_loggers(text: str, loggers: tuple[str, ...]) -> str:
    """What a learner says of `logger-1`, `logger-2`, ... by the names of a person's own log."""
    said = [name if name.startswith("logger") else f"logger {name}" for name in loggers]
    names = {logger_name(j): name for j, name in enumerate(said)}
    return re.sub(r"\blogger-\d+", lambda found: names.get(found[0], found[0]), text)


def _shown(name: str) -> str:
    return repr(name) if len(name) <= LONGEST else f"{name[:LONGEST]!r} and {len(name) - LONGEST} more"
