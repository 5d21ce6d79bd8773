"""Odd inputs by the hundred at every door; thousands with `make fuzz`."""

import bz2
import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import multilogger as ml
from multilogger.components.datasets.registry import DatasetSpec
from multilogger.components.datasets.svmlight import read_svmlight
from multilogger.components.errors import BadInput
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.training.checkpoint import load_checkpoint, save_checkpoint
from multilogger.components.learners.training.settings import settings_about
from multilogger.components.learners.training.state import State
from multilogger.components.policies.policy import load_policy
from multilogger.flows.evaluation.evaluate import EvaluateOptions, evaluate_on_logs
from multilogger.flows.pipelines.settings import parse_assignments, pipeline_settings
from multilogger.tasks.engine.artifact import Artifact, DamagedArtifact, manifest_of, publish, sha256_of
from multilogger.tasks.registry import STAGES
from tests.fuzz.columns import odd_column
from tests.fuzz.doors import CASES, ODD, damaged, knock, odd

ROWS = 60
PREPARE = ("download", "reduce", "train-loggers", "replay", "learn")


def columns() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "logger": ["ab"[i % 2] for i in range(ROWS)],
        "action": rng.integers(0, 4, ROWS).tolist(),
        "loss": (rng.random(ROWS) < 0.5).astype(float).tolist(),
        "propensity": [0.25] * ROWS,
        "x": rng.normal(size=(ROWS, 3)).tolist(),
        "context": list(range(ROWS)),
    }


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "policy"
    log = ml.BanditLog.from_arrow(pa.table(columns()), actions=range(4))
    ml.Naive(epochs=1, hidden=(4,), seed=0).fit(log).save(folder)
    return folder


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
@pytest.mark.parametrize("actions", ["labels", "one-of"])
def test_svmlight(tmp_path: Path, suffix: str, actions: str) -> None:
    spec = DatasetSpec("own", 5, 3, actions=actions)
    path = tmp_path / f"rows{suffix}"
    packers: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}
    packed = packers[suffix]

    def svmlight(rng: np.random.Generator) -> None:
        text = b"".join(b"%d 1:0.5 %d:%f\n" % (i % 3, 2 + i % 4, i / 7) for i in range(9))
        content = packed(damaged(text, rng)) if rng.random() < 0.7 else damaged(packed(text), rng)
        path.write_bytes(content)
        data = read_svmlight(path, spec, None)
        assert np.isfinite(np.asarray(data.x.sum())).all()

    knock(svmlight)


def test_parquet_log(policy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    options = EvaluateOptions(str(policy), folder, tmp_path / "out", bootstrap=100, track=False)

    def parquet_log(rng: np.random.Generator) -> None:
        known = columns()
        name = [*known, "propensities", "validation"][rng.integers(0, len(known) + 2)]
        pq.write_table(pa.table({**known, name: odd_column(ROWS, rng)}), folder / "rows.parquet")
        if rng.random() < 0.2:
            content = (folder / "rows.parquet").read_bytes()
            (folder / "rows.parquet").write_bytes(damaged(content, rng))
        evaluate_on_logs(options)

    knock(parquet_log)


def test_policy_folder(policy: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(policy, tmp_path / "policy")
    names = ("policy.json", "policy.safetensors")
    contents = {name: (policy / name).read_bytes() for name in names}
    facts = json.loads(contents["policy.json"])

    def policy_folder(rng: np.random.Generator) -> None:
        changed = dict(contents)
        if rng.random() < 0.5:
            name = names[rng.integers(0, 2)]
            changed[name] = damaged(contents[name], rng)
        else:
            key = list(facts)[rng.integers(0, len(facts))]
            changed["policy.json"] = json.dumps({**facts, key: odd(rng)}, default=str).encode()
        for name in names:
            (folder / name).write_bytes(changed[name])
        load_policy(folder)

    knock(policy_folder, 3 * CASES)


def test_settings_of_methods() -> None:
    names = [(method, name) for method in METHODS for name in settings_about(METHODS[method].settings)]

    def settings_of_methods(rng: np.random.Generator) -> None:
        method, name = names[rng.integers(0, len(names))]
        METHODS[method].settings(**{name: odd(rng)})

    knock(settings_of_methods, 10 * CASES)


def test_settings_of_stages() -> None:
    names = [f"{stage}.{name}" for stage in PREPARE for name in STAGES[stage].settings_type.described()]

    def settings_of_stages(rng: np.random.Generator) -> None:
        pipeline_settings(PREPARE, "digits", 0, None, {names[rng.integers(0, len(names))]: odd(rng)})

    knock(settings_of_stages, 5 * CASES)


def test_settings_as_they_are_typed() -> None:
    names = [f"{stage}.{name}" for stage in PREPARE for name in STAGES[stage].settings_type.described()]
    texts = [str(value) for value in ODD] + ["1e999", "-", "[", '{"a"', "1" * 5000, "=", "0x10", "1_0"]

    def typed(rng: np.random.Generator) -> None:
        text = f"{names[rng.integers(0, len(names))]}={texts[rng.integers(0, len(texts))]}"
        if rng.random() < 0.1:
            text = damaged(text.encode(), rng).decode(errors="replace")
        pipeline_settings(PREPARE, "digits", 0, None, parse_assignments([text]))

    knock(typed, 5 * CASES)


def test_checkpoint(tmp_path: Path) -> None:
    """A damaged file is told in one line each, and what comes back is a state that was saved."""
    whole = tmp_path / "whole"
    saved = [State({"w": torch.arange(20.0) + epoch}, {"seen": float(epoch)}) for epoch in (1, 2)]
    for epoch, state in enumerate(saved, 1):
        save_checkpoint(whole, epoch, state, {"run": {"method": "m"}})
    contents = {path.name: path.read_bytes() for path in whole.iterdir()}
    folder = shutil.copytree(whole, tmp_path / "damaged")

    def checkpoint(rng: np.random.Generator) -> None:
        said: list[str] = []
        hurt = [name for name in contents if rng.random() < 0.4]
        shutil.rmtree(folder, ignore_errors=True)
        if whole_lost := bool(rng.random() < 0.1):
            folder.unlink(missing_ok=True)
            folder.write_text("a file")
        else:
            folder.unlink(missing_ok=True)
            folder.mkdir()
        for name, content in contents.items() if not whole_lost else ():
            changed = damaged(content, rng) if name in hurt else content
            kind = rng.random()
            if name not in hurt or kind < 0.6:
                (folder / name).write_bytes(changed)
            elif kind < 0.7:
                (folder / name).write_bytes(b"[" * 200_000)
            elif kind < 0.8:
                (folder / name / "deeper").mkdir(parents=True)
        found = load_checkpoint(folder, {"method": "m"}, said.append)
        if found is not None:
            assert torch.equal(found.state.tensors["w"], saved[found.epoch - 1].tensors["w"])
            assert found.state.numbers == {"seen": float(found.epoch)}
        for epoch in (1, 2):  # whatever was there, learning goes on
            save_checkpoint(folder, epoch, saved[epoch - 1], {"run": {"method": "m"}})
        again = load_checkpoint(folder, {"method": "m"}, said.append)
        assert again is not None
        assert again.epoch == 2
        if said:
            raise BadInput(max(said, key=len).replace(str(folder), "FOLDER"))

    knock(checkpoint, 5 * CASES)


def test_artifact_of_the_store(tmp_path: Path) -> None:
    """No damage to any file goes unnoticed."""
    draft = tmp_path / ".draft"
    draft.mkdir()
    (draft / "a.json").write_text('{"a": 1}')
    (draft / "b.bin").write_bytes(bytes(range(200)))
    files = manifest_of(draft)
    entries = {name: entry.model_dump() for name, entry in files.items()}
    (draft / "manifest.json").write_text(json.dumps({"stage": "s", "key": "k", "files": entries}))
    final = tmp_path / "k"
    publish(draft, final)
    whole = {path.name: path.read_bytes() for path in final.iterdir()}
    own = {
        "stage": "s",
        "key": "k",
        "path": "k",
        "run_id": "r",
        "manifest": sha256_of(final / "manifest.json"),
    }
    artifact = Artifact(files=files, root=tmp_path, **own)

    def store(rng: np.random.Generator) -> None:
        name = list(whole)[rng.integers(0, len(whole))]
        content = damaged(whole[name], rng)
        (final / name).write_bytes(content)
        try:
            artifact.verify()
        except DamagedArtifact as damage:
            raise BadInput(str(damage)) from damage
        finally:
            (final / name).write_bytes(whole[name])
        assert content == whole[name]

    knock(store, 5 * CASES)
    artifact.verify()
