"""What missing propensities cost: learning and evaluation with logged ones and with estimated ones.

`python benchmarks/missing_propensities.py replay satimage FILE`: FILE is svmlight text of the dataset.
`python benchmarks/missing_propensities.py obd FOLDER men`: FOLDER holds the Open Bandit Dataset as published.
"""

import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import multilogger as ml

SIZES = {"satimage": (36, 6), "optdigits": (64, 10)}
SEEDS = 2


def say(thing: object) -> None:
    sys.stdout.write(f"{thing}\n")
    sys.stdout.flush()


def without(log: ml.BanditLog) -> ml.BanditLog:
    """The log as if nobody had logged a propensity."""
    return replace(log, log_propensity=np.full(len(log), np.nan), log_propensities=None, logger_policies=())


def true_risk(policy: ml.Learner, log: ml.BanditLog) -> float:
    """The expected zero-one loss on the contexts of a log, from their right actions."""
    assert log.truth is not None
    p = policy.predict_proba(np.asarray(log.x))
    return float(1.0 - p[np.arange(len(p)), log.truth].mean())


def replay(name: str, path: str) -> None:
    features, classes = SIZES[name]
    data = ml.datasets.load_svmlight(path, features, classes=classes)
    rows = []
    for seed in range(SEEDS):
        log = ml.datasets.replay(data, passes=1, seed=seed)
        train, test = log.split(test=0.3, by="context", seed=seed)
        guess, judge = (without(one).estimate_propensities(seed=seed) for one in (train, test))
        error = np.abs(judge.log_propensities - test.log_propensities)  # type: ignore[operator]
        say(f"seed {seed}: median error of log propensities on test {np.median(error):.3f}")
        say(judge.propensity_report)
        for method in ("dm", "balanced", "dr"):
            for kind, used in (("logged", train), ("estimated", guess)):
                policy = ml.learner(method, seed=seed).fit(used)
                row = {"seed": seed, "method": method, "learned from": kind, "risk": true_risk(policy, test)}
                for how, with_ in (("logged", test), ("estimated", judge)):
                    found = ml.evaluate(policy, with_, bootstrap=200, seed=seed).to_pandas()
                    for estimator in ("naive-sn", "balanced-sn", "dr"):
                        row[f"{estimator} {how}"] = found.loc[estimator, "value"]
                    low, high = found.loc["balanced-sn", ["low", "high"]]
                    row[f"inside {how}"] = float(low <= row["risk"] <= high)
                rows.append(row)
                say(row)
    table = pd.DataFrame(rows).groupby(["method", "learned from"]).mean().drop(columns="seed")
    say(table.round(4).T.to_string())


def obd(folder: str, campaign: str) -> None:
    parts = []
    for name in ("random", "bts"):
        part = pd.read_csv(Path(folder) / name / campaign / f"{campaign}.csv.bz2", index_col=0)
        parts.append(part.assign(policy=name, timestamp=pd.to_datetime(part["timestamp"], format="ISO8601")))
    frame = pd.concat(parts, ignore_index=True)
    frame["position"] = frame["position"].astype(str)
    users = [f"user_feature_{i}" for i in range(4)]
    log = ml.BanditLog.from_pandas(
        frame, action="item_id", reward="click", propensity="propensity_score", logger="policy",
        features=["position", *users], time="timestamp",
    )  # fmt: skip
    for time in (False, True):
        done = without(log).estimate_propensities(seed=0, time=time)
        checked = log.estimate_propensities(seed=0, time=time)
        say(f"time={time}")
        say(done.propensity_report)
        for j, name in enumerate(log.loggers):
            own = log.logger == j
            error = done.log_propensity[own] - log.log_propensity[own]
            logged, guessed = log.log_propensity[own], done.log_propensity[own]
            r = np.corrcoef(logged, guessed)[0, 1] if logged.std() > 1e-9 else np.nan
            say(
                f"{name}: logged log-likelihood {logged.mean():.4f}, estimated {guessed.mean():.4f}, median "
                f"|error| {np.median(np.abs(error)):.3f}, r.m.s. {np.sqrt(np.mean(error**2)):.3f}, "
                f"correlation {r:.3f}"
            )
        other = np.flatnonzero(log.logger == log.loggers.index("bts"))
        actions = len(log.actions)
        for kind, p in (("logged", log.log_propensity[other]), ("estimated", done.log_propensity[other])):
            w = 1.0 / actions / np.exp(p)
            value = w * (1.0 - log.loss[other])
            error = value.std() / np.sqrt(len(value))
            say(f"uniform policy from the sampler's rows, {kind}: {value.mean():.4f} +- {error:.4f}")
        say(checked.propensity_report)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"replay": replay, "obd": obd}[sys.argv[1]](sys.argv[2], sys.argv[3])
