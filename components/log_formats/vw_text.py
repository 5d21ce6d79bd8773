"""One line of Vowpal Wabbit's text: a label of a contextual bandit, and features in namespaces."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from multilogger.components.errors import BadInput

LABEL = re.compile(r"([^:\s]+):([^:\s]+):([^:\s]+)")


@dataclass(frozen=True)
class Label:
    """What was taken, what it cost and how likely it was."""

    action: str
    cost: float
    probability: float


@dataclass(frozen=True)
class Line:
    """A line that is not empty: its label, its features as `(name, value)`, and their text.

    `shared` is whether it holds the features of the context of an event of `--cb_adf`.
    """

    where: str
    label: Label | None
    features: tuple[tuple[str, float], ...]
    text: str
    shared: bool


def read_line(line: str, where: str) -> Line:
    """A line of the file; `where` names file and line for messages."""
    head, bar, body = line.partition("|")
    if not bar:
        raise BadInput(
            f"{where}: a line is 'action:cost:probability | features', got no bar in {_short(line)}; mend it"
        )
    touching = bool(head) and not head[-1].isspace()
    words = head.split()
    shared = bool(words) and words[0] == "shared"
    words = words[1:] if shared else words
    # A word that touches the bar, or begins with ', is a tag; a label never touches it.
    if words and (words[-1].startswith("'") or (touching and not LABEL.fullmatch(words[-1]))):
        words = words[:-1]
    if shared and words and words != ["0:0:1"]:
        raise BadInput(f"{where}: a shared line has no label, got {_short(' '.join(words))}; take it out")
    features = tuple(_features(body, where))
    return Line(where, None if shared else _label(words, where), features, " ".join(body.split()), shared)


def _label(words: list[str], where: str) -> Label | None:
    if not words:
        return None
    found = LABEL.fullmatch(words[0])
    if found is None or len(words) > 1:
        raise BadInput(
            f"{where}: a label is 'action:cost:probability', once a line, got {_short(' '.join(words))}; "
            "keep the action that was taken, with its cost and probability"
        )
    cost, probability = _number(found[2], "cost", where), _number(found[3], "probability", where)
    if not 0 < probability <= 1:
        raise BadInput(
            f"{where}: the probability is {probability:g}, outside (0, 1]; give that with which the action "
            "was taken, or drop the line"
        )
    return Label(found[1], cost, probability)


def _features(body: str, where: str) -> Iterator[tuple[str, float]]:
    """`(name, value)` of every feature behind the first bar."""
    for part in body.split("|"):
        words = part.split()
        named = bool(part) and not part[0].isspace()
        space, scale = "", 1.0
        if named:
            space, colon, factor = words[0].partition(":")
            scale = _number(factor, f"factor of namespace {space}", where) if colon else 1.0
            words = words[1:]
        for word in words:
            name, colon, value = word.partition(":")
            full = f"{space}^{name}" if space else name
            number = _plain_number(value) if colon else 1.0
            if number is None:  # name:word
                yield f"{full}={value}", scale
            elif not math.isfinite(number):
                raise BadInput(f"{where}: feature {full} is {value}; fill it in or leave it out")
            else:
                yield full, number * scale


def _number(text: str, what: str, where: str) -> float:
    value = _plain_number(text)
    if value is None or not math.isfinite(value):
        raise BadInput(f"{where}: the {what} must be a number, got {text!r}; mend it")
    return value


def _plain_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _short(text: str) -> str:
    shown = " ".join(text.split())
    return repr(shown if len(shown) <= 40 else f"{shown[:37]}...")
