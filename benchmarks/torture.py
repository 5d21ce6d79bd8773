"""Ill-treat a store in every way we know, and see that the same table comes out.

    make torture                       # 50 kills, 8 writers, a full disk, every file and checkpoint damaged
    python benchmarks/torture.py --kills 5 --only kills --only damage

Each part runs real commands in real processes on stores below a temporary folder, and prints what it tried
and what broke. It ends with exit code 1 if anything did. What is promised is in docs/pages/operations.md.

- kills: `kill -9` at random moments of a reproduction, of the command alone or of all its processes. The
  same command again must end with the same bytes.
- writers: several of the same command at once on an empty store. All must end with the same bytes, and every
  stage must have been computed once.
- disk: a store on a file system that is full. The command must say so in one line with exit code 2, and go on
  to the same bytes once there is room.
- damage: one file of every kind in a finished store, emptied, cut, turned in one byte, replaced by noise, or
  deleted. The same command must end with the same bytes. A copy that MLflow has is read only if the result is
  away: where a copy is damaged, the results that it is of are deleted.
- checkpoints: learning is killed between two epochs, and what it left is damaged: the index, the arrays,
  both, the folder. The damage must be said in one line, and the same command must end with the same policy.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("multilogger"))
METHODS = ("logger-2", "weighted", "additive")
SETTINGS = ("learn.epochs=4", "checkpoint_every=1")
LONGEST = 400  # characters of a message
TABLE = "table2.csv"
AT_ONCE = 12  # files damaged before a command


@dataclass(frozen=True)
class First:
    """The store of the command that nothing befell, the bytes that all others must end with, and its time."""

    store: Path
    table: bytes
    seconds: float


class Torture:
    """A folder of stores, and what broke."""

    def __init__(self, folder: Path, seed: int, most_seconds: float) -> None:
        self.folder, self.rng, self.most_seconds = folder, random.Random(seed), most_seconds
        self.broken: list[str] = []
        self.stores = 0

    @cached_property
    def first(self) -> "First":
        """An untroubled run of the command."""
        store, started = self.new_store(), time.monotonic()
        table = self.table(store, self.finish(store, "the first run"))
        run = First(store, table, time.monotonic() - started)
        say(f"an untroubled run takes {run.seconds:.0f} s")
        return run

    def new_store(self) -> Path:
        self.stores += 1
        store = self.folder / f"store-{self.stores}"
        store.mkdir()
        return store

    def start(self, store: Path, words: Sequence[str] = ()) -> subprocess.Popen[str]:
        """The command, or another, in a session of its own."""
        named = [part for method in METHODS for part in ("--method", method)]
        changed = [part for one in SETTINGS for part in ("--set", one)]
        usual = ["reproduce", "table2", "--dataset", "digits", "--seeds", "2", *named, *changed,
                 "--out", str(store / "out")]  # fmt: skip
        return subprocess.Popen(
            [COMMAND, *(words or usual)],
            env={**os.environ, "MULTILOGGER_HOME": str(store)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def finish(self, store: Path, what: str, words: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Run the command, or another, to its end."""
        process = self.start(store, words)
        try:
            out, err = process.communicate(timeout=self.most_seconds)
        except subprocess.TimeoutExpired:
            kill_group(process)
            out, err = process.communicate()
            self.note(what, f"hangs after {self.most_seconds:.0f} s")
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def table(self, store: Path, done: subprocess.CompletedProcess[str]) -> bytes:
        if done.returncode != 0:
            raise SystemExit(f"the command failed before it was ill-treated:\n{done.stdout}{done.stderr}")
        return (store / "out" / TABLE).read_bytes()

    def expect_table(self, store: Path, what: str) -> str:
        """The same command must end well, with the same bytes; what it said."""
        shutil.rmtree(store / "out", ignore_errors=True)
        done = self.finish(store, what)
        self.expect_same(store, done, what)
        return str(done.stderr)

    def expect_same(self, store: Path, done: subprocess.CompletedProcess[str], what: str) -> None:
        if done.returncode != 0:
            self.note(what, f"exit {done.returncode}: {done.stderr.strip()[-LONGEST:]}")
        elif "Traceback" in done.stderr:
            self.note(what, "a traceback")
        elif (store / "out" / TABLE).read_bytes() != self.first.table:
            self.note(what, "another table")

    def note(self, what: str, fault: str) -> None:
        self.broken.append(f"{what}: {fault}")
        say(f"  BROKE {what}: {fault}")


def kill_group(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def kills(torture: Torture, count: int) -> str:
    """Kill and start again until a store is finished, then begin with an empty one."""
    done, finished = 0, 0
    while done < count:
        store, of_store = torture.new_store(), 0
        while done < count:
            process = torture.start(store)
            try:
                process.communicate(timeout=torture.rng.uniform(0.2, torture.first.seconds))
                break  # it was faster
            except subprocess.TimeoutExpired:
                done, of_store = done + 1, of_store + 1
                whole = torture.rng.random() < 0.5
                kill_group(process) if whole else process.kill()
                process.wait()
                say(f"  kill {done} of {count}: {'all processes' if whole else 'the command'}")
        torture.expect_table(store, f"store {store.name} after {of_store} kills")
        finished += 1
        shutil.rmtree(store)
    return f"{done} kills, {finished} stores finished after them"


def writers(torture: Torture, count: int) -> str:
    """The same command several times at once."""
    store = torture.new_store()
    running = [torture.start(store) for _ in range(count)]
    for number, process in enumerate(running):
        out, err = process.communicate(timeout=count * torture.most_seconds)
        done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
        torture.expect_same(store, done, f"writer {number + 1} of {count}")
    folders = [path for path in (store / "artifacts").glob("*/*") if not path.name.startswith(".")]
    computed = computed_runs(store)
    if computed != len(folders):
        torture.note("writers", f"{computed} runs made {len(folders)} results")
    return f"{count} writers at once, {len(folders)} results, {computed} computed"


def computed_runs(store: Path) -> int:
    """Finished stage runs in MLflow: one per result if each was computed once."""
    import sqlite3

    with sqlite3.connect(f"file:{store / 'mlflow.db'}?mode=ro", uri=True) as database:
        found = database.execute(
            "select count(*) from runs r join tags t on t.run_uuid = r.run_uuid "
            "where t.key = 'stage' and r.status = 'FINISHED'"
        ).fetchone()
    return int(found[0])


def disk(torture: Torture, sizes: int) -> str:
    """A file system that has room for a part of the store only."""
    needed = sum(path.stat().st_size for path in torture.first.store.rglob("*") if path.is_file())
    refused = 0
    for number in range(sizes):
        store = torture.new_store()
        room = int(needed * (number + 1) / (sizes + 1))
        with small_disk(store, room) as grow:
            if grow is None:
                return "not tried: a small file system needs the right to mount one"
            done = torture.finish(store, f"disk of {room >> 20} MB")
            lines = done.stderr.strip().splitlines()
            if done.returncode == 0:
                pass  # there was room after all
            elif done.returncode not in (2, 3) or "Traceback" in done.stderr:
                torture.note(f"disk of {room >> 20} MB", f"exit {done.returncode}: {done.stderr[-LONGEST:]}")
            elif not lines or max(map(len, lines)) > LONGEST:
                longest = max(lines, key=len, default="nothing")[:LONGEST]
                torture.note(f"disk of {room >> 20} MB", f"no short line said why: {longest}")
            else:
                refused += 1
                say(f"  disk of {room >> 20} MB: {lines[-1]}")
            grow()
            torture.expect_table(store, f"disk of {room >> 20} MB, then room")
    return f"{sizes} full disks, {refused} said so, all went on once there was room"


@contextmanager
def small_disk(store: Path, room: int) -> Iterator[Callable[[], object] | None]:
    """Mount a file system of `room` bytes at a store; what is given makes it large."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={room}", "torture", str(store)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        yield None
        return
    larger = ["mount", "-o", "remount,size=8G", str(store)]
    try:
        yield lambda: subprocess.run(larger, check=True)
    finally:
        time.sleep(1.0)  # servers that were left write no more
        subprocess.run(["umount", "-l", str(store)], check=False)


def emptied(_content: bytes, _rng: random.Random) -> bytes:
    return b""


def deleted(_content: bytes, _rng: random.Random) -> None:
    return None


def turned(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content)) if content else 0
    return content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :] if content else b"\x55"


WAYS: dict[str, Callable[[bytes, random.Random], bytes | None]] = {
    "emptied": emptied,
    "cut": lambda content, rng: content[: rng.randrange(max(1, len(content)))],
    "turned": turned,
    "noise": lambda content, rng: rng.randbytes(max(1, len(content))),
    "deleted": deleted,
}
# Databases are trusted: what SQLite refuses is said, and a store without them begins a new one.
DATABASES = ("mlflow.db", "prefect")


def kinds(store: Path) -> dict[str, list[Path]]:
    """The files of a store by kind: the folder that they stand in, and their name or suffix."""
    found: dict[str, list[Path]] = {}
    for path in sorted(path for path in store.rglob("*") if path.is_file()):
        parts = path.relative_to(store).parts
        if parts[0] in DATABASES or parts[0] in ("out", "locks") or parts[0].startswith("mlflow.db"):
            continue
        place = f"{parts[0]}/{parts[1]}" if parts[0] == "artifacts" else parts[0]
        name = path.name if parts[0] in ("artifacts", "mlflow-artifacts") else path.suffix or "record"
        found.setdefault(f"{place}/{name}", []).append(path)
    return found


def damage(torture: Torture, most: int, of: str = "") -> str:
    """One file of each kind, in each way, several files at once; the store mends itself before the next."""
    store, whole = torture.first.store, torture.folder / "whole"
    shutil.copytree(store, whole, symlinks=True)
    jobs = [(kind, way) for kind in kinds(store) if kind.startswith(of) for way in WAYS]
    torture.rng.shuffle(jobs)
    jobs = jobs[:most] if most else jobs
    asked, ends = len(jobs), dict.fromkeys(ENDS, 0)
    while jobs:
        hurt, jobs = hurt_some(torture, jobs)
        if not hurt:
            torture.note("damage", f"no file left of {', '.join(sorted({kind for kind, _ in jobs}))}")
            break
        before = len(torture.broken)
        said = torture.expect_table(store, "; ".join(one.what for one in hurt))
        for one in hurt:
            ends[one.end(said)] += 1
            say(f"  {one.what}: {one.end(said)}")
        say(f"  damage {sum(ends.values())} of {asked}")
        if len(torture.broken) > before:  # what broke must not break the next ones too
            shutil.rmtree(store)
            shutil.copytree(whole, store, symlinks=True)
    counted = ", ".join(f"{number} {end}" for end, number in ends.items())
    return f"{sum(ends.values())} damages, {AT_ONCE} at once, of {asked}: {counted}"


ENDS = ("the same again", "made anew", "refused", "away", "not looked at")
COPIES = "mlflow-artifacts"


@dataclass(frozen=True)
class Hurt:
    """A damaged file: what was done to it, what it held before and after."""

    what: str
    path: Path
    before: bytes
    after: bytes | None

    def end(self, said: str) -> str:
        """What a command made of it; it says which copies it refuses, and reads none of what it showed."""
        now = self.path.read_bytes() if self.path.exists() else None
        if now == self.before:
            return "the same again"
        if any(f"copy in run {part} is refused" in said for part in self.path.parts):
            return "refused"
        if now == self.after:
            return "not looked at"
        return "away" if now is None else "made anew"


def hurt_some(torture: Torture, jobs: list[tuple[str, str]]) -> tuple[list[Hurt], list[tuple[str, str]]]:
    """Damage up to AT_ONCE files, no file twice; also what is left to do."""
    hurt: list[Hurt] = []
    left = list(jobs)
    files = kinds(torture.first.store)
    for job in jobs:
        kind, way = job
        taken = {one.path for one in hurt}
        paths = [path for path in files.get(kind, []) if path not in taken and path.exists()]
        if len(hurt) == AT_ONCE or not paths:
            continue
        path = torture.rng.choice(paths)
        before = path.read_bytes()
        after = WAYS[way](before, torture.rng)
        path.unlink()  # a file that has a second name by a link keeps it whole
        if after is not None:
            path.write_bytes(after)
        if kind.startswith(COPIES):
            delete_results(torture.first.store, path.name, before)
        hurt.append(Hurt(f"{kind}, {way}", path, before, after))
        left.remove(job)
    return hurt, left


def delete_results(store: Path, name: str, content: bytes) -> None:
    """Delete the results that have a file of this name and content: a command then asks for MLflow's copy."""
    results = store / "artifacts"
    for path in list(results.rglob(name)):
        if path.is_file() and path.read_bytes() == content:
            stage, key, *_ = path.relative_to(results).parts
            shutil.rmtree(results / stage / key)


LEARN = ("learn", "--dataset", "digits", "--method", "weighted",
         "--set", "learn.epochs=200", "--set", "checkpoint_every=1")  # fmt: skip
INDEX, EARLIER, ARRAYS = "checkpoint.json", "checkpoint-before.json", "epoch-*.safetensors"


def checkpoints(torture: Torture, most: int) -> str:
    """Damage what a killed learning left, in every way, and let it go on."""
    unbroken = torture.new_store()
    done = torture.finish(unbroken, "learning without a kill", LEARN)
    if done.returncode != 0:
        raise SystemExit(f"the command failed before it was ill-treated:\n{done.stderr}")
    expected = policy_files(unbroken)
    killed, other = killed_learning(torture, "0"), killed_learning(torture, "1")
    ways = list(damages_of_checkpoints(torture.rng, other))
    ways = ways[:most] if most else ways
    went_on = anew = 0
    for what, harm in ways:
        store = torture.new_store()
        shutil.copytree(killed, store, symlinks=True, dirs_exist_ok=True)
        harm(checkpoint_folder(store))
        done = torture.finish(store, what, LEARN)
        said = [line for line in done.stderr.splitlines() if "checkpoint" in line]
        on = any("goes on from its checkpoint" in line for line in said)
        went_on, anew = went_on + on, anew + (not on)
        if done.returncode != 0 or "Traceback" in done.stderr:
            torture.note(what, f"exit {done.returncode}: {done.stderr.strip()[-LONGEST:]}")
        elif policy_files(store) != expected:
            torture.note(what, "another policy")
        elif not any(line for line in said if "goes on" not in line):
            torture.note(what, "nothing was said of it")
        elif max(map(len, said)) > LONGEST + len(str(store)):
            torture.note(what, "a long line")
        say(f"  {what}: {'goes on' if on else 'anew'}")
        shutil.rmtree(store)
    return f"{len(ways)} damages, {went_on} went on from the checkpoint before, {anew} began anew"


def killed_learning(torture: Torture, seed: str) -> Path:
    """A store in which learning was killed after a few checkpoints, of which the last two are kept."""
    store = torture.new_store()
    process = torture.start(store, [*LEARN, "--seed", seed])
    while not list(store.glob("checkpoints/*/epoch-??.safetensors")):
        if process.poll() is not None:
            raise SystemExit("learning was over before it was killed")
        time.sleep(0.01)
    kill_group(process)
    process.communicate()
    if list(store.glob(f"checkpoints/*/{INDEX}")):
        return store
    return killed_learning(torture, seed)  # it was killed while it wrote the index


def checkpoint_folder(store: Path) -> Path:
    """The only one."""
    (found,) = (store / "checkpoints").iterdir()
    return found


def policy_files(store: Path) -> dict[str, str]:
    """The hashes of what was learned and of what was measured of it."""
    found = [path for stage in ("learn", "evaluate") for path in (store / "artifacts" / stage).rglob("*.*")]
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
        if path.is_file() and path.name != "manifest.json"
    }


Harm = Callable[[Path], object]  # to a file, or to a folder of checkpoints


def damages_of_checkpoints(rng: random.Random, other: Path) -> Iterator[tuple[str, Harm]]:
    """What is done to a folder of two checkpoints; `other` is a store of another run's."""
    ways: dict[str, Harm] = {way: partial(rewrite, change, rng) for way, change in WAYS.items()}
    ways |= {"a folder in its place": in_place_of, "four brackets": partial(rewrite, brackets, rng)}
    for way, harm in ways.items():
        yield f"arrays, {way}", partial(harm_newest, harm)
        yield f"all arrays, {way}", partial(harm_all, harm, ARRAYS)
        if way != "deleted":  # without the newest index the one before is the newest, as after a kill
            yield f"index, {way}", partial(harm_all, harm, INDEX)
            yield f"both indexes, {way}", partial(harm_all, harm, "checkpoint*.json")
    yield "another version", partial(harm_all, other_version, "checkpoint*.json")
    yield "arrays of another run", partial(arrays_from, checkpoint_folder(other))
    yield "all of another run", partial(replaced_by, checkpoint_folder(other))
    yield "a file in place of the folder", partial(replaced_by, None)


def harm_all(harm: Harm, pattern: str, folder: Path) -> None:
    for path in sorted(folder.glob(pattern)):
        harm(path)


def harm_newest(harm: Harm, folder: Path) -> None:
    harm(newest_arrays(folder))


def rewrite(change: Callable[[bytes, random.Random], bytes | None], rng: random.Random, path: Path) -> None:
    after = change(path.read_bytes(), rng)
    path.unlink()
    if after is not None:
        path.write_bytes(after)


def brackets(_content: bytes, _rng: random.Random) -> bytes:
    return b"[[]]"


def in_place_of(path: Path) -> None:
    path.unlink()
    path.mkdir()


def arrays_from(theirs: Path, folder: Path) -> None:
    shutil.copyfile(newest_arrays(theirs), newest_arrays(folder))


def replaced_by(theirs: Path | None, folder: Path) -> None:
    """Another run's folder, or a file where a folder stood."""
    shutil.rmtree(folder)
    if theirs is None:
        folder.write_text("x")
    else:
        shutil.copytree(theirs, folder)


def newest_arrays(folder: Path) -> Path:
    return folder / str(json.loads((folder / INDEX).read_text())["arrays"])


def other_version(index: Path) -> None:
    """As an earlier version of this package left it."""
    content = json.loads(index.read_text())
    content.pop("checksum")
    index.write_text(json.dumps(content | {"layout": content["layout"] - 1}))


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    about, _, more = str(__doc__).partition("\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50, help="how many times a command is killed")
    parser.add_argument("--writers", type=int, default=8, help="how many commands at once")
    parser.add_argument("--disks", type=int, default=4, help="how many sizes of a full disk")
    parser.add_argument("--damages", type=int, default=0, help="how many damages at most; 0: all")
    parser.add_argument("--checkpoints", type=int, default=0, help="how many damages of checkpoints; 0: all")
    parser.add_argument("--of", default="", help="damage files below this folder of the store alone")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds after which a command hangs")
    parser.add_argument("--seed", type=int, default=0, help="of the moments and places")
    parts: dict[str, Callable[[Torture, int], str]] = {
        "kills": kills,
        "writers": writers,
        "disk": disk,
        "damage": lambda torture, most: damage(torture, most, given.of),
        "checkpoints": checkpoints,
    }
    parser.add_argument("--only", action="append", choices=list(parts), help="one part; may be repeated")
    given = parser.parse_args()
    counts = {
        "kills": given.kills,
        "writers": given.writers,
        "disk": given.disks,
        "damage": given.damages,
        "checkpoints": given.checkpoints,
    }
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    try:
        torture = Torture(folder, given.seed, given.patience)
        for name in given.only or list(parts):
            before = len(torture.broken)
            counted = parts[name](torture, counts[name])
            say(f"{name}: {counted}; {len(torture.broken) - before} failures")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say(f"{len(torture.broken)} failures in all")
    return 1 if torture.broken else 0


if __name__ == "__main__":
    sys.exit(main())
