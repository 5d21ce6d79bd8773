"""One class per method. The paper is "Off-policy Learning for Multiple Loggers" (He et al., KDD 2019)."""

import types
from typing import Any

from multilogger.components.api.learner import Learner
from multilogger.components.api.method_settings import Origin, preset_of
from multilogger.components.learners.methods import find_method


class Naive(Learner, method="naive"):
    """Naive IPS (section 2.1): all rows weigh the same, whoever logged them."""


class Weighted(Learner, method="weighted"):
    """Weighted IPS (section 2.1.1): each logger has the weight lambda* that makes the variance least."""


class Balanced(Learner, method="balanced"):
    """Balanced IPS (section 6): the loggers are taken as one, their average. Needs all propensities."""


class NaiveReg(Learner, method="naive-reg"):
    """Naive IPS under a bound on the divergence from the loggers (Algorithm 2)."""


class WeightedReg(Learner, method="weighted-reg"):
    """Weighted IPS under a bound on the divergence from the loggers (Algorithm 2)."""


class BalancedReg(Learner, method="balanced-reg"):
    """Balanced IPS under a bound on the divergence from the average logger. Needs the loggers' policies."""


class NaiveExact(Learner, method="naive-exact"):
    """`NaiveReg` with the divergence in closed form. Needs the loggers' policies."""


class WeightedExact(Learner, method="weighted-exact"):
    """`WeightedReg` with the divergence in closed form. Needs the loggers' policies."""


class BalancedExact(Learner, method="balanced-exact"):
    """`BalancedReg` with the divergence in closed form. Needs the loggers' policies."""


class Ls(Learner, method="ls"):
    """Logarithmic smoothing of balanced weights (Sakhi et al. 2024): pessimistic. Needs all propensities."""


class Ix(Learner, method="ix"):
    """Implicit exploration: propensities of the average logger are raised. Needs all propensities."""


class AdditiveIps(Learner, method="additive-ips"):
    """Importance weights that add up over labels, for a loss that does. Needs the loggers' policies.

    For label vectors.
    """


class Wcrm(Learner, method="wcrm"):
    """Weighted counterfactual risk minimisation: a linear policy and POEM's penalty of the variance."""


class Additive(Learner, method="additive"):
    """A model of the loss as a sum over labels, and the policy that takes what it says is best.

    For label vectors; `Dm` is for one of K actions.
    """


class AdditiveSoft(Learner, method="additive-soft"):
    """`Additive` with a policy that stays in doubt where the model is. For label vectors."""


class Dm(Learner, method="dm"):
    """The direct method: a model of the loss of each action, and the policy that takes the best by it.

    For one of K actions; `Additive` is for label vectors.
    """


class Dr(Learner, method="dr"):
    """Doubly robust learning: a model of the loss, corrected by importance-weighted residuals.

    The model is that of `Additive` for label vectors and that of `Dm` for one of K actions.
    """


class Auto(Learner, method="auto"):
    """A portfolio: the loss model's policy, and the best logger, sharpened and greedy.

    Each is judged on contexts that it has not seen. The best of those that are shown to be better than every
    logger is returned, or the best logger where none is. With a chance of at least `confidence`, a policy
    that is no logger is no worse than the best one; `evidence` says what may show it. Sets `verdict_`.
    """


class FullInformation(Learner, method="full-information"):
    """The networks of the loss models on the right actions, which no log has: a reference, and a limit.

    Needs `log.with_truth`.
    """


LEARNERS: dict[str, type[Learner]] = {
    kind.method: kind
    for kind in (
        Wcrm,
        Naive,
        NaiveReg,
        NaiveExact,
        Weighted,
        WeightedReg,
        WeightedExact,
        Balanced,
        BalancedReg,
        BalancedExact,
        Ls,
        Ix,
        AdditiveIps,
        Additive,
        AdditiveSoft,
        Dm,
        Dr,
        Auto,
        FullInformation,
    )
}
"""The classes by the names that the command line has for them, in the order of `METHODS`."""


def learner(method: str, *, preset: str | None = None, dataset: str = "", **settings: Any) -> Learner:
    """A learner by the name of its method.

    The defaults are ours for a dataset that nobody tuned for. With `preset` they are those that the command
    line has for a dataset: "tuned", "printed-objective" or "paper"; "auto" goes by the log alone.

    >>> import multilogger as ml
    >>> ml.learner("weighted", clip=10.0)
    Weighted(clip=10.0)
    >>> ml.learner("weighted", preset="tuned", dataset="digits")
    Weighted(warm_start=90, warm_start_rate=0.01)
    """
    title = find_method(method).title
    if method not in LEARNERS:  # one that was registered elsewhere gets a class when it is asked for
        LEARNERS[method] = types.new_class(title.replace("-", ""), (Learner,), {"method": method})
    if preset is None:
        return LEARNERS[method](**settings)
    made = LEARNERS[method](**{**preset_of(method, preset, dataset), **settings})
    made._given, made._origin = frozenset(settings), Origin(preset, dataset)
    return made
