"""The policy that the paper calls a CRF (section 5.1.1), fitted to labels.

With no edges between labels it is logistic regression label by label.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from multilogger.components.actions.labels import Matrix
from multilogger.components.datasets.labelled_data import Features, LabelledData, append_constant


def fit_crf(data: LabelledData, C: float, on_label: Callable[[], None] = lambda: None) -> Matrix:
    """Weights (q, d + 1) of one L2-regularised logistic regression a label.

    Choice: a constant 1 column instead of an intercept, so that the bias is regularised and scaled
    by alpha as every other weight is; with it the paper's logger rows are met to 1 %.
    `on_label` is called after each label.
    """
    x = append_constant(data.x)
    weights = np.empty((data.labels, x.shape[1]), dtype=np.float64)
    for label in range(data.labels):
        weights[label] = _fit_label(x, data.y[:, label], C)
        on_label()
    return weights


def _fit_label(x: Features, y: NDArray[np.uint8], C: float) -> NDArray[np.float64]:
    """Weights (d + 1,) of one label; a label seen in one class only gets the smoothed rate as its bias."""
    from sklearn.linear_model import LogisticRegression

    positives = int(y.sum())
    if positives in (0, len(y)):
        constant = np.zeros(x.shape[1])
        constant[-1] = logit((positives + 1.0) / (len(y) + 2.0))
        return constant
    model = LogisticRegression(C=C, fit_intercept=False, max_iter=5000)
    return np.asarray(model.fit(x, y).coef_[0], dtype=np.float64)
