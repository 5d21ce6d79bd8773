"""Stage: a person's own log -> rows in our schema, contexts as features, the encoding, and a split."""

import json
from typing import Any

from multilogger.components.api.policy import COLUMNS_FILE
from multilogger.components.datasets.losses import USUAL_LOSS
from multilogger.components.errors import BadInput
from multilogger.components.features.row_ids import IDS
from multilogger.components.log.unreadable import unchanged
from multilogger.components.names import logger_name
from multilogger.components.own_log.context_files import is_smaller_sparse
from multilogger.components.own_log.split import Side, open_splitter
from multilogger.components.own_log.survey import Survey, survey
from multilogger.components.own_log.write_log import Written, write_log
from multilogger.tasks.dataset_files import DatasetFacts
from multilogger.tasks.engine.progress import say
from multilogger.tasks.engine.stage import stage
from multilogger.tasks.engine.stage_run import StageRun
from multilogger.tasks.own_log.import_settings import ImportLogSettings


# 4: the words of the column delta say nothing of labels.
@stage("import-log", version=4)
def import_log(settings: ImportLogSettings, run: StageRun) -> None:
    """Check a log, learn how its columns become features, split it, and write it as our own."""
    if settings.digest is not None and settings.found_digest() != settings.digest:
        raise BadInput(
            f"the files of {settings.logs} have changed since they were last read; run the command again "
            "with --logs, or put the old files back"
        )
    with unchanged(settings.logs, settings.found_digest):
        source = settings.open()
        mapping = settings.mapping(source)
        with run.progress("looking at the log"):
            splitter = open_splitter(settings.plan, mapping, source)
            found = survey(source, mapping, splitter, settings.stated(source), settings.limits)
        with run.progress("writing the log", int(found.rows.sum())) as advance:
            written = write_log(run.folder, settings.dataset, source, mapping, splitter, found, advance)
    facts = {"actions": found.actions, "features": found.columns.to_json()}
    text = json.dumps(facts, indent=2)
    run.file(COLUMNS_FILE).write_text(text + "\n", encoding="utf-8")
    run.save_json("dataset.json", _facts(settings, found, written).model_dump(exclude_defaults=True))
    run.save_json("summary.json", summary := _summary(found, written))
    run.log_metrics({f"{kind}/{who}": v for who, values in summary.items() for kind, v in values.items()})
    _tell(found, written)


def _facts(settings: ImportLogSettings, found: Survey, written: Written) -> DatasetFacts:
    rows = found.rows.sum(axis=0)
    return DatasetFacts(
        name=settings.dataset,
        features=found.columns.width,
        labels=found.space.size,
        n_train=written.contexts[0],
        n_test=written.contexts[1],
        sparse=is_smaller_sparse(found.columns),
        labels_per_row=0.0,  # the right labels are not known
        rows_without_label=0,
        loss=USUAL_LOSS[found.space.name],
        actions=found.space.name,
        loggers=found.loggers,
        max_loss=found.outcomes.max_loss,
        reward_range=found.outcomes.reward_range,
        test_rows=int(rows[Side.TEST]),
        propensities="all" if found.all_logged else "some" if found.logged.any() else "none",
        contexts_known=bool(len(found.contexts[0])),
    )


def _summary(found: Survey, written: Written) -> dict[str, dict[str, float]]:
    """As `replay` has it, of training and validation rows; test is not looked at."""
    both = [Side.TRAIN, Side.VALIDATION]
    summary: dict[str, dict[str, float]] = {}
    for j in range(len(found.loggers)):
        rows = int(found.rows[j, both].sum())
        summary[logger_name(j)] = {
            "rows": rows,
            "validation_rows": int(found.rows[j, Side.VALIDATION]),
            "mean_delta": float(written.losses[j, both].sum()) / rows,
        }
    return summary


def _tell(found: Survey, written: Written) -> None:
    """How each column is encoded, who logged, and what is missing."""
    for column in found.columns.columns[:20]:
        say(column.sentence)
    if len(found.columns.columns) > 20:
        say(f"... and {len(found.columns.columns) - 20} columns more, all in {COLUMNS_FILE}")
    for name in found.ids:
        say(f"{name}: another value in nearly every row, which looks like an id: {IDS} of --features")
    rows: Any = found.rows.sum(axis=1)
    for name, count, logged in zip(found.loggers, rows, found.logged, strict=True):
        if logged < count:
            say(f"logger {name}: {count - logged:,} of {count:,} rows have no propensity of their own")
    for column_name, count in written.unseen.items():
        say(f"{column_name}: {count:,} rows have a value that no training row has")
