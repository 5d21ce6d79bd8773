"""Stage: loggers and train data -> the bandit log, a Parquet dataset with one file per logger and pass."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from multilogger.components.actions.known_contexts import log_chances
from multilogger.components.errors import BadInput
from multilogger.components.log.schema import LogOrigin, LogRows, log_file, log_schema
from multilogger.components.log.writing import RowWriter
from multilogger.components.loggers.replay import ReplayPlan, SplitBy, replay_pass
from multilogger.components.names import logger_name
from multilogger.tasks.dataset_files import load_facts, load_loss, load_train
from multilogger.tasks.engine.artifact import MANIFEST, Artifact
from multilogger.tasks.engine.progress import Bar
from multilogger.tasks.engine.stage import IntList, StageSettings, stage
from multilogger.tasks.engine.stage_run import StageRun, read_json
from multilogger.tasks.train_loggers import load_loggers

if TYPE_CHECKING:
    import pyarrow as pa

LOG_FOLDER = "log"


class ReplaySettings(StageSettings):
    """How often each logger sees train, and what is kept aside."""

    not_in_key: ClassVar[frozenset[str]] = frozenset({"batch_rows"})

    seed: int = Field(default=0, ge=0, description="draws actions and validation rows")
    passes: IntList = Field(
        default=(4,), description="replay count of each logger; one number stands for all"
    )
    validation: float = Field(default=0.25, gt=0, lt=1, description="share of the rows kept aside")
    split_by: SplitBy = Field(
        default=SplitBy.CONTEXT,
        description="context: all replays of a context on one side; row: drawn one by one, as the paper does",
    )
    batch_rows: int = Field(
        default=8192, ge=1, description="rows in memory at a time; does not change the result"
    )

    def passes_of(self, loggers: int) -> tuple[int, ...]:
        """R_j of every logger."""
        passes = self.passes * loggers if len(self.passes) == 1 else self.passes
        if len(passes) != loggers:
            raise BadInput(
                f"passes has {len(passes)} numbers for {loggers} loggers; give one, or one per logger"
            )
        return passes


# 2: the words of the column delta are those of the loss.
@stage("replay", version=2)
def replay(settings: ReplaySettings, data: Artifact, loggers: Artifact, run: StageRun) -> None:
    """Replay train through every logger and write what it did, what it cost and how likely it was."""
    train, policies = load_train(data), load_loggers(loggers)
    passes = settings.passes_of(len(policies))
    logits = [policy.logits(train.x) for policy in policies]
    chances = [log_chances(train.space, table, sum(passes)) for table in logits]
    plan = ReplayPlan(settings.seed, settings.validation, settings.split_by, settings.batch_rows)
    name, loss = load_facts(data).name, load_loss(data)
    summary: dict[str, dict[str, float]] = {}
    with run.progress("replaying", sum(passes) * train.rows) as advance:
        for j, policy in enumerate(policies):
            tally = _Tally()
            for r in range(passes[j]):
                origin = LogOrigin(name, settings.seed, j, policy.alpha, r)
                schema = log_schema(train.space, len(policies), origin, train.classes, loss.name)
                rows = replay_pass(train.space, logits, train.y, j, r, plan, loss, chances)
                _write_file(run, _counted(rows, tally, advance), schema, j, r)
            summary[logger_name(j)] = tally.summary()
    run.save_json("summary.json", summary)
    run.log_metrics({f"{kind}/{who}": v for who, values in summary.items() for kind, v in values.items()})


def load_split_by(log: Artifact) -> SplitBy:
    """What the validation rows were drawn from."""
    return SplitBy(read_json(log.folder / MANIFEST)["settings"]["split_by"])


def load_summary(log: Artifact) -> dict[str, dict[str, float]]:
    """Rows, validation rows and mean loss of each logger."""
    summary: dict[str, dict[str, float]] = read_json(log.folder / "summary.json")
    return summary


class _Tally:
    """Counts and the mean loss of one logger, from batches."""

    def __init__(self) -> None:
        self._rows = 0
        self._validation = 0
        self._delta = 0.0

    def add(self, rows: LogRows) -> None:
        self._rows += len(rows.delta)
        self._validation += int(rows.validation.sum())
        self._delta += float(rows.delta.sum())

    def summary(self) -> dict[str, float]:
        return {
            "rows": self._rows,
            "validation_rows": self._validation,
            "mean_delta": self._delta / self._rows,
        }


def _counted(batches: Iterator[LogRows], tally: _Tally, advance: Bar) -> Iterator[LogRows]:
    for rows in batches:
        tally.add(rows)
        yield rows
        advance(len(rows.delta))


def _write_file(
    run: StageRun, batches: Iterator[LogRows], schema: "pa.Schema", logger: int, pass_: int
) -> None:
    """Stream batches into one file."""
    path = run.file(str(log_file(run.folder / LOG_FOLDER, logger, pass_).relative_to(run.folder)))
    with RowWriter(path, schema) as writer:
        for rows in batches:
            writer.add(rows)
