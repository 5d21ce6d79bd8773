"""The settings of the stage `import-log`: where the log is, what its columns say, and how it is split."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field

from multilogger.components.errors import BadInput
from multilogger.components.estimators.checks import LARGEST_OUTCOME, check_reward_range
from multilogger.components.features.learn_encoding import Limits
from multilogger.components.log_formats.obd import LAYOUTS, OpenObd, obd_source, open_obd
from multilogger.components.own_log.find_source import find_source
from multilogger.components.own_log.mapping import Mapping as LogMapping
from multilogger.components.own_log.mapping import Wanted, resolve
from multilogger.components.own_log.same_columns import check_same_columns
from multilogger.components.own_log.source import OpenSource
from multilogger.components.own_log.split import SideBy, SplitPlan, check_split
from multilogger.components.own_log.survey import Stated, stated_by
from multilogger.tasks.engine.stage import Name, StageSettings

MOST_WIDE = 1_000_000  # features of one column
KINDS = {True: "labels", False: "one-of"}


def _listed(value: Any) -> Any:
    """`a,b` and a single name are lists too."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [str(part) for part in value] if isinstance(value, list | tuple) else [str(value)]


def _ends(value: Any) -> Any:
    """`0,5` is a range."""
    return value.split(",") if isinstance(value, str) else value


def _ascending(ends: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if ends is None else check_reward_range(*ends, "--reward-range")


NameList = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Ends = Annotated[tuple[float, float] | None, BeforeValidator(_ends), AfterValidator(_ascending)]
Share = Annotated[float, Field(gt=0, lt=1)]


class ImportLogSettings(StageSettings):
    """A log, its columns and its split. The files are in the key by `digest`, not by their place."""

    not_in_key: ClassVar[frozenset[str]] = frozenset({"logs", "kind", "max_bytes"})

    dataset: Name = Field(default="log", description="a name for the log")
    logs: str = Field(default="", description="file, folder, glob, s3:// or gs:// of Parquet or CSV")
    layout: Literal["obd-all", "obd-men", "obd-women"] | None = Field(
        default=None, description="how files of a published log stand below `logs`; default: as any others"
    )
    digest: str | None = Field(default=None, description="of the files; found out if not given")
    kind: Literal["labels", "one-of"] | None = Field(
        default=None, description="label vectors or one of K; found out if not given"
    )
    action: NameList = Field(default=(), description="column of ids or lists, or columns of 0 and 1")
    actions: NameList = Field(default=(), description="all possible actions; default: those of the log")
    reward: str | None = Field(default=None, description="column of rewards")
    loss: str | None = Field(default=None, description="column of losses, 0 or more")
    propensity: str | None = Field(default=None, description="column of the row's own propensity")
    log_propensity: str | None = Field(default=None, description="column of its natural logarithm")
    propensities: NameList = Field(default=(), description="columns of propensities under every logger")
    log_propensities: NameList = Field(default=(), description="columns of their logarithms")
    logger: str | None = Field(default=None, description="column of who acted")
    features: NameList = Field(default=(), description="columns or patterns of features")
    context: str | None = Field(default=None, description="column of ids that rows of one context share")
    time: str | None = Field(
        default=None, description="column of times: to split by, and for loggers that change"
    )
    split_column: str | None = Field(
        default=None, description="column that says train, validation or test, or true for test"
    )
    split_by: SideBy | None = Field(
        default=None, description="context, time or given; default: given if a column says it, else context"
    )
    split_seed: int = Field(default=0, ge=0, description="draws the split; the same for all seeds of a study")
    test: Share = Field(default=0.25, description="share of the log that judges the policy in the end")
    validation: Share = Field(default=0.25, description="share of the rest that chooses the epoch")
    max_loss: float | None = Field(
        default=None, gt=0, le=LARGEST_OUTCOME, description="largest possible loss; default that of actions"
    )
    reward_range: Ends = Field(default=None, description="least and largest possible reward: 0,5")
    max_categories: int = Field(
        default=Limits().words, ge=1, le=MOST_WIDE, description="a column of more words than this is hashed"
    )
    hash_width: int = Field(
        default=Limits().buckets, ge=2, le=MOST_WIDE, description="features of a hashed column"
    )

    max_bytes: int | None = Field(
        default=None, ge=1, description="most bytes that a compressed file may unpack to; default by its size"
    )

    @classmethod
    def build(cls, values: Mapping[str, Any]) -> Self:
        """Look at the files: a missing column is said before anything is started."""
        settings = cls(**values)
        if settings.digest is not None and settings.kind is not None:
            return settings  # the files may be gone when the results are not
        source = settings.open()
        mapping = settings.mapping(source)
        check_same_columns(source, mapping)
        if settings.layout is None:
            check_split(settings.plan, mapping, source)
        found: dict[str, Any] = {"digest": settings.found_digest(), "kind": KINDS[mapping.labels]}
        if isinstance(source, OpenObd) and not settings.actions:
            found["actions"] = source.items
        return cls(**{**values, **found})

    def open(self) -> OpenSource:
        """The files of the log."""
        if not self.logs:
            raise BadInput("import-log needs the files of a log; name them with --logs")
        if self.layout is not None:
            return open_obd(self.logs, LAYOUTS[self.layout], self.max_bytes)
        return find_source(self.logs).open(self.max_bytes)

    def found_digest(self) -> str:
        if self.layout is not None:
            return obd_source(self.logs, LAYOUTS[self.layout]).digest()
        return find_source(self.logs).digest()

    @property
    def wanted(self) -> Wanted:
        """What is said of the columns."""
        return Wanted(
            action=self.action,
            reward=self.reward,
            loss=self.loss,
            propensity=self.propensity,
            log_propensity=self.log_propensity,
            propensities=self.propensities,
            log_propensities=self.log_propensities,
            logger=self.logger,
            features=self.features,
            context=self.context,
            time=self.time,
            split=self.split_column,
        )

    def mapping(self, source: OpenSource) -> LogMapping:
        """Which column says what."""
        return resolve(self.wanted, source.schema, self.logs)

    @property
    def plan(self) -> SplitPlan:
        usual = SideBy.CONTEXT if self.split_column is None else SideBy.GIVEN
        return SplitPlan(self.split_by or usual, self.test, self.validation, self.split_seed)

    def stated(self, source: OpenSource) -> Stated:
        """What may occur, as the person says it, or else the files themselves."""
        return stated_by(source, Stated(self.actions, self.max_loss, self.reward_range))

    @property
    def limits(self) -> Limits:
        return Limits(self.max_categories, self.hash_width)
