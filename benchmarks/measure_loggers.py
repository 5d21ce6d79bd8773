"""Expected Hamming loss of the loggers and the CRF over seeds, beside the paper's Table 2.

python benchmarks/measure_loggers.py MIRROR [SEEDS]
"""

import sys
from pathlib import Path

import numpy as np
from scipy import stats

from multilogger.components.actions.label_losses import expected_hamming
from multilogger.components.datasets.labelled_data import LabelledData
from multilogger.components.datasets.registry import find_dataset
from multilogger.components.datasets.svmlight import read_svmlight
from multilogger.components.loggers.crf import fit_crf
from multilogger.components.loggers.linear import LinearPolicy, random_share

CASES = (
    ("scene", 0.1, "2.866 / 0.960"),
    ("yeast", 0.1, "-"),
    ("yeast", 0.03, "6.898 / 4.306"),
    ("tmc500", 0.1, "-"),
)
CRF_C = 0.3


def load(mirror: Path, name: str) -> tuple[LabelledData, LabelledData]:
    spec = find_dataset(name)
    files = ((spec.train_file, spec.n_train), (spec.test_file, spec.n_test))
    train, test = (read_svmlight(mirror / str(file), spec, rows) for file, rows in files)
    return train, test


def exp(
    weights: np.ndarray[tuple[int, int], np.dtype[np.float64]], alpha: float, test: LabelledData
) -> float:
    return float(expected_hamming(LinearPolicy(weights, alpha).logits(test.x), test.y).mean())


def interval(values: list[float]) -> str:
    """Mean and half-width of the 95 % interval over seeds."""
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.3f} ± {half:.3f}"


def main(mirror: Path, seeds: int) -> None:
    for name, C, paper in CASES:
        train, test = load(mirror, name)
        samples = [random_share(train.rows, 0.2, np.random.default_rng(seed)) for seed in range(seeds)]
        fits = [fit_crf(train.take(rows), C) for rows in samples]
        first, second = (interval([exp(w, alpha, test) for w in fits]) for alpha in (0.05, 2.0))
        crf = exp(fit_crf(train, CRF_C), 1.0, test)
        sys.stdout.write(
            f"{name:7} C={C:<5} logger 1 {first}  logger 2 {second}  paper {paper}  crf {crf:.3f}\n"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10)
