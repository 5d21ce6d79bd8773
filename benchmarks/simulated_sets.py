"""Simulated sets of the shapes of classic multi-label and multi-class data, with what makes these hard.

Labels are rare and go together, their rules have one to three features or are curved, some are left out or
wrong; words are as frequent as a power law says; columns are constant, copies of each other, or of scales up
to 1e6; classes are unequal and have several clusters each. Everything follows from the seed.

`SETS` has a function for each shape, of a generator: rows of train and test, contexts and right actions.
`benchmarks/unseen.py` measures the folder that this writes:

    python benchmarks/simulated_sets.py FOLDER [--only flags,vowel] [--seed 0]
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.actions.labels import Labels
from multilogger.components.actions.one_of import OneOf
from multilogger.components.datasets.labelled_data import Features, LabelledData, TrainTest

Array = NDArray[np.float64]
Chances = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """How many rows there are of train and of test, features, and labels or classes."""

    train: int
    test: int
    features: int
    size: int

    @property
    def rows(self) -> int:
        return self.train + self.test


def words(
    rng: np.random.Generator, shape: Shape, topic: NDArray[np.int64], length: float
) -> sparse.csr_array:
    """Rare words, 0 or 1, as frequent as a power law says; every topic has words of its own: (n, d)."""
    topics = int(topic.max()) + 1
    common = 1.0 / np.arange(1, shape.features + 1) ** 0.9
    lift = np.ones((topics, shape.features))
    for one in range(topics):
        own = rng.permutation(shape.features)[: max(4, shape.features // (2 * topics))]
        lift[one, own] = rng.gamma(2.0, 12.0, len(own))
    chance = common * lift
    chance *= length / chance.sum(axis=1, keepdims=True)
    rows, columns = [], []
    for row, one in enumerate(topic):
        found = np.flatnonzero(rng.random(shape.features) < np.minimum(chance[one], 0.9))
        rows.append(np.full(len(found), row))
        columns.append(found)
    place = np.concatenate(rows), np.concatenate(columns)
    values = np.ones(len(place[0]), dtype=np.float32)
    return sparse.csr_array((values, place), shape=(len(topic), shape.features))


def spoilt(rng: np.random.Generator, y: NDArray[np.uint8], missing: float, wrong: float) -> NDArray[np.uint8]:
    """Labels of which a share is left out, and about as many in a thousand put in."""
    left_out = rng.random(y.shape) < missing
    put_in = rng.random(y.shape) < wrong * y.mean()
    return ((y & ~left_out) | put_in).astype(np.uint8)


def at_rates(score: Array, rates: Array) -> NDArray[np.uint8]:
    """Each label on where its score (n, q) is among its highest."""
    return np.stack(
        [score[:, k] > np.quantile(score[:, k], 1.0 - rate) for k, rate in enumerate(rates)], axis=1
    ).astype(np.uint8)


def power_rates(rng: np.random.Generator, labels: int, mean: float, power: float = 1.0) -> Array:
    """Rates of labels, few frequent and many rare, that sum up to `mean` at each row."""
    rates = 1.0 / (np.arange(labels) + 2.0) ** power
    return np.minimum(rng.permutation(rates * mean / rates.sum()), 0.7)


def text_labels(
    rng: np.random.Generator,
    shape: Shape,
    mean: float,
    length: float,
    noise: float,
    topics: int,
) -> tuple[Features, NDArray[np.uint8]]:
    """Labels of a text: words of topics, and of each label some words that speak for it."""
    x = words(rng, shape, rng.choice(topics, shape.rows, p=_unequal(rng, topics)), length)
    seen = np.asarray(x.sum(axis=0)).ravel()
    weights = np.zeros((shape.features, shape.size))
    usable = np.flatnonzero(seen >= max(4, shape.rows // 100))
    for k in range(shape.size):
        own = rng.choice(usable, 6, replace=False)
        weights[own, k] = rng.gamma(2.0, 1.0, 6)
    score = x @ weights
    for k in range(1, shape.size, 3):  # every third label goes with another one
        score[:, k] += 0.7 * score[:, k - 1]
    score = score + noise * rng.gumbel(size=score.shape)
    return x, spoilt(rng, at_rates(score, power_rates(rng, shape.size, mean)), 0.05, 0.01)


def medical(rng: np.random.Generator) -> tuple[Shape, Features, NDArray[np.uint8]]:
    """A label is on where a text has its word, but for some rows."""
    shape = Shape(333, 645, 1449, 45)
    x = words(rng, shape, rng.choice(20, shape.rows, p=_unequal(rng, 20)), 13)
    seen = np.asarray(x.sum(axis=0)).ravel()
    rates = power_rates(rng, 45, 1.25)
    near = [np.argsort(np.abs(seen - rate * shape.rows), kind="stable")[:8] for rate in rates]
    own = [rng.choice(one) for one in near]
    return shape, x, spoilt(rng, (x[:, own].toarray() > 0).astype(np.uint8), 0.05, 0.2)


def bibtex(rng: np.random.Generator) -> tuple[Shape, Features, NDArray[np.uint8]]:
    shape = Shape(4880, 2515, 1836, 159)
    return shape, *text_labels(rng, shape, 2.4, 68, 0.8, 40)


def protein(rng: np.random.Generator) -> tuple[Shape, Features, NDArray[np.uint8]]:
    """A label is on where one of one to three features is, but for an odd row."""
    shape = Shape(463, 199, 1186, 27)
    family = rng.choice(27, shape.rows, p=_unequal(rng, 27, 1.2))
    x = np.zeros((shape.rows, shape.features), dtype=np.float32)
    y = np.zeros((shape.rows, 27), dtype=np.uint8)
    motif = rng.permutation(shape.features)[: 27 * 3].reshape(27, 3)
    for k in range(27):
        own = np.flatnonzero((family == k) | (rng.random(shape.rows) < 0.01))
        for row in own:
            x[row, motif[k, : rng.integers(1, 4)]] = 1.0
    y = np.stack([x[:, motif[k]].max(axis=1) for k in range(27)], axis=1).astype(np.uint8)
    noise = rng.random(x.shape) < 0.002
    noise[:, motif.ravel()] = False
    return shape, np.maximum(x, noise).astype(np.float32), y


def curved(rng: np.random.Generator, x: Array, hidden: int, size: int) -> Array:
    """Scores of a random network of standardised x (n, d): (n, size)."""
    z = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)
    inner = np.tanh(z @ rng.normal(size=(x.shape[1], hidden)) * 1.5 / np.sqrt(x.shape[1]))
    return np.asarray(inner @ rng.normal(size=(hidden, size)) / np.sqrt(hidden))


def mixed(rng: np.random.Generator, rows: int, features: int, rank: int) -> Array:
    """Columns that go together: (n, d)."""
    latent = rng.normal(size=(rows, rank))
    return np.asarray(latent @ rng.normal(size=(rank, features)) + 0.7 * rng.normal(size=(rows, features)))


def music(rng: np.random.Generator) -> tuple[Shape, Features, NDArray[np.uint8]]:
    """174 labels, 26 of them on, that features hardly tell."""
    shape = Shape(300, 202, 68, 174)
    x = mixed(rng, shape.rows, shape.features, 12)
    score = curved(rng, x, 30, shape.size) + 1.2 * rng.normal(size=(shape.rows, shape.size))
    rates = np.clip(rng.beta(0.8, 4.0, shape.size), 0.02, 0.9)
    return shape, x.astype(np.float32), at_rates(score, rates * 26.0 / rates.sum())


def images(rng: np.random.Generator) -> tuple[Shape, Features, NDArray[np.uint8]]:
    shape = Shape(4500, 500, 499, 374)
    return shape, *text_labels(rng, shape, 3.5, 8, 1.5, 60)


def flags(rng: np.random.Generator) -> tuple[Shape, Features, NDArray[np.uint8]]:
    """Columns of many scales: numbers of people, areas, codes; one constant, one copied."""
    shape = Shape(129, 65, 19, 7)
    x = mixed(rng, shape.rows, shape.features, 5)
    x[:, :9] = np.round(x[:, :9])
    score = curved(rng, x, 12, 7) + 0.5 * rng.normal(size=(shape.rows, 7))
    x[:, 3], x[:, 5] = 1.0, x[:, 4]
    x[:, 10] = np.exp(2.5 * x[:, 10] / x[:, 10].std())
    x[:, 11] = 1e3 * np.abs(x[:, 11])
    return shape, x.astype(np.float32), at_rates(score, rng.uniform(0.2, 0.8, 7))


def concepts(rng: np.random.Generator, rows: int = 20_000) -> tuple[Shape, Features, NDArray[np.uint8]]:
    """Mediamill's: many rows, dense features of small numbers, a few labels nearly always on."""
    shape = Shape(rows, rows // 4, 120, 101)
    x = mixed(rng, shape.rows, shape.features, 15)
    score = curved(rng, x, 60, shape.size) + 0.5 * rng.normal(size=(shape.rows, shape.size))
    y = at_rates(score, power_rates(rng, shape.size, 4.4, 1.3))
    x = 1.0 / (1.0 + np.exp(-x))
    x[:, 7] = 0.25
    return shape, x.astype(np.float32), spoilt(rng, y, 0.02, 0.05)


def scales(rng: np.random.Generator) -> tuple[Shape, Features, NDArray[np.uint8]]:
    """Columns of scales 1e-3 to 1e6, some of them constant, labels missing."""
    shape = Shape(1500, 900, 40, 12)
    x = mixed(rng, shape.rows, shape.features, 8)
    score = curved(rng, x, 30, shape.size) + 0.3 * rng.normal(size=(shape.rows, shape.size))
    y = at_rates(score, power_rates(rng, shape.size, 3.0))
    x = x * 10.0 ** rng.integers(-3, 7, shape.features)
    x[:, :3] = np.array([0.0, 1.0, 1e6])
    return shape, x.astype(np.float32), spoilt(rng, y, 0.15, 0.02)


def clusters(
    rng: np.random.Generator,
    shape: Shape,
    rank: int,
    spread: float,
    each: int,
    wrong: float,
    power: float = 0.0,
) -> tuple[Array, NDArray[np.int64]]:
    """Classes of several clusters each in a space of low rank, some rows of a wrong class."""
    y = rng.choice(shape.size, shape.rows, p=_unequal(rng, shape.size, power))
    centres = rng.normal(size=(shape.size, each, rank))
    shapes = rng.normal(size=(shape.size, rank, rank)) / np.sqrt(rank)
    own = centres[y, rng.integers(each, size=shape.rows)]
    latent = own + spread * np.einsum("nij,nj->ni", shapes[y], rng.normal(size=(shape.rows, rank)))
    x = latent @ rng.normal(size=(rank, shape.features)) + 0.3 * rng.normal(size=(shape.rows, shape.features))
    odd = rng.random(shape.rows) < wrong
    return x, np.where(odd, rng.integers(shape.size, size=shape.rows), y)


def classes(
    shape: Shape, rank: int, spread: float, each: int, wrong: float = 0.0, power: float = 0.0, scale: int = 0
) -> Callable[[np.random.Generator], tuple[Shape, Features, NDArray[np.int64]]]:
    """A set of clusters; `scale` is the largest power of ten of a column."""

    def make(rng: np.random.Generator) -> tuple[Shape, Features, NDArray[np.int64]]:
        x, y = clusters(rng, shape, rank, spread, each, wrong, power)
        if scale:
            x = x * 10.0 ** rng.integers(-2, scale + 1, shape.features)
            x[:, 2] = 9.0
        return shape, x.astype(np.float32), y

    return make


def dna(rng: np.random.Generator) -> tuple[Shape, Features, NDArray[np.int64]]:
    """Sixty places of four letters, three bits each; a class needs letters around the middle."""
    shape = Shape(2000, 1186, 180, 3)
    letter = rng.integers(4, size=(shape.rows, 60))
    kind = rng.choice(3, shape.rows, p=[0.25, 0.25, 0.5])
    motif = rng.integers(4, size=(2, 7))
    for k in range(2):
        for place in range(7):
            own = (kind == k) & (rng.random(shape.rows) < 0.88)
            letter[own, 27 + place + k] = motif[k, place]
    bits = np.stack([letter == one for one in range(3)], axis=2).reshape(shape.rows, 180)
    return shape, bits.astype(np.float32), kind


def news(rng: np.random.Generator) -> tuple[Shape, Features, NDArray[np.int64]]:
    """Words by their inverse frequency, rows of length 1."""
    shape = Shape(5000, 2500, 20_000, 20)
    y = rng.integers(20, size=shape.rows)
    x = words(rng, shape, y, 90)
    other = rng.random(shape.rows) < 0.08
    frequency = np.maximum(np.asarray(x.sum(axis=0)).ravel(), 1.0)
    x = sparse.csr_array(x * np.log(shape.rows / frequency).astype(np.float32))
    length = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    x = sparse.csr_array(sparse.diags(1.0 / np.maximum(length, 1e-9)) @ x).astype(np.float32)
    return shape, x, np.where(other, rng.integers(20, size=shape.rows), y)


def bundled(name: str) -> Callable[[np.random.Generator], tuple[Shape, Features, NDArray[np.int64]]]:
    """A real set that scikit-learn has, in random halves; digits by two labels: odd, and above four."""

    def make(rng: np.random.Generator) -> tuple[Shape, Features, NDArray[np.int64]]:
        from sklearn import datasets

        found = getattr(datasets, f"load_{name.split('-')[0]}")()
        order = rng.permutation(len(found.target))
        x, y = found.data[order].astype(np.float32), found.target[order].astype(np.int64)
        train = len(y) * 6 // 10
        if name.endswith("labels"):
            y = np.stack([y % 2, y > 4, y == 0, y % 3 == 0], axis=1).astype(np.uint8)
        size = y.shape[1] if y.ndim == 2 else int(y.max()) + 1
        return Shape(train, len(y) - train, x.shape[1], size), x, y

    return make


def _unequal(rng: np.random.Generator, count: int, power: float = 0.7) -> Array:
    """Shares of kinds, as unequal as a power law says; 0 is equal."""
    shares = 1.0 / np.arange(1, count + 1) ** power
    return np.asarray(rng.permutation(shares / shares.sum()))


SETS: dict[str, Callable[[np.random.Generator], tuple[Shape, Features, NDArray[np.integer]]]] = {
    "medical": medical,
    "protein": protein,
    "music": music,
    "flags": flags,
    "scales": scales,
    "images": images,
    "bibtex": bibtex,
    "concepts": concepts,
    "digits-labels": bundled("digits-labels"),
    "wine": bundled("wine"),
    "breast_cancer": bundled("breast_cancer"),
    "iris": bundled("iris"),
    "glass": classes(Shape(128, 86, 9, 6), 5, 0.7, 2, 0.03, 1.0),
    "vowel": classes(Shape(528, 462, 10, 11), 6, 0.5, 3),
    "two": classes(Shape(690, 400, 14, 2), 6, 0.9, 3, 0.08, scale=4),
    "segment": classes(Shape(1500, 810, 19, 7), 5, 0.5, 2, scale=6),
    "dna": dna,
    "letter-3000": classes(Shape(3000, 2000, 16, 26), 9, 0.5, 3),
    "letter": classes(Shape(10_000, 5000, 16, 26), 9, 0.5, 3),
    "pendigits": classes(Shape(7494, 3498, 16, 10), 8, 0.45, 4),
    "usps": classes(Shape(7291, 2007, 256, 10), 20, 0.6, 4, 0.01),
    "hundred": classes(Shape(1000, 600, 64, 100), 20, 0.35, 1),
    "news": news,
}


def make(name: str, seed: int = 0) -> TrainTest:
    """A set by its name."""
    shape, x, y = SETS[name](np.random.default_rng([seed, *name.encode()]))
    space = Labels(shape.size) if y.ndim == 2 else OneOf(shape.size)
    y = y.astype(np.uint8 if y.ndim == 2 else np.int64)
    return TrainTest(
        LabelledData(x[: shape.train], y[: shape.train], space),
        LabelledData(x[shape.train :], y[shape.train :], space),
    )


def write(path: Path, data: LabelledData) -> None:
    """One split as svmlight text."""
    x = sparse.csr_array(data.x)
    x.sort_indices()
    with path.open("w") as file:
        for row, right in enumerate(data.y):
            on = np.flatnonzero(right) if data.y.ndim == 2 else [right]
            own = slice(x.indptr[row], x.indptr[row + 1])
            pairs = zip(x.indices[own], x.data[own], strict=True)
            inputs = " ".join(f"{column + 1}:{value:.7g}" for column, value in pairs)
            file.write(f"{','.join(map(str, on))} {inputs}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(SETS), help="names of sets")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in given.only.split(","):
        both = make(name, given.seed)
        write(given.folder / f"{name}_train.svm", both.train)
        write(given.folder / f"{name}_test.svm", both.test)
        sys.stdout.write(f"{name}: {both.train.rows} and {both.test.rows} rows\n")


if __name__ == "__main__":
    main()
