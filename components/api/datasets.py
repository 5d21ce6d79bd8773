"""Labelled data, and bandit logs made from it in memory: the supervised-to-bandit replay of section 5.1.1.

>>> import multilogger as ml
>>> log = ml.datasets.load_replay("pairwise", passes=1, alphas=(0.1, 1.0), seed=0)
>>> log
BanditLog(rows=3000, contexts=1500, features=12, labels=6, loggers=['logger-1', 'logger-2'])
"""

from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from multilogger.components.actions.known_contexts import log_chances
from multilogger.components.api.bandit_log import BanditLog
from multilogger.components.api.policy import Policy
from multilogger.components.api.split_log import check_seed, is_number
from multilogger.components.datasets.embedded import EMBEDDED
from multilogger.components.datasets.labelled_data import LabelledData, TrainTest
from multilogger.components.datasets.losses import USUAL_LOSS, Loss, find_loss
from multilogger.components.datasets.registry import DATASETS, DatasetSpec, find_dataset
from multilogger.components.errors import BadInput
from multilogger.components.features.columns import FeatureColumns
from multilogger.components.log.actions import size_word, usual_ids
from multilogger.components.names import logger_name

__all__ = [
    "expected_loss",
    "export_obd",
    "list_datasets",
    "load_dataset",
    "load_obd",
    "load_replay",
    "load_svmlight",
    "replay",
]


def list_datasets() -> dict[str, str]:
    """The registered datasets and what they are; those that are not embedded need their files."""
    return {name: spec.note for name, spec in DATASETS.items()}


def load_dataset(name: str = "digits") -> TrainTest:
    """The train and the test split of an embedded dataset: `.train.x`, `.train.y`, `.test.x`, `.test.y`."""
    find_dataset(name)
    if name not in EMBEDDED:
        raise BadInput(
            f"{name} is not embedded, only {', '.join(EMBEDDED)} are; fetch its files and read them with "
            "load_svmlight"
        )
    return EMBEDDED[name]()


def load_svmlight(
    path: str | Path,
    features: int,
    labels: int | None = None,
    *,
    classes: int | None = None,
    max_bytes: int | None = None,
) -> LabelledData:
    """Contexts and right actions from svmlight text, plain or compressed (.bz2, .gz).

    With `labels` it is multi-label text of so many labels; with `classes` it is multi-class text, one class
    of so many per row. `max_bytes` is how long the text may be, unpacked; by default what a file of its size
    can need, in so many rows as memory holds.
    """
    from multilogger.components.datasets.svmlight import read_svmlight

    place, size = Path(path), labels if classes is None else classes
    if size is None or (labels is not None and classes is not None):
        raise BadInput("load_svmlight takes the number of labels or that of classes; give one of them")
    if not place.is_file():
        raise BadInput(f"there is no file {place}; give svmlight text")
    kind = "labels" if classes is None else "one-of"
    return read_svmlight(place, DatasetSpec(place.name, features, size, actions=kind), None, max_bytes)


def load_obd(
    campaign: str = "men",
    base: str | Path = ".",
    *,
    affinities: bool = False,
    max_bytes: int | None = None,
) -> BanditLog:
    """The logs of the Open Bandit Dataset, small or full, as published: loggers bts and random, clicks.

    An action is an item; the context is the position and the features of the user, words all of them, so
    that the same item at another position is another decision. The propensities under random are known for
    all rows, those under bts for its own rows alone: `estimate_propensities(time=True)` models the others.
    The log has its times.

    Args:
        campaign: men (34 items), all (80) or women (46).
        base: the folder that has obd/random and obd/bts, or that has random and bts.
        affinities: whether the user's affinity to every item is a feature; in the small version less than
            two in a thousand are not 0.
        max_bytes: what a compressed file may unpack to; by default what its size allows.
    """
    from multilogger.components.log_formats.obd import read_obd

    read = read_obd(base, campaign, affinities, max_bytes)
    return BanditLog.from_frame(
        read.table,
        action="item_id",
        actions=read.items,
        reward="click",
        reward_range=(0.0, 1.0),
        propensity="propensity_score",
        propensities={"bts": "propensity_bts", "random": "propensity_random"},
        logger="logger",
        features=list(read.features),
        time="timestamp",
    )


def export_obd(campaign: str = "men", base: str | Path = ".", folder: str | Path = "obd-men") -> Path:
    """The same logs as files for the command line: log.parquet, and columns.toml for --columns.

    `multilogger learn --columns obd-men/columns.toml --method balanced` learns from them.
    """
    from multilogger.components.log_formats import obd

    return obd.export_obd(base, campaign, folder)


def load_replay(name: str = "digits", **settings: Any) -> BanditLog:
    """`replay` of the train split of an embedded dataset, with its own loss."""
    return replay(load_dataset(name).train, loss=find_dataset(name).loss, **settings)


def replay(
    data: LabelledData,
    *,
    alphas: Sequence[float] = (0.05, 2.0),
    passes: int | Sequence[int] = 4,
    seed: int = 0,
    loss: str | None = None,
    fraction: float = 0.2,
    C: float = 0.1,
    standardise: bool | None = None,
    validation: float | None = None,
    split_by: str = "row",
) -> BanditLog:
    """A log of linear loggers that act on labelled data, as the stages `train-loggers` and `replay` make it.

    The log has its loggers' policies and the right actions as companions. The ids of one-of actions are the
    numbers of their classes, as their file has them.

    Args:
        data: contexts and the right action of each.
        alphas: one logger each; larger is more deterministic.
        passes: how often each logger meets every context, one number or one per logger.
        seed: of the share of data that loggers are fitted on, and of their actions.
        loss: of label vectors hamming (the default) or crowding, of one-of actions zero-one.
        fraction: share of the data that the loggers are fitted on.
        C: inverse L2 strength of that fit.
        standardise: whether it scales features to mean 0 and variance 1; by default for one-of actions alone.
        validation: share of the rows to mark for validation; by default `fit` draws them.
        split_by: what that share is drawn from, row or context.
    """
    from multilogger.components.loggers.crf import fit_crf
    from multilogger.components.loggers.linear import LinearPolicy, random_share
    from multilogger.components.loggers.replay import ReplayPlan, SplitBy, replay_pass

    seed, counts = check_seed(seed), _passes_of(alphas, passes)
    if split_by not in list(SplitBy):
        raise BadInput(f"split_by must be one of {', '.join(SplitBy)}, got {split_by!r}")
    paid = _loss_of(data, loss)
    rows = random_share(data.rows, fraction, np.random.default_rng(seed))
    scaled = not data.space.action_shape if standardise is None else standardise
    weights = fit_crf(data.take(rows), C, standardise=scaled)
    policies = [LinearPolicy(weights, alpha) for alpha in alphas]
    logits = [policy.logits(data.x) for policy in policies]
    plan = ReplayPlan(seed, validation or 0.0, SplitBy(split_by), data.rows)
    chances = [log_chances(data.space, table, sum(counts)) for table in logits]
    parts = [
        (j, part)
        for j, count in enumerate(counts)
        for r in range(count)
        for part in replay_pass(data.space, logits, data.y, j, r, plan, paid, chances)
    ]
    columns, actions = FeatureColumns.numbered(data.features), data.classes or usual_ids(data.space)
    names = tuple(logger_name(j) for j in range(len(alphas)))
    return BanditLog(
        x=data.x,
        columns=columns,
        context=np.concatenate([part.context for _, part in parts]).astype(np.int64),
        action=np.concatenate([part.action for _, part in parts]),
        actions=actions,
        space=data.space,
        loss=np.concatenate([part.delta for _, part in parts]),
        max_loss=paid.largest(data.space.size),
        log_propensity=np.concatenate([part.log_propensity for _, part in parts]),
        logger=np.concatenate([np.full(len(part.delta), j, dtype=np.int64) for j, part in parts]),
        loggers=names,
        log_propensities=np.concatenate([part.log_propensities for _, part in parts]),
        validation=None if validation is None else np.concatenate([part.validation for _, part in parts]),
        logger_policies=tuple(
            Policy(policy, columns, actions, data.space, name)
            for name, policy in zip(names, policies, strict=True)
        ),
        truth=data.y,
    )


def _passes_of(alphas: Sequence[float], passes: int | Sequence[int]) -> list[int]:
    """How often each logger meets every context: (J,)."""
    if not np.iterable(alphas) or not all(is_number(alpha) and alpha > 0 for alpha in alphas):
        raise BadInput(f"alphas must be numbers above 0, one per logger, got {alphas!r}")
    counts = list(passes) if isinstance(passes, Sequence) else [passes] * len(alphas)
    if not counts or len(counts) != len(alphas) or not all(_is_count(count) for count in counts):
        raise BadInput(
            f"passes must be a whole number, 1 or more, for each of the {len(alphas)} loggers, got {counts}"
        )
    return counts


def _is_count(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def _loss_of(data: LabelledData, name: str | None) -> Loss:
    """A loss of the data's actions by name; without one the usual one."""
    loss = find_loss(USUAL_LOSS[data.space.name] if name is None else name)
    if loss.space != data.space.name:
        usual = USUAL_LOSS[data.space.name]
        raise BadInput(f"{loss.name} is a loss of {loss.space}, the data has {data.space.name}; take {usual}")
    return loss


def expected_loss(policy: Any, data: LabelledData, loss: str | None = None) -> float:
    """The true risk of a policy on labelled data in closed form, the paper's EXP.

    The loss is hamming for label vectors and zero-one for one-of actions unless another is named.
    """
    chosen = getattr(policy, "policy_", policy)
    if not isinstance(chosen, Policy):
        raise BadInput(f"a Policy or a fitted learner is needed, got {type(policy).__name__}")
    if chosen.space != data.space:
        raise BadInput(
            f"the data has {data.space.size} {size_word(data.space)}, the policy {chosen.labels} "
            f"{size_word(chosen.space)}; was the policy learned on this problem?"
        )
    return float(_loss_of(data, loss).expected(chosen.logits(data.x), data.y).mean())
