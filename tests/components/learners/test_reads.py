"""What is said of the settings that a method reads, against what it does with them."""

from typing import Any

from multilogger.components.learners.learn import Learned
from multilogger.components.learners.methods import METHODS
from multilogger.components.learners.training.settings import settings_about

OTHER_TEXTS = {"divergence": "exact", "loss": "crowding", "loss_shift": "poem", "weights": "raw"}
PAIRS = [(method, name) for method in METHODS for name in settings_about(METHODS[method].settings)]

# Under which settings a change of one shows, where it does not show under the usual ones.
SHOWS: dict[str, dict[str, Any]] = {
    "warm_start_rate": {"warm_start": 1},
    "patience": {"epochs": 12, "patience": 1, "risk_rate": 0.3, "policy_rate": 0.3},
    "clip": {"clip": 1.05},
    "lambda_floor": {"lambda_floor": 0.3},
    "least_mean_weight": {"least_mean_weight": 0.001},
    "constraint_tolerance": {"constraint_tolerance": 0.0},
}
OTHERS: dict[str, Any] = {
    "clip": 1.5,
    "patience": 6,
    "lambda_floor": 0.45,
    "constraint_floor": 0.45,
    "least_mean_weight": 0.999,
    "most_mean_weight": 1.001,
    "least_effective_rows": 1e6,
    "constraint_tolerance": 1e9,
    "shift_share": 0.5,
    "memory_rows": 60,
}


def another(name: str, value: Any) -> Any:
    """A valid value that is not this one."""
    if name in OTHERS:
        return OTHERS[name]
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return type(value)(OTHER_TEXTS[name])
    if isinstance(value, tuple):
        return (*value, 7)
    return value + 1 if isinstance(value, int) else 0.5 * value + 0.1


def outcome(learned: Learned) -> tuple[str, tuple[bytes, ...]]:
    """Every figure of every epoch, and the bits of the policy."""
    weights = learned.policy.network.state_dict().values()
    return repr(learned.records), tuple(part.numpy().tobytes() for part in weights)
