"""A policy by whatever a person calls it: a folder, an MLflow run, or an MLflow model; and whence it came."""

import re
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multilogger.components.actions.space import ActionSpace
from multilogger.components.api.policy import COLUMNS_FILE
from multilogger.components.errors import BadInput, first_line
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.json_text import parsed_json
from multilogger.tasks.engine.artifact import MANIFEST, sha256_of
from multilogger.tasks.engine.store import Store
from multilogger.tasks.learn import POLICY_FILES

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

    from multilogger.components.policies.policy import LearnedPolicy
    from multilogger.tasks.engine.tracking import Tracker

MODELS = "models:/"
RUN_ID = "[0-9a-z]{32}|[0-9a-f]{6,31}"
LEARN_RUN_TAG = "stage.learn.run_id"


@dataclass(frozen=True)
class NamedPolicy:
    """A policy, the words that named it, and what is known of its origin.

    `log_key` and `data_key` are the keys of the log that it was learned from and of its contexts, `dataset`
    and `run_id` those of its MLflow run; None where nothing tells. `actions` are what it calls its actions,
    where it chooses one of several and knows their names; `columns` say how a raw log becomes its features.
    """

    policy: "LearnedPolicy"
    source: str
    log_key: str | None = None
    data_key: str | None = None
    dataset: str | None = None
    run_id: str | None = None
    actions: tuple[str, ...] | None = None
    columns: FeatureColumns | None = None

    @property
    def action_numbers(self) -> dict[str, int] | None:
        return None if self.actions is None else {name: i for i, name in enumerate(self.actions)}


def find_policy(source: str, store: Store) -> NamedPolicy:
    """Load a policy from a folder, `models:/...`, or the id of a `learn` run or of a flow that has one."""
    folder = Path(source).expanduser()
    if folder.is_dir():
        return _from_folder(folder, source)
    if not source.startswith(MODELS) and not re.fullmatch(RUN_ID, source):
        raise BadInput(
            f"no policy at {source!r}: give a folder with {' and '.join(POLICY_FILES)}, an MLflow run id or "
            "the first characters of one, or a model such as models:/multilogger-yeast@champion"
        )
    return _from_mlflow(source, store)


def _from_folder(folder: Path, source: str, run: "Run | None" = None) -> NamedPolicy:
    from multilogger.components.policies.policy import load_policy

    missing = [name for name in POLICY_FILES if not (folder / name).is_file()]
    if missing:
        raise BadInput(f"{source} has no {' and no '.join(missing)}; give the folder of a learned policy")
    manifest = _manifest(folder)
    try:
        policy = load_policy(folder)
    except BadInput:
        raise
    except Exception as error:  # whatever a damaged file makes the readers raise
        reason = first_line(error)[:150] if str(error) else type(error).__name__
        raise BadInput(f"the policy of {source} cannot be read ({reason}); make it again") from error
    tags = run.data.tags if run is not None else {}
    return NamedPolicy(
        policy=policy,
        source=source,
        log_key=_input_key(manifest, "log"),
        data_key=_input_key(manifest, "data"),
        dataset=tags.get("dataset"),
        run_id=run.info.run_id if run is not None else None,
        **_of_raw_rows(folder, policy.space),
    )


def _of_raw_rows(folder: Path, space: ActionSpace) -> dict[str, Any]:
    """What a policy of raw rows calls the actions that it chooses from, and how rows become its features."""
    if not (folder / COLUMNS_FILE).is_file():
        return {}
    try:
        facts = parsed_json((folder / COLUMNS_FILE).read_text(encoding="utf-8"))
        names, columns = tuple(map(str, facts["actions"])), FeatureColumns.from_json(facts["features"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{folder / COLUMNS_FILE} is damaged; save the policy again") from error
    return {"actions": None if space.action_shape else names, "columns": columns}


def _from_mlflow(source: str, store: Store) -> NamedPolicy:
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException

    from multilogger.tasks.engine.tracking import Tracker

    tracker = Tracker(store)  # says what is wrong with MLflow's store, if anything is
    client = _client(store)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            run = _learn_run(client, tracker, source)
            folder = Path(scratch)
            if source.startswith(MODELS):
                where = Path(download_artifacts(source, dst_path=scratch, tracking_uri=store.tracking_uri))
                folder = next((p.parent for p in sorted(where.rglob(POLICY_FILES[1]))), where)
            elif run is not None:
                for name in POLICY_FILES:
                    _fetch(run, name, store, folder)
                with suppress(MlflowException, OSError):  # of a policy of raw rows alone
                    _fetch(run, COLUMNS_FILE, store, folder)
            if run is not None:
                with suppress(MlflowException, OSError):  # it only tells the log that was learned from
                    _fetch(run, MANIFEST, store, folder)
        except (MlflowException, OSError) as error:
            reason = first_line(error)
            raise BadInput(
                f"MLflow at {store.tracking_uri} has no policy {source!r} ({reason}); "
                "'multilogger ui' shows what there is"
            ) from error
        return _from_folder(folder, source, run)


def _client(store: Store) -> "MlflowClient":
    from mlflow import MlflowClient, set_registry_uri, set_tracking_uri

    set_tracking_uri(store.tracking_uri)  # models:/ addresses are looked up in the current store alone
    set_registry_uri(store.tracking_uri)
    return MlflowClient(store.tracking_uri, store.tracking_uri)


def _learn_run(client: "MlflowClient", tracker: "Tracker", source: str) -> "Run | None":
    """The run of the `learn` stage behind a run id or a model; None for a model that no run has made."""
    is_model = source.startswith(MODELS)
    run_id = _run_of_model(client, source.removeprefix(MODELS)) if is_model else source
    if not run_id:
        return None
    run = tracker.run(run_id)
    if run.data.tags.get("stage") == "learn" or is_model:
        return run
    if LEARN_RUN_TAG in run.data.tags:
        return client.get_run(run.data.tags[LEARN_RUN_TAG])
    raise BadInput(
        f"run {run_id} ({run.info.run_name}) has learned no policy; give a run of 'multilogger learn' "
        "or of its learn stage"
    )


def _run_of_model(client: "MlflowClient", name: str) -> str | None:
    """The run that logged a model: by alias, by version, or by the model's own id."""
    if "@" in name:
        version = client.get_model_version_by_alias(*name.split("@", 1))
    elif "/" in name:
        version = client.get_model_version(*name.split("/", 1))
    else:
        return client.get_logged_model(name).source_run_id
    if version.run_id:
        return str(version.run_id)
    model_id = getattr(version, "model_id", None)
    return client.get_logged_model(model_id).source_run_id if model_id else None


def _fetch(run: "Run", name: str, store: Store, folder: Path) -> None:
    """Copy one file of a run."""
    from mlflow.artifacts import download_artifacts

    download_artifacts(
        run_id=run.info.run_id, artifact_path=name, dst_path=str(folder), tracking_uri=store.tracking_uri
    )


def _manifest(folder: Path) -> dict[str, Any]:
    """What the stage that made a policy wrote down, empty if it did not; files must be what it says."""
    try:
        manifest: dict[str, Any] = parsed_json((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    for name in POLICY_FILES:
        with suppress(KeyError, TypeError):
            if manifest["files"][name]["sha256"] != sha256_of(folder / name):
                raise BadInput(f"{folder / name} was altered; run the command that made it again")
    return manifest


def _input_key(manifest: dict[str, Any], name: str) -> str | None:
    try:
        return str(manifest["inputs"][name]["key"])
    except (KeyError, TypeError):
        return None
