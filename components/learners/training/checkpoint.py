"""Checkpoints of a run: safetensors and JSON, never pickle, each with its checksum, the last two kept."""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from multilogger.components.errors import BadInput
from multilogger.components.learners.training.state import State

INDEX = "checkpoint.json"
EARLIER = "checkpoint-before.json"
LAYOUT = 4  # where learners keep what; a checkpoint of another one is not gone on from

Say = Callable[[str], None]


@dataclass(frozen=True)
class Checkpoint:
    """What `save_checkpoint` wrote."""

    epoch: int
    state: State
    facts: dict[str, object]


class Damaged(Exception):
    """A checkpoint is not what was written."""


def save_checkpoint(folder: Path, epoch: int, state: State, facts: dict[str, object]) -> None:
    """Write a checkpoint; one that is cut off while writing leaves the last one whole.

    The arrays are on disk before the index names them, and the index before the folder shows it. The
    checkpoint before stays, to go on from if this one is damaged later.
    """
    from safetensors.torch import save

    folder.mkdir(parents=True, exist_ok=True)
    arrays = save({name: value.contiguous() for name, value in state.tensors.items()})
    name = f"epoch-{epoch}.safetensors"
    _replace(folder / name, arrays)
    content = {
        "layout": LAYOUT,
        "epoch": epoch,
        "arrays": name,
        "sha256": hashlib.sha256(arrays).hexdigest(),
        "numbers": state.numbers,
        "facts": facts,
    }
    index = folder / INDEX
    if index.exists():
        index.replace(folder / EARLIER)
    _replace(index, json.dumps({**content, "checksum": _checksum(content)}).encode())
    kept = {name, _named_arrays(folder / EARLIER)}
    for old in folder.glob("epoch-*.safetensors*"):
        if old.name not in kept:
            old.unlink()


def load_checkpoint(folder: Path, run: dict[str, object], say: Say) -> Checkpoint | None:
    """The newest whole checkpoint in a folder, None if it holds none of this layout.

    Damage is said, and the one before is taken. `run` is what must agree with the facts under `run`: method,
    seed, settings, size of the log; a checkpoint of another run is refused.
    """
    damaged = False
    for name in (INDEX, EARLIER):
        if not (folder / name).exists():
            continue
        try:
            found = _load(folder, name)
        except (Damaged, OSError) as damage:
            say(f"the checkpoint {folder / name} is damaged ({damage}), so it is not used")
            damaged = True
            continue
        if found is not None:
            _check_run(found, run, folder)
        return found
    if damaged:
        say("no whole checkpoint is left: learning starts anew")
    return None


def _load(folder: Path, name: str) -> Checkpoint | None:
    """One checkpoint, None if it is of another layout."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        index = json.loads((folder / name).read_bytes())
    except ValueError as error:
        raise Damaged("it is no JSON") from error
    if not isinstance(index, dict):
        raise Damaged("it is no index")
    written = index.pop("checksum", None)
    unsigned = written is None and index.get("layout") != LAYOUT  # as an earlier version left it
    if not unsigned and written != _checksum(index):
        raise Damaged("its text was altered")
    if index.get("layout") != LAYOUT:
        return None  # of another version, whose learners keep their state in other places
    path = folder / Path(index["arrays"]).name
    try:
        arrays = path.read_bytes()
    except FileNotFoundError as error:
        raise Damaged(f"{path.name} is missing") from error
    if hashlib.sha256(arrays).hexdigest() != index["sha256"]:
        raise Damaged(f"{path.name} was altered")
    try:
        state = State(load(arrays), index["numbers"])
    except SafetensorError as error:
        raise Damaged(f"{path.name} cannot be read") from error
    return Checkpoint(index["epoch"], state, index["facts"])


def _check_run(found: Checkpoint, run: dict[str, object], folder: Path) -> None:
    theirs, ours = json.loads(json.dumps(found.facts["run"])), json.loads(json.dumps(run))
    if theirs != ours:
        differing = sorted(name for name in ours.keys() | theirs.keys() if theirs.get(name) != ours.get(name))
        raise BadInput(
            f"the checkpoint in {folder} is of another run, it differs in {', '.join(differing)}; "
            "give an empty folder, or the settings that it was made with"
        )


def _checksum(content: dict[str, object]) -> str:
    """sha256 of the content of an index, whatever the order of its names."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _named_arrays(index: Path) -> str | None:
    """The file that an index names, None if it cannot be read."""
    try:
        return str(json.loads(index.read_bytes())["arrays"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, and have it on disk."""
    draft = path.with_name(f"{path.name}.draft")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
