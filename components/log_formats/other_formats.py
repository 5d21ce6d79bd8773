"""The class methods of `BanditLog` that read the logs of other programs."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

Range = tuple[float, float]


class OtherFormats:
    """How a log is made from those of other programs; each goes through `from_frame` or `from_arrays`."""

    from_frame: ClassVar[Any]
    from_arrays: ClassVar[Any]

    @classmethod
    def from_obp(
        cls,
        bandit_feedback: Mapping[str, Any],
        *,
        propensities: ArrayLike | None = None,
        reward_range: Range | None = None,
    ) -> Self:
        """A log from the `bandit_feedback` of Open Bandit Pipeline.

        Read are `context`, `action`, `reward`, `pscore`, `n_actions`, and where they are there `position` and
        `stratum_idx`, the number of the logger. `action_context` is not used: actions are known by number.
        Features are x0, x1, ...; a `position` that varies is one more, a word: the same item at another
        position is seen in another context.

        Args:
            bandit_feedback: the dict of one logger, or that of several with `stratum_idx`; or a mapping from
                the name of each logger to its dict. Their contexts must have been encoded together.
            propensities: (n, J) under every logger in ascending order of their names, where they are known.
                Open Bandit Pipeline keeps those of the row's own logger alone.
            reward_range: least and largest possible reward; those of the log by default.
        """
        from multilogger.components.log_formats.obp import read_obp

        read = read_obp(bandit_feedback, propensities)
        log: Self = cls.from_frame(
            read.table, actions=range(read.n_actions), features=list(read.features), reward="reward",
            propensity="pscore", logger=read.logger, reward_range=reward_range,
            propensities=read.propensities,
        )  # fmt: skip
        return log

    @classmethod
    def from_vw(
        cls,
        path: str | Path | Mapping[Any, str | Path],
        *,
        logger: str = "logger",
        actions: int | Sequence[int | str] | None = None,
        cost_range: Range | None = None,
        max_bytes: int | None = None,
    ) -> Self:
        """A log from contextual-bandit text of Vowpal Wabbit, plain or compressed (.gz, .bz2).

        Lines are `action:cost:probability | features`, or events of `--cb_adf`: a line `shared | features`,
        one line per action with the label at the one that was taken, and an empty line. A cost may be
        negative; the loss is the cost minus the least possible one. A feature is called `namespace^name`, or
        by its name alone in the namespace without a name; `name:word` is the feature `name=word`. The actions
        of `--cb_adf` are called by their own features, and every event must offer the same ones.

        Args:
            path: a file, or a mapping from the name of each logger to its file.
            logger: the name of the one logger of a single file.
            actions: how many actions there are (they then count from 1), or their list; by default those
                that were taken, or offered.
            cost_range: least and largest possible cost; those of the log by default.
            max_bytes: what a compressed file may unpack to; by default what its size allows.
        """
        from multilogger.components.log_formats.vw import read_vw

        read = read_vw(path if isinstance(path, Mapping) else {logger: path}, actions, cost_range, max_bytes)
        log: Self = cls.from_arrays(
            read.x, read.action, names=read.names, actions=read.actions, reward=[-c for c in read.cost],
            propensity=read.probability, logger=read.logger,
            reward_range=None if cost_range is None else (-cost_range[1], -cost_range[0]),
        )  # fmt: skip
        return log

    @classmethod
    def from_coba(
        cls,
        interactions: Iterable[Mapping[str, Any]],
        *,
        logger: str | None = None,
        reward_range: Range | None = None,
    ) -> Self:
        """A log from logged interactions of Coba: dicts with context, action, reward and probability.

        A context is a dict of features, a list of them (then called x0, x1, ...), or one value. Features are
        numbers or words; a number that a dict lacks is 0. If interactions say the `actions` on offer, they
        must all say the same ones, in any order. Actions other than whole numbers, words and booleans are
        called by how they are written.

        Args:
            interactions: of any length; all are held in memory.
            logger: the key of the interactions that says who acted; by default there is one logger.
            reward_range: least and largest possible reward; those of the log by default.
        """
        from multilogger.components.log_formats.coba import read_coba

        read = read_coba(interactions, logger)
        log: Self = cls.from_frame(
            read.table, action="action", actions=read.actions, features=list(read.features),
            reward="reward", propensity="probability", logger=None if logger is None else "logger",
            reward_range=reward_range,
        )  # fmt: skip
        return log
