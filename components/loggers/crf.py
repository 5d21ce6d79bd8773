"""The policies that the paper calls a CRF (section 5.1.1), fitted to true actions, one for each action space.

With no edges between labels it is logistic regression label by label; for one of K actions it is multinomial
logistic regression.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logit

from multilogger.components.actions.arrays import Actions, Matrix
from multilogger.components.datasets.labelled_data import Features, LabelledData, append_constant

SMALLEST_SCALE = 1e-6  # a feature that never varies is left as it is

OnFit = Callable[[], None]
Regression = Callable[[Features, Actions], Matrix]


def fit_crf(
    data: LabelledData,
    C: float,
    on_fit: OnFit = lambda: None,
    standardise: bool = False,
    free_bias: bool = False,
) -> Matrix:
    """Weights (size, d + 1) of an L2-regularised logistic regression.

    Choice: a constant 1 column instead of an intercept, so that the bias is regularised and scaled
    by alpha as every other weight is; with it the paper's logger rows are met to 1 %.
    `on_fit` is called `crf_fits` times. With `standardise` the penalty is that of features of mean 0 and
    variance 1 (of sparse features: of variance about 0); the weights are still those of the features given.
    With `free_bias` the bias has no penalty, so that actions are as frequent as they were seen to be.
    """
    fit, x = partial(FITS[data.space.name], regress=partial(_regression, C=C, free_bias=free_bias)), data.x
    if not standardise:
        return fit(append_constant(x), data.y, data.space.size, on_fit)
    mean, scale = _moments(x)
    scaled: Features = (x - mean) / scale if isinstance(x, np.ndarray) else sparse.csr_array(x / scale)
    weights = fit(append_constant(scaled), data.y, data.space.size, on_fit)
    slopes = weights[:, :-1] / scale
    return np.asarray(np.hstack([slopes, weights[:, -1:] - (slopes @ mean)[:, None]]))


def _moments(x: Features) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """What to subtract from each feature and what to divide it by: (d,) each; a constant one stays."""
    if isinstance(x, np.ndarray):
        mean, scale = x.mean(axis=0, dtype=np.float64), x.std(axis=0, dtype=np.float64)
    else:
        mean, scale = np.zeros(x.shape[1]), np.sqrt(np.asarray((x * x).mean(axis=0)).ravel())
    return mean.astype(np.float32), np.where(scale < SMALLEST_SCALE, 1.0, scale).astype(np.float32)


def crf_fits(data: LabelledData) -> int:
    """How many regressions a CRF is made of."""
    return int(np.prod(data.space.action_shape, dtype=np.int64))


def _fit_labels(x: Features, y: Actions, labels: int, on_fit: OnFit, regress: Regression) -> Matrix:
    """One regression per label."""
    weights = np.empty((labels, x.shape[1]), dtype=np.float64)
    for label in range(labels):
        weights[label] = _fit_label(x, y[:, label], regress)
        on_fit()
    return weights


def _fit_label(x: Features, y: Actions, regress: Regression) -> NDArray[np.float64]:
    """Weights (d + 1,) of one label; a label seen in one class only gets the smoothed rate as its bias."""
    positives = int(y.sum())
    if positives in (0, len(y)):
        constant = np.zeros(x.shape[1])
        constant[-1] = logit((positives + 1.0) / (len(y) + 2.0))
        return constant
    return np.asarray(regress(x, y)[0])


def _fit_choice(x: Features, y: Actions, choices: int, on_fit: OnFit, regress: Regression) -> Matrix:
    """One regression for all K actions; those that were never right get a low bias, from smoothed rates.

    Choice: an action that was never right is as likely everywhere as if it had been right once in one row
    more than there are, so that no logger ever has an exact 0.
    """
    seen = np.unique(y)
    weights = np.zeros((choices, x.shape[1]), dtype=np.float64)
    if len(seen) > 1:
        found = regress(x, y)
        # Of two classes scikit-learn gives the difference of their logits alone.
        weights[seen] = np.concatenate([-0.5 * found, 0.5 * found]) if len(seen) == 2 else found
    never = np.setdiff1d(np.arange(choices), seen)
    if len(never):
        score = np.asarray(x @ weights[seen].T)
        level = float(np.logaddexp.reduce(score, axis=1).mean())
        weights[never, -1] = level - np.log(len(y) + 1.0)
    on_fit()
    return weights


def _regression(x: Features, y: Actions, C: float, free_bias: bool) -> Matrix:
    """Weights of x, whose last column is the constant 1."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=C, fit_intercept=free_bias, max_iter=5000)
    model.fit(x[:, :-1] if free_bias else x, y)
    found = np.asarray(model.coef_, dtype=np.float64)
    return np.hstack([found, model.intercept_[:, None]]) if free_bias else found


FITS = {"labels": _fit_labels, "one-of": _fit_choice}
