"""A log by its folder: a result of `replay` with its contexts and loggers, or a person's own files."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.api.contexts import check_encoding
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput
from multilogger.components.evaluation.context_logits import (
    Blocks,
    ContextLogits,
    LogitPolicy,
    context_logits,
)
from multilogger.components.evaluation.max_weights import MaxWeights, greedy_log_propensity, known_max_weights
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.json_text import parsed_json
from multilogger.components.log.files import BATCH_ROWS, LogFiles, open_log_files
from multilogger.components.log.schema import read_facts
from multilogger.components.loss_text import loss_text
from multilogger.components.own_log.estimated import estimated_share
from multilogger.components.own_log.find_source import find_source
from multilogger.components.own_log.mapped_files import lacks_propensities, mapped_files
from multilogger.components.own_log.mapping import resolve
from multilogger.flows.evaluation.held_log import write_completed
from multilogger.flows.evaluation.policy_source import NamedPolicy
from multilogger.tasks.dataset_files import load_facts, load_train
from multilogger.tasks.engine.artifact import MANIFEST, Artifact, DamagedArtifact, FileEntry
from multilogger.tasks.own_log.import_settings import ImportLogSettings
from multilogger.tasks.replay import LOG_FOLDER
from multilogger.tasks.train_loggers import load_loggers

REPLAY = "replay"


@dataclass(frozen=True)
class Room:
    """Where a log may be written again with the propensities that it lacks, and what draws their folds."""

    folder: Path
    seed: int


@dataclass(frozen=True)
class LogSource:
    """A log that can be read under a policy.

    `key`, `data_key` and `dataset` are known of a replay in a store; `contexts` are the policy's logits where
    contexts stand apart; `logger_logits` are those of the loggers on them, where they are at hand.
    `estimated` is the share of propensities under every logger that was not logged,
    `loss` says what a loss is.
    """

    files: LogFiles
    key: str | None = None
    data_key: str | None = None
    dataset: str | None = None
    contexts: ContextLogits | None = None
    logger_logits: tuple[Matrix, ...] = ()
    estimated: float = 0.0
    loss: str = loss_text(None)

    def greedy_log_propensity(self) -> Vector | None:
        """Log propensity of each context's likeliest action under the logger likeliest to take it: (m,)."""
        if self.contexts is None or not self.logger_logits:
            return None
        return greedy_log_propensity(self.contexts.space, self.contexts.logits, self.logger_logits)

    def max_weights(self, counts: Vector) -> MaxWeights | None:
        """The largest weights over all contexts and actions, from the loggers themselves."""
        if self.contexts is None or not self.logger_logits:
            return None
        return known_max_weights(self.contexts.space, self.contexts.logits, self.logger_logits, counts)


def find_log(
    place: Path,
    named: NamedPolicy,
    contexts: Path | None,
    room: Room,
    log: ImportLogSettings | None = None,
    mapped: bool = False,
) -> LogSource:
    """Open a log; a replay brings its contexts, others have features in their rows or in `contexts`.

    `log` says where else a log stands, and what its columns are, where they are `mapped`. A log that lacks
    propensities is completed in the `room` for it.
    """
    path, policy = place.absolute(), named.policy
    if log is not None and contexts is None and (mapped or _unusual(path, log, named)):
        return _mapped(log, named, room)
    folder = path.parent if path.name == LOG_FOLDER and (path.parent / MANIFEST).is_file() else path
    if (folder / MANIFEST).is_file() and contexts is None:
        return _replayed(folder, policy)
    given = None if contexts is None else context_logits(contexts, policy)
    files = open_log_files(path, contexts_given=given is not None)
    _check_encoding(files, named)
    return LogSource(files, contexts=given, estimated=0.0 if log is None else estimated_share(log.open()))


def _check_encoding(files: LogFiles, named: NamedPolicy) -> None:
    """Refuse encoded rows of another encoding than the policy's, as far as the file says how it was made."""
    facts = read_facts(files.dataset.schema)
    if facts is not None and "features" in facts and named.columns is not None:
        check_encoding(named.columns, FeatureColumns.from_json(facts["features"]))


def _unusual(path: Path, log: ImportLogSettings, named: NamedPolicy) -> bool:
    """Whether a log has other columns, or stands elsewhere, than files of the usual names, or has gaps."""
    if (path / MANIFEST).is_file() or (path.parent / MANIFEST).is_file():
        return False
    if not path.exists() or not (path.suffix == ".parquet" or any(path.rglob("*.parquet"))):
        return True
    source = log.open()
    if named.columns is not None and _has_raw(named, source.names) and "x" not in source.names:
        return True
    with suppress(BadInput):  # which is told when the log is read
        mapping = resolve(log.wanted, source.schema, str(path))
        return any(lacks_propensities(rows, mapping) for rows in source.batches(mapping.said_propensities))
    return False


def _mapped(log: ImportLogSettings, named: NamedPolicy, room: Room) -> LogSource:
    """A policy of raw columns takes its own, if the log has them; else features are as they were named."""
    source = log.open()
    usual = log.features or "x" in source.names
    own = named.columns if not usual or _has_raw(named, source.names) else None
    files = mapped_files(source, log.wanted, log.stated(source), own)
    m, low_high = files.mapping, (files.best - (files.max_loss or 0.0), files.best)
    loss = loss_text(low_high if m.is_reward else None, m.loss)
    if not files.lacking:
        return LogSource(files, estimated=estimated_share(source), loss=loss)
    to = room.folder / "completed.parquet"
    write_completed(log, source, own, room.seed, to)
    share = estimated_share(find_source(str(to)).open())
    return LogSource(open_log_files(to, contexts_given=False), estimated=share, loss=loss)


def _has_raw(named: NamedPolicy, names: Sequence[str]) -> bool:
    """Whether a log has every raw column that a policy was learned from."""
    return named.columns is not None and {one.name for one in named.columns.columns} <= set(names)


def _replayed(folder: Path, policy: LogitPolicy) -> LogSource:
    manifest = _read_manifest(folder)
    if manifest.get("stage") != REPLAY:
        raise BadInput(
            f"{folder} is a result of {manifest.get('stage')!r}, not a log; give one of "
            f"{folder.parent.parent / REPLAY}"
        )
    log = _artifact(folder, manifest)
    data = _input(folder, manifest, "data")
    train = load_train(data)
    if train.features != policy.features or train.space != policy.space:
        raise BadInput(
            f"the log has {train.features} features and {_in_words(train.space)}, the policy "
            f"{policy.features} and {_in_words(policy.space)}; was it learned on this dataset?"
        )
    loggers = load_loggers(_input(folder, manifest, "loggers"))
    return LogSource(
        files=open_log_files(folder / LOG_FOLDER, contexts_given=True),
        key=log.key,
        data_key=data.key,
        dataset=load_facts(data).name,
        contexts=ContextLogits(
            policy.space,
            policy.logits(train.x),
            {row: row for row in range(train.rows)},
            lambda: _blocks(train.x),
        ),
        logger_logits=tuple(logger.logits(train.x) for logger in loggers),
    )


def _in_words(space: ActionSpace) -> str:
    return f"{space.size} labels" if space.action_shape else f"{space.size} actions to choose from"


def _blocks(x: Features) -> Blocks:
    from multilogger.components.log.memory import densify

    for start in range(0, x.shape[0], BATCH_ROWS):
        yield densify(x[start : start + BATCH_ROWS])


def _input(folder: Path, manifest: dict[str, Any], name: str) -> Artifact:
    """An input of the replay, in the same store."""
    try:
        known = manifest["inputs"][name]
        place = folder.parent.parent / known["stage"] / known["key"]
    except (KeyError, TypeError) as error:
        raise BadInput(
            f"{folder / MANIFEST} is damaged, it does not say the log's {name}; run the command that made it "
            "again, or give the features with --contexts"
        ) from error
    if not (place / MANIFEST).is_file():
        raise BadInput(
            f"the log's {name} ({known['stage']} {known['key']}) is not in the store any more; run the "
            "command that made the log again, or give the features with --contexts"
        )
    return _artifact(place, _read_manifest(place))


def _artifact(folder: Path, manifest: dict[str, Any]) -> Artifact:
    """The artifact in a folder, every file verified."""
    try:
        files = {name: FileEntry(**entry) for name, entry in manifest["files"].items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise BadInput(
            f"{folder / MANIFEST} is damaged, its list of files cannot be read; run the command that made it "
            "again"
        ) from error
    root = folder.parent.parent.parent
    artifact = Artifact(
        stage=manifest["stage"],
        key=manifest["key"],
        path=folder.relative_to(root).as_posix(),
        files=files,
        run_id="",
        root=root,
    )
    try:
        artifact.verify()
    except DamagedArtifact as damage:
        raise BadInput(f"{folder} is damaged, {damage}; run the command that made it again") from damage
    return artifact


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = parsed_json((folder / MANIFEST).read_text(encoding="utf-8"))
        _ = manifest["stage"], manifest["key"], manifest["files"], manifest["inputs"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(
            f"{folder / MANIFEST} is no manifest of a stage; give a folder of Parquet files"
        ) from error
    return manifest
