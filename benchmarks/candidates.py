"""Settings that stand for election: learned with every seed, compared pairwise on validation, and recorded.

Two candidates learn from the same logs with the same seeds, so the noise that a seed brings to both cancels
in the difference of their scores. One replaces the other only if that difference is clear.
"""

import csv
import json
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from scipy import stats

from multilogger.components.learners.learn import learn
from multilogger.components.learners.loss_models.form import additive_loss
from multilogger.components.learners.training.settings import Settings, plain_settings
from multilogger.components.log.memory import TrainingLog

COLUMNS = (
    "dataset", "method", "preset", "changed", "seeds", "score", "score_se", "risk", "against", "difference",
    "difference_se", "eligible", "best_epoch", "cpu_seconds", "chosen",
)  # fmt: skip


ADDITIVE_METHODS = ("additive", "additive-soft")
ROUNDING = 1e-3  # one seed of many that differs is a standard error off to the last digits


@dataclass(frozen=True)
class Outcome:
    """The best epoch of one seed; of an additive model, score and risk are both its squared error."""

    score: float
    risk: float
    eligible: bool
    epoch: int
    cpu_seconds: float


@dataclass(frozen=True)
class Candidate:
    """Settings, what was changed in them, and what came of it, one outcome a seed."""

    method: str
    settings: Settings
    changed: dict[str, object]
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.changed.items()) or "start"

    @property
    def eligible(self) -> bool:
        return all(outcome.eligible for outcome in self.outcomes.values())

    def mean(self, what: str) -> float:
        return statistics.fmean(getattr(outcome, what) for outcome in self.outcomes.values())

    @property
    def score_se(self) -> float:
        return standard_error([outcome.score for outcome in self.outcomes.values()])


@dataclass(frozen=True)
class Difference:
    """One candidate minus another over the seeds that both have: mean and standard error."""

    mean: float
    standard_error: float


def standard_error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def difference(
    one: Candidate, other: Candidate, what: str = "score", seeds: Sequence[int] = ()
) -> Difference:
    shared = [seed for seed in one.outcomes if seed in other.outcomes and (not seeds or seed in seeds)]
    values = [getattr(one.outcomes[s], what) - getattr(other.outcomes[s], what) for s in shared]
    return Difference(statistics.fmean(values), standard_error(values))


def clearly_better(one: Candidate, other: Candidate) -> bool:
    """Whether `one` should replace `other`.

    Its paired score is lower by more than a standard error, which a difference in one seed alone never is,
    and its risk is not higher: the score adds a standard error to the risk, so a policy that merely stays
    closer to the logs lowers it without being better. What the guard refuses never replaces what it accepts.
    """
    if one.eligible != other.eligible:
        return one.eligible
    score = difference(one, other)
    clear = score.mean < 0 and abs(score.mean) > (1.0 + ROUNDING) * score.standard_error
    return clear and difference(one, other, "risk").mean <= 0


def surely_better(one: Candidate, other: Candidate) -> bool:
    """Clearly better, and the 95 % interval of the paired difference of scores lies below 0."""
    score, seeds = difference(one, other), len(set(one.outcomes) & set(other.outcomes))
    bound = float(stats.t.ppf(0.975, seeds - 1)) * score.standard_error if seeds > 1 else math.inf
    return clearly_better(one, other) and score.mean + bound < 0


def judge(candidate: Candidate, logs: dict[int, TrainingLog], seeds: Sequence[int]) -> Candidate:
    """Learn with those of the seeds that are still missing; time is the CPU's, free of other processes."""
    for seed in seeds:
        if seed in candidate.outcomes:
            continue
        candidate.outcomes[seed] = outcome_of(candidate, logs[seed], seed)
    return candidate


def outcome_of(candidate: Candidate, log: TrainingLog, seed: int) -> Outcome:
    """Learn once and look at the validation split.

    An additive model is judged by its squared error, made of logged losses alone: under a nearly uniform
    logger that is the Brier score of its probabilities, which is why it chooses well.
    """
    started = time.process_time()
    learned = learn(candidate.method, log, candidate.settings, seed)
    seconds = time.process_time() - started
    best = learned.best
    score, risk = best.validation_score, best.validation_risk
    if candidate.method in ADDITIVE_METHODS:
        unseen, p = log.part(validation=True), learned.policy.mean_probabilities(log.x)
        residuals = unseen.delta - additive_loss(p[unseen.context], unseen.action)
        score = risk = float(residuals @ residuals) / len(residuals)
    return Outcome(score, risk, best.eligible, best.epoch, seconds)


def describe(candidate: Candidate, against: Candidate | None) -> str:
    scores = " ".join(f"{outcome.score:.3f}" for outcome in candidate.outcomes.values())
    line = f"{candidate.mean('score'):.4f}  risk {candidate.mean('risk'):.4f}"
    if against is not None and against is not candidate:
        margin = difference(candidate, against)
        line += f"  difference {margin.mean:+.4f} ± {margin.standard_error:.4f}"
    guard = "" if candidate.eligible else "  (refused by the guard)"
    return (
        f"{line}  epoch {candidate.mean('epoch'):.0f}  {candidate.mean('cpu_seconds'):.1f} s"
        f"  {candidate.name}  [{scores}]{guard}"
    )


OnCandidate = Callable[[Candidate, Candidate | None], None]


def show(candidate: Candidate, against: Candidate | None) -> None:
    print(describe(candidate, against), flush=True)  # noqa: T201


def to_mlflow(dataset: str, method: str) -> OnCandidate:
    """Log every candidate as a run of `multilogger-search/<dataset>` at MLFLOW_TRACKING_URI."""
    import mlflow

    mlflow.set_experiment(f"multilogger-search/{dataset}")

    def tell(candidate: Candidate, against: Candidate | None) -> None:
        with mlflow.start_run(run_name=f"{dataset} · {method} · {candidate.name}"):
            mlflow.log_params({"method": candidate.method, **plain_settings(candidate.settings)})
            mlflow.set_tags(
                {"search": method, "changed": candidate.name, "outcome": describe(candidate, against)}
            )
            metrics = {
                "validation_score": candidate.mean("score"),
                "validation_risk": candidate.mean("risk"),
                "best_epoch": candidate.mean("epoch"),
                "eligible": float(candidate.eligible),
                "cpu_seconds": candidate.mean("cpu_seconds"),
                "seeds": float(len(candidate.outcomes)),
            }
            if against is not None and against is not candidate:
                margin = difference(candidate, against)
                metrics |= {"difference": margin.mean, "difference_se": margin.standard_error}
            mlflow.log_metrics(metrics)
            mlflow.log_dict({seed: asdict(o) for seed, o in candidate.outcomes.items()}, "seeds.json")
        show(candidate, against)

    return tell


def row_of(
    dataset: str, method: str, candidate: Candidate, against: Candidate, chosen: bool
) -> dict[str, str]:
    margin = difference(candidate, against)
    numbers = {
        "score": candidate.mean("score"), "score_se": candidate.score_se, "risk": candidate.mean("risk"),
        "difference": margin.mean, "difference_se": margin.standard_error,
        "best_epoch": candidate.mean("epoch"), "cpu_seconds": candidate.mean("cpu_seconds"),
    }  # fmt: skip
    return {
        "dataset": dataset,
        "method": method,
        "changed": candidate.name,
        "seeds": str(len(candidate.outcomes)),
        "against": against.name,
        "eligible": str(candidate.eligible).lower(),
        "chosen": str(chosen).lower(),
    } | {name: f"{value:.4f}" for name, value in numbers.items()}


def write_rows(path: Path, fresh: list[dict[str, str]]) -> None:
    """Put the rows of one search into the table of all, in place of earlier rows of the same candidates.

    What an earlier search of the same method chose is chosen no more.
    """

    def key(row: dict[str, str]) -> tuple[str, ...]:
        return row["dataset"], row["method"], row["preset"], row["changed"]

    rows: dict[tuple[str, ...], dict[str, str]] = {}
    if path.exists():
        with path.open(newline="") as file:
            rows = {key(row): row for row in csv.DictReader(file)}
    searched = {(row["dataset"], row["method"], row["preset"]) for row in fresh}
    for row in rows.values():
        if (row["dataset"], row["method"], row["preset"]) in searched:
            row["chosen"] = "false"
    rows |= {key(row): row for row in fresh}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in sorted(rows))


def settings_as_json(settings: Settings) -> str:
    return json.dumps(plain_settings(settings))
