"""`multilogger evaluate` of policies that choose one of K actions: a replay of a store, and own files."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import torch

from multilogger.components.actions.one_of import OneOf
from multilogger.components.datasets.labelled_data import LabelledData, load_split, save_split
from multilogger.components.datasets.losses import ZERO_ONE
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.loss_models import pair_networks
from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import PolicyNetwork
from multilogger.components.policies.policy import LearnedPolicy, Standardisation
from multilogger.flows.evaluation.command import keep
from multilogger.flows.evaluation.evaluate import Evaluated, EvaluateOptions, chosen_model, evaluate_on_logs
from multilogger.tasks.dataset_files import DatasetFacts
from multilogger.tasks.engine.artifact import MANIFEST, Artifact, manifest_of
from multilogger.tasks.engine.stage import Stage, StageSettings
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.replay import ReplaySettings, replay
from multilogger.tasks.train_loggers import TrainLoggersSettings, train_loggers

NAMES = ("red", "green", "blue", "40")
FEATURES, CONTEXTS = 4, 300
SPACE = OneOf(len(NAMES))


def kept(folder: Path, stage: str, **inputs: Artifact) -> Artifact:
    """The artifact in a folder of a store, with its manifest."""
    files, key, root = manifest_of(folder), folder.name, folder.parents[2]
    manifest = {
        "stage": stage,
        "key": key,
        "files": {name: entry.model_dump() for name, entry in files.items()},
        "inputs": {name: {"stage": one.stage, "key": one.key} for name, one in inputs.items()},
    }
    (folder / MANIFEST).write_text(json.dumps(manifest))
    path = folder.relative_to(root).as_posix()
    return Artifact(stage=stage, key=key, path=path, files=files, run_id="r", root=root)


def ran(root: Path, stage: Stage, settings: StageSettings, **inputs: Artifact) -> Artifact:
    folder = root / "artifacts" / stage.name / f"{stage.name}-key"
    folder.mkdir(parents=True)
    stage.call(settings, inputs, StageRun(folder))
    return kept(folder, stage.name, **inputs)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, loggers, their replay and a linear policy."""
    root = tmp_path_factory.mktemp("one-of")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(CONTEXTS, FEATURES)).astype(np.float32)
    y = (x + 0.3 * rng.normal(size=x.shape)).argmax(axis=1)
    data = root / "artifacts" / "reduce" / "data-key"
    data.mkdir(parents=True)
    for split in ("train", "test"):
        save_split(data / f"{split}.safetensors", LabelledData(x, y, SPACE))
    facts = DatasetFacts(
        name="colours", features=FEATURES, labels=len(NAMES), n_train=CONTEXTS, n_test=CONTEXTS, sparse=False,
        labels_per_row=1.0, rows_without_label=0, loss=ZERO_ONE.name,
    )  # fmt: skip
    (data / "dataset.json").write_text(facts.model_dump_json())
    dataset = kept(data, "reduce")
    settings = TrainLoggersSettings(alphas=(0.3, 1.5), fraction=0.5, C=1.0)
    loggers = ran(root, train_loggers, settings, data=dataset)
    ran(root, replay, ReplaySettings(passes=(3,)), data=dataset, loggers=loggers)
    save_linear(root / "policy", SPACE)
    return root


def save_linear(folder: Path, space: OneOf) -> None:
    """A policy whose logits are twice the features."""
    size = NetworkSize((), batch_norm=False)
    network = PolicyNetwork(FEATURES, space.size, size, torch.Generator())
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(2.0 * torch.eye(space.size, FEATURES) if parameter.ndim == 2 else torch.zeros(1))
    folder.mkdir()
    policy = LearnedPolicy(network, size, Standardisation.none(FEATURES), space, "balanced", 0, {})
    policy.save(folder)


@pytest.fixture
def options(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvaluateOptions:
    monkeypatch.setenv("MULTILOGGER_HOME", str(store))
    monkeypatch.setattr(pair_networks, "MOST_STEPS", 1)
    return EvaluateOptions(
        policy=str(store / "policy"),
        logs=store / "artifacts" / "replay" / "replay-key",
        out=tmp_path / "out",
        bootstrap=100,
        validation_only=False,
        track=False,
    )


def values(done: Evaluated) -> dict[str, float]:
    return {row.name: row.value for row in done.result.estimates}


def test_a_replay_of_the_store(store: Path, options: EvaluateOptions) -> None:
    done = evaluate_on_logs(options)
    train = load_split(store / "artifacts" / "reduce" / "data-key" / "train.safetensors")
    exact = float(ZERO_ONE.expected(2.0 * np.asarray(train.x, dtype=np.float64), train.y).mean())
    assert (done.result.rows, done.result.contexts, done.result.max_loss) == (6 * CONTEXTS, CONTEXTS, 1.0)
    for row in done.result.estimates:
        assert row.value == pytest.approx(exact, abs=4.0 * row.standard_error), row.name
    assert {row.name for row in done.result.estimates if row.bernstein is not None} >= {"naive", "balanced"}
    assert done.dataset(options) == "colours"
    keep(done, options)
    assert json.loads((options.out / "evaluation.json").read_text())["dr_model"] == "ridge"


def test_the_loss_model_may_be_another(options: EvaluateOptions) -> None:
    ridge, *others = (
        values(evaluate_on_logs(replace(options, dr_model=chosen_model(name))))
        for name in ("ridge", "smrdr", "network")
    )
    own = ridge.pop("dr")
    for other in others:
        assert other.pop("dr") != own
        assert other == ridge
    with pytest.raises(BadInput, match="'additive' of dr is not for actions of kind 'one-of'"):
        evaluate_on_logs(replace(options, dr_model=chosen_model("additive")))


def own_log(store: Path, folder: Path, names: bool) -> Path:
    """The store's log as a person might have it, actions by number or by name."""
    log = store / "artifacts" / "replay" / "replay-key" / "log"
    table = ds.dataset(log, partitioning="hive").to_table()
    train = load_split(store / "artifacts" / "reduce" / "data-key" / "train.safetensors")
    context, action = np.asarray(table["context"]), np.asarray(table["action"])
    folder.mkdir()
    columns = {
        "logger": table["logger"],
        "context": context,
        "action": [NAMES[number] for number in action] if names else action,
        "loss": table["delta"],
        "log_propensity": table["log_propensity"],
        "log_propensities": table["log_propensities"],
        "x": list(np.asarray(train.x)[context]),
    }
    pq.write_table(pa.table(columns), folder / "log.parquet")
    return folder


def test_own_files_give_what_the_store_gives(store: Path, options: EvaluateOptions, tmp_path: Path) -> None:
    expected = values(evaluate_on_logs(options))
    done = evaluate_on_logs(replace(options, logs=own_log(store, tmp_path / "own", names=False)))
    assert values(done) == pytest.approx(expected, rel=1e-4)


def test_own_files_with_names_need_a_policy_that_knows_them(
    store: Path, options: EvaluateOptions, tmp_path: Path
) -> None:
    expected = values(evaluate_on_logs(options))
    named = replace(options, logs=own_log(store, tmp_path / "own", names=True))
    with pytest.raises(
        BadInput, match=r"log.parquet, row \d+: an action is a whole number from 0 to 3, got "
    ):
        evaluate_on_logs(named)
    save_linear(tmp_path / "policy", SPACE)
    columns = tmp_path / "policy" / "columns.json"
    columns.write_text(json.dumps({"actions": NAMES, "features": {}}))
    knowing = replace(named, policy=str(tmp_path / "policy"))
    assert values(evaluate_on_logs(knowing)) == pytest.approx(expected, rel=1e-4)
    assert values(evaluate_on_logs(replace(knowing, logs=options.logs))) == pytest.approx(expected)
    columns.write_text("{}")
    with pytest.raises(BadInput, match=r"columns.json is damaged; save the policy again"):
        evaluate_on_logs(knowing)


def test_a_policy_of_other_actions_is_refused(options: EvaluateOptions, tmp_path: Path) -> None:
    save_linear(tmp_path / "policy", OneOf(3))
    message = "the log has 4 features and 4 actions to choose from, the policy 4 and 3 actions to choose from"
    with pytest.raises(BadInput, match=message):
        evaluate_on_logs(replace(options, policy=str(tmp_path / "policy")))
