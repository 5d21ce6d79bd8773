"""What a `learn` run leaves of a policy that may have learned from validation rows: itself where it is blind.

Its estimates on those rows, by which policies are compared, take these logits: at each context they are those
of the part of the policy that has not seen the context. A row that was learned from would praise it.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from multilogger.tasks.engine.artifact import Artifact
from multilogger.tasks.engine.stage_run import StageRun

if TYPE_CHECKING:
    from multilogger.components.actions.arrays import Matrix
    from multilogger.components.datasets.labelled_data import Features
    from multilogger.components.policies.policy import LearnedPolicy

FILE = "blind.safetensors"


class Sight(StrEnum):
    """What a policy, as validation rows judge it, has seen of them.

    `none`: it learned from none. `blind`: it learned from them, and each is judged by a part that did not.
    `all`: it learned from them as it is judged, so that its estimates are too good.
    """

    NONE = "none"
    BLIND = "blind"
    ALL = "all"


class JudgedLogits(NamedTuple):
    """The logits (m, size) by which validation rows judge a policy, NaN at contexts that may not."""

    logits: "Matrix"
    sight: Sight


def keep_blind(logits: "Matrix", run: StageRun) -> None:
    """Keep blind logits (m, size) of all contexts, as single floats."""
    from safetensors.numpy import save_file

    save_file({"logits": np.ascontiguousarray(logits, dtype=np.float32)}, run.file(FILE))


def judged_logits(policy: Artifact, learned: "LearnedPolicy", x: "Features") -> JudgedLogits:
    """Those that `learn` kept, or else the policy's own at contexts x (m, d)."""
    from safetensors.numpy import load_file

    if FILE in policy.files:
        return JudgedLogits(load_file(policy.folder / FILE)["logits"].astype(np.float64), Sight.BLIND)
    return JudgedLogits(learned.logits(x), Sight.ALL if learned.settings.get("fit_all") else Sight.NONE)
