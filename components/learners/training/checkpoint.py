"""Checkpoints of a run: safetensors and JSON, never pickle, each with its checksum, the last two kept.

Whatever else stands where they go does not end a run: a folder in the place of a file is removed, a file in
the place of the folder set aside.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from multilogger.components.json_text import parsed_json
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


class Foreign(Exception):
    """A checkpoint is whole, but not one of this run; says whose it is."""


def save_checkpoint(folder: Path, epoch: int, state: State, facts: dict[str, object]) -> None:
    """Write a checkpoint; one that is cut off while writing leaves the last one whole.

    The arrays are on disk before the index names them, and the index before the folder shows it. The
    checkpoint before stays, to go on from if this one is damaged later.
    """
    from safetensors.torch import save

    _make_folder(folder)
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
    if index.is_file():
        _clear(folder / EARLIER)
        index.replace(folder / EARLIER)
    _replace(index, json.dumps({**content, "checksum": _checksum(content)}).encode())
    kept = {name, _named_arrays(folder / EARLIER)}
    for old in folder.glob("epoch-*.safetensors*"):
        if old.name not in kept:
            _clear(old, files=True)


def load_checkpoint(folder: Path, run: dict[str, object], say: Say) -> Checkpoint | None:
    """The newest checkpoint in a folder that can be gone on from, None if it holds none.

    What is damaged, of another layout or of another run is said, and the one before is taken. `run` is what
    must agree with the facts under `run`: method, seed, settings, size of the log.
    """
    odd = _in_the_way(folder)
    if odd is not None:
        say(f"{odd} is no folder, so it is set aside for the checkpoints of this run")
    unused = odd is not None
    for name in (INDEX, EARLIER):
        if not (folder / name).exists():
            continue
        try:
            found = _load(folder, name)
            _check_run(found, run)
            return found
        except Foreign as reason:
            say(f"the checkpoint {folder / name} is of {reason}, so it is not used")
        except (Damaged, OSError, RecursionError) as damage:
            said = damage.strerror if isinstance(damage, OSError) else damage
            say(f"the checkpoint {folder / name} is damaged ({said}), so it is not used")
        unused = True
    if unused:
        say("no checkpoint is left to go on from: learning starts anew")
    return None


def _load(folder: Path, name: str) -> Checkpoint:
    """One checkpoint of this layout."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        index = parsed_json((folder / name).read_bytes())
    except ValueError as error:
        raise Damaged("it is no JSON") from error
    if not isinstance(index, dict):
        raise Damaged("it is no index")
    written = index.pop("checksum", None)
    unsigned = written is None and index.get("layout") != LAYOUT  # as an earlier version left it
    if not unsigned and written != _checksum(index):
        raise Damaged("its text was altered")
    if index.get("layout") != LAYOUT:
        raise Foreign("another version of multilogger")  # whose learners keep their state in other places
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


def _check_run(found: Checkpoint, run: dict[str, object]) -> None:
    theirs, ours = json.loads(json.dumps(found.facts["run"])), json.loads(json.dumps(run))
    if theirs != ours:
        differing = sorted(name for name in ours.keys() | theirs.keys() if theirs.get(name) != ours.get(name))
        raise Foreign(f"another run, it differs in {', '.join(differing)}")


def _checksum(content: dict[str, object]) -> str:
    """sha256 of the content of an index, whatever the order of its names."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _named_arrays(index: Path) -> str | None:
    """The file that an index names, None if it cannot be read."""
    try:
        return str(parsed_json(index.read_bytes())["arrays"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _in_the_way(folder: Path) -> Path | None:
    """What is no folder and stands where the checkpoints go."""
    places = (folder.parent, folder)
    return next((p for p in places if not p.is_dir() and (p.exists() or p.is_symlink())), None)


def _make_folder(folder: Path) -> None:
    """Make a folder; what stands in its place is kept under another name."""
    if (odd := _in_the_way(folder)) is not None:
        aside = odd.with_name(f"{odd.name}.aside")
        _clear(aside)
        odd.replace(aside)
    folder.mkdir(parents=True, exist_ok=True)


def _clear(path: Path, files: bool = False) -> None:
    """Remove a folder that stands where a file goes, and with `files` a file as well."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif files:
        path.unlink()


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, and have it on disk."""
    draft = path.with_name(f"{path.name}.draft")
    for place in (draft, path):
        _clear(place)
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
