"""Three studies beyond the paper: what each choice is worth where it is silent, more than two loggers, and
whether the loss adds up over labels.
"""

from dataclasses import dataclass
from statistics import median

from multilogger.components.reproduction.names import method_rank, preset_rank
from multilogger.components.reproduction.results import (
    CellResult,
    Reproduction,
    datasets_in_order,
    exp_by_seed,
    exp_over_seeds,
    grouped,
    paired,
)
from multilogger.components.reproduction.statistics import MeanOverSeeds, mean_over_seeds, p_value

DEFAULT = "default"

SENTENCES = {
    "loss_shift=none": "Take the losses as they are, so that avoiding the logged actions pays.",
    "loss_shift=poem": "Subtract the largest loss, as POEM does, so that every logged action attracts.",
    "loss_shift=baseline": "Subtract the mean loss of the better logger.",
    "loss_shift=running": "Subtract the current policy's own risk, anew each epoch.",
    "weights=raw": "Take the importance weights as they are, without a cut.",
    "weights=clip": "Cut the importance weights.",
    "weights=self-normalised": "Divide the importance weights by their mean over the mini-batch.",
    "standardise=false": "Feed the features as they are.",
    "standardise=true": "Standardise the features.",
    "batch_norm=true": "Put BatchNorm after every hidden layer, as in the appendix.",
    "batch_norm=false": "Leave BatchNorm out.",
    "freeze_lambda=true": "Keep the loggers' weights at 1/n instead of following lambda*.",
    "freeze_lambda=false": "Follow lambda*, anew each epoch.",
    "split_by=context": "Keep all replays of a context on one side of the validation split.",
    "split_by=row": "Split off validation rows one by one, so that a context may be on both sides.",
    "divergence=exact": "Hold the closed form of the divergence down, not the discriminator's estimate.",
    "divergence=variational": "Hold the discriminator's estimate of the divergence down, as in Algorithm 2.",
    "kappa=1000000": "Leave the constraint open, which is the direct method.",
    "pessimism=0": "Choose the epoch by the validation risk alone, whatever its noise.",
}
"""Choices by name, in words."""

SETTINGS = {
    "C": "Regularise the loggers with C = {value}.",
    "clip": "Cut the importance weights at {value}.",
    "hidden": "Give the policy network hidden layers of {value}.",
    "discriminator_hidden": "Give the discriminator hidden layers of {value}.",
    "risk_rate": "Learn from the risk at a rate of {value}.",
    "regulariser_rate": "Learn from the constraint at a rate of {value}.",
    "discriminator_rate": "Train the discriminator at a rate of {value}.",
    "weight_decay": "Use a weight decay of {value}.",
    "lambda_floor": "Leave every logger at least {value} of the total weight.",
    "kappa": "Set the constraint's threshold to {value}.",
    "tau": "Set the temperature to {value}.",
    "inner_iterations": "Allow {value} inner steps of Algorithm 2 for each step of Algorithm 1.",
    "warm_up_steps": "Warm the discriminator up for {value} steps.",
    "moving_average": "Smooth the constraint with a moving average of {value}.",
    "pessimism": "Add {value} standard errors to a validation risk before risks are compared.",
    "epochs": "Train for {value} epochs.",
    "patience": "Stop after {value} epochs without a better validation risk.",
    "batch_size": "Draw mini-batches of {value} rows from each logger.",
    "passes": "Replay the loggers {value} times.",
    "fraction": "Fit the loggers on {value} of the training rows.",
}
"""Settings whose value is a number, in words."""


@dataclass(frozen=True)
class ChoiceRow:
    """A choice on a dataset for a method; `difference` is EXP minus that of the default, paired by seed.

    It is empty (no seeds) for the default itself and where no seed has both.
    """

    dataset: str
    method: str
    preset: str
    choice: str
    cells: tuple[CellResult, ...]
    exp: MeanOverSeeds
    difference: MeanOverSeeds

    @property
    def p(self) -> float | None:
        return p_value(self.difference, 0.0)


def choice_sentence(choice: str) -> str | None:
    """A choice in words; None if its name is unknown."""
    name, _, value = choice.partition("=")
    spelt = f"{name}={value.lower()}"
    if spelt in SENTENCES:
        return SENTENCES[spelt]
    return SETTINGS[name].format(value=value) if value and name in SETTINGS else None


def choice_rows(reproduction: Reproduction) -> list[ChoiceRow]:
    """Rows by dataset and method, the default first, then as given."""
    datasets = datasets_in_order(reproduction)
    groups = grouped(reproduction.choices, lambda c: (c.dataset, c.method, c.preset, c.choice))
    rows = [_row(group, groups.get((*key[:3], DEFAULT), [])) for key, group in groups.items()]
    return sorted(
        rows,
        key=lambda r: (
            datasets.index(r.dataset),
            method_rank(r.method),
            preset_rank(r.preset),
            r.choice != DEFAULT,
        ),
    )


def _row(cells: list[CellResult], default: list[CellResult]) -> ChoiceRow:
    first, exps = cells[0], exp_by_seed(cells)
    pairs = [] if first.choice == DEFAULT else paired(exps, exp_by_seed(default))
    return ChoiceRow(
        dataset=first.dataset,
        method=first.method,
        preset=first.preset,
        choice=first.choice,
        cells=tuple(cells),
        exp=mean_over_seeds(list(exps.values())),
        difference=mean_over_seeds([chosen - usual for chosen, usual in pairs]),
    )


@dataclass(frozen=True)
class LoggerStudyRow:
    """A method on a dataset, with J loggers."""

    dataset: str
    method: str
    preset: str
    loggers: int
    cells: tuple[CellResult, ...]
    exp: MeanOverSeeds


def logger_study_rows(reproduction: Reproduction) -> list[LoggerStudyRow]:
    """Rows by dataset, method and number of loggers."""
    datasets = datasets_in_order(reproduction)
    groups = grouped(reproduction.loggers, lambda c: (c.dataset, c.method, c.preset, c.loggers or 0))
    keys = sorted(groups, key=lambda k: (datasets.index(k[0]), method_rank(k[1]), preset_rank(k[2]), k[3]))
    return [LoggerStudyRow(*key, tuple(groups[key]), exp_over_seeds(groups[key])) for key in keys]


TESTED_METHOD = "additive"
LEVEL = 0.05
"""Where the loss does add up, p is below it in this share of seeds."""


@dataclass(frozen=True)
class AdditivityRow:
    """The tests of a dataset, one per seed: how many have p < `LEVEL`, and the median p."""

    dataset: str
    preset: str
    cells: tuple[CellResult, ...]
    p_values: tuple[float, ...]

    @property
    def rejected(self) -> int:
        return sum(p < LEVEL for p in self.p_values)

    @property
    def rejected_share(self) -> float:
        return self.rejected / len(self.p_values)

    @property
    def median_p(self) -> float:
        return median(self.p_values)


def additivity_rows(reproduction: Reproduction) -> list[AdditivityRow]:
    """A row per dataset and preset that `additive` was run on."""
    datasets = datasets_in_order(reproduction)
    tested = [
        cell
        for cell in (*reproduction.table2, *reproduction.pairwise)
        if cell.method == TESTED_METHOD and cell.additivity_p is not None
    ]
    groups = grouped(tested, lambda c: (c.dataset, c.preset))
    return [
        AdditivityRow(
            *key, tuple(groups[key]), tuple(c.additivity_p for c in groups[key] if c.additivity_p is not None)
        )
        for key in sorted(groups, key=lambda key: (datasets.index(key[0]), preset_rank(key[1])))
    ]
