"""The bandit log of scripts and notebooks: rows of several loggers, from frames, files or arrays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.api.companions import Companions
from multilogger.components.api.read_log import Names, Range
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.estimators.logged_batch import Loggers
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.log.actions import ActionIds, size_word
from multilogger.components.log_formats.other_formats import OtherFormats

if TYPE_CHECKING:
    from multilogger.components.api.build_log import ColumnNames
    from multilogger.components.api.policy import Policy
    from multilogger.components.checks.report import LogReport
    from multilogger.components.propensities.report import PropensityReport


@dataclass(frozen=True, eq=False, repr=False)
class BanditLog(Companions, OtherFormats):
    """Rows of one or several loggers: what was seen, what was done, what it cost, how likely it was.

    Make one with `from_pandas`, `from_polars`, `from_arrow`, `from_frame`, `from_parquet`, `from_arrays`,
    or from another program's log with `from_obp`, `from_vw` or `from_coba`.
    An action is one of K, or a vector of q labels, each 0 or 1; `space` says which.

    `x` (m, d) are the contexts and `context` (n,) the context of each row; `action` (n,) counts into the ids
    `actions`, or is (n, q), `actions` being the names of the labels; `loss` (n,) in [0, `max_loss`];
    `log_propensity` (n,) under the row's own logger, `log_propensities` (n, J) under every logger where they
    are known, NaN where they are not; `logger` (n,) counts into the names `loggers`. `logger_policies` and
    `truth`, the right action of each context, are companions that some methods need. After
    `estimate_propensities`, `estimated` (n, J) says which propensities were not logged. `ids` are features
    with another value in nearly every row, as far as raw columns were read.

    >>> import numpy as np, pandas as pd, multilogger as ml
    >>> frame = pd.DataFrame({"age": [31, 45, 28, 60], "mail": [1, 0, 1, 1], "call": [0, 0, 1, 0],
    ...     "offer": ["tea", "jam", "tea", "tea"], "click": [1, 0, 0, 1], "pscore": [0.5, 0.25, 0.25, 0.5],
    ...     "policy": ["a", "a", "b", "b"]})
    >>> columns = {"reward": "click", "propensity": "pscore", "logger": "policy", "features": ["age"]}
    >>> ml.BanditLog.from_pandas(frame, action=["mail", "call"], **columns)
    BanditLog(rows=4, contexts=4, features=1, labels=2, loggers=['a', 'b'])
    >>> log = ml.BanditLog.from_pandas(frame, action="offer", actions=["jam", "rum", "tea"], **columns)
    >>> log
    BanditLog(rows=4, contexts=4, features=1, actions=3, loggers=['a', 'b'])
    >>> log.action
    array([2, 0, 2, 2])
    """

    x: Features
    columns: FeatureColumns
    context: NDArray[np.int64]
    action: Actions
    actions: ActionIds
    space: ActionSpace
    loss: Vector
    max_loss: float
    log_propensity: Vector
    logger: Loggers
    loggers: tuple[str, ...]
    log_propensities: Matrix | None = None
    contexts_known: bool = True
    reward_range: Range | None = None
    time: NDArray[np.generic] | None = None
    validation: NDArray[np.bool_] | None = None
    logger_policies: "tuple[Policy, ...]" = field(default=())
    truth: Actions | None = None
    estimated: NDArray[np.bool_] | None = None
    ids: Mapping[str, float] = field(default_factory=dict)
    propensity_report: "PropensityReport | None" = None

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        action: Names = "action",
        actions: Iterable[Any] | None = None,
        reward: str | None = None,
        loss: str | None = None,
        propensity: str | None = None,
        log_propensity: str | None = None,
        propensities: Names | Mapping[Any, str] | None = None,
        log_propensities: Names | Mapping[Any, str] | None = None,
        logger: str | None = None,
        features: Names | FeatureColumns | None = None,
        context: str | None = None,
        contexts: Any = None,
        time: str | None = None,
        validation: str | None = None,
        max_loss: float | None = None,
        reward_range: Range | None = None,
    ) -> "BanditLog":
        """A log from a data frame of any library that narwhals knows: pandas, Polars, Arrow and others.

        Args:
            frame: one row per logged action.
            action: a column of ids (whole numbers, words, categories or booleans), one action each; or label
                vectors, as a column of lists of 0 and 1 or a list of columns of 0 and 1. "col" with 0 and 1
                is a choice between two actions, ["col"] is one label.
            actions: the ids of all possible actions, also of those that no logger took; by default those of
                the log in ascending order. The policy gives its probabilities in this order.
            reward: column of rewards; a loss is then the largest reward minus the row's.
            loss: column of losses, 0 or more. Without `reward` and `loss`: column loss, delta or reward.
            propensity: probability of the action under the row's own logger, when it acted; NaN if unknown.
            log_propensity: its natural logarithm. Without either: column log_propensity, propensity, pscore;
                without any, see `estimate_propensities`.
            propensities: probabilities under every logger, which balanced methods need: a column of lists or
                several columns, in the ascending order of the loggers' labels, or a mapping from logger to
                column.
            log_propensities: their logarithms. Without either: a column of one of these names, if any.
            logger: column of labels of any kind. Without it: column logger, or one logger if there is none.
            features: columns of numbers, of words (one feature per word) or of lists; or the `columns` of a
                policy, which the log is to judge or to follow. Without it: column x, or x0, x1, ...
            context: column of ids; rows of one id share their features. Without it: column context, or, if
                there is none, every row is a context of its own.
            contexts: a frame of the features of each context, where they do not stand in the rows. Its column
                named as `context` holds the ids; without one they are its rows counted from 0.
            time: column to split by, numbers or times.
            validation: column of booleans, the rows that choose the epoch; without it `fit` draws them.
            max_loss: the largest possible loss; the number of labels by default, 1 of one-of actions.
            reward_range: least and largest possible reward; those of the log by default.
        """
        from multilogger.components.api.build_log import ColumnNames, log_of_frame

        columns = ColumnNames(
            action=action, actions=actions, reward=reward, loss=loss, propensity=propensity,
            log_propensity=log_propensity, propensities=propensities, log_propensities=log_propensities,
            logger=logger, features=features, context=context, time=time, validation=validation,
            max_loss=max_loss, reward_range=reward_range,
        )  # fmt: skip
        return log_of_frame(frame, columns, contexts)

    from_pandas = from_frame
    from_polars = from_frame
    from_arrow = from_frame

    @classmethod
    def from_parquet(
        cls, source: str | Path, contexts: Any = None, **columns: "Unpack[ColumnNames]"
    ) -> "BanditLog":
        """A log from Parquet: a file, a folder, or the address of one in an object store (s3://, gs://).

        Folders `logger=<label>` are a column. `contexts` may be a path, too; the columns are those of
        `from_frame`. All rows are held in memory; `multilogger evaluate` reads longer logs from disk.
        """
        from multilogger.components.api.log_files import columns_by_facts, read_parquet, with_facts

        table = read_parquet(source)
        apart = read_parquet(contexts) if isinstance(contexts, str | Path) else contexts
        log = cls.from_frame(table, contexts=apart, **columns_by_facts(columns, table))
        return log if columns or apart is not None else with_facts(log, table)

    @classmethod
    def from_arrays(
        cls,
        x: Features | ArrayLike,
        action: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        actions: Iterable[Any] | None = None,
        reward: ArrayLike | None = None,
        loss: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        log_propensity: ArrayLike | None = None,
        propensities: ArrayLike | None = None,
        log_propensities: ArrayLike | None = None,
        logger: ArrayLike | None = None,
        context: ArrayLike | None = None,
        time: ArrayLike | None = None,
        validation: ArrayLike | None = None,
        max_loss: float | None = None,
        reward_range: Range | None = None,
    ) -> "BanditLog":
        """A log from arrays of n rows: x (n, d), dense or sparse, the others (n,) or (n, J).

        `action` is (n,), one id per row, or label vectors (n, q); (n, 1) is one label.
        With `context` (n,), the row of x of each logged row, x is (m, d) and holds each context once.
        `names` are those of the features, x0, x1, ... by default; a policy finds them in a frame.
        """
        from multilogger.components.api.build_log import log_of_arrays

        return log_of_arrays(
            x, action, names=names, actions=actions, rewards=reward, losses=loss, propensity=propensity,
            log_propensity=log_propensity, propensities=propensities, log_propensities=log_propensities,
            logger=logger, context=context, time=time, validation=validation, max_loss=max_loss,
            reward_range=reward_range,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.loss)

    def __repr__(self) -> str:
        contexts, features = self.x.shape
        size = f"rows={len(self)}, contexts={contexts}, features={features}"
        return (
            f"BanditLog({size}, {size_word(self.space)}={len(self.actions)}, loggers={list(self.loggers)!r})"
        )

    def check(self, policy: Any = None) -> "LogReport":
        """What the log holds and what to mend, for `print`; with a policy also how well it is covered."""
        from multilogger.components.api.check_log import check_log

        return check_log(self, policy)

    def split(
        self, test: float = 0.3, *, by: str = "context", seed: int = 0
    ) -> "tuple[BanditLog, BanditLog]":
        """A training and a test log; `test` is the share of contexts, or of rows, in the second.

        by="context" keeps all rows of a context on one side (without context ids: by row), by="row" draws
        rows, by="time" takes the last ones in the column that was given as `time`.
        """
        from multilogger.components.api.split_log import split_rows

        rows = split_rows(self, test, by, seed)
        return self.take(np.flatnonzero(~rows)), self.take(np.flatnonzero(rows))

    def of(self, *loggers: str) -> "BanditLog":
        """The rows of the named loggers alone, for example to judge one logger by the rows of another."""
        from multilogger.components.api.split_log import rows_of_loggers

        return rows_of_loggers(self, loggers)

    def take(self, rows: NDArray[np.integer[Any]]) -> "BanditLog":
        """The given rows with their contexts alone, in the given order."""
        from multilogger.components.api.split_log import take_rows

        return take_rows(self, rows)

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows to one Parquet file that `from_parquet` and `multilogger evaluate` read.

        Companions (`logger_policies`, `truth`) are not written.
        """
        from multilogger.components.api.log_files import write_parquet

        write_parquet(self, Path(path))
