r"""The certificate of an ensemble's weights, recomputed from what the ensemble shows.

The weights minimise a convex function over the simplex, so any w bounds the optimum from below:

.. math:: F^* \ge F(w) - \big(\nabla F(w)'w - \min_j \nabla F(w)_j\big)
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from kernelfit.inspection.result import Audit

Array = NDArray[np.float64]

_ROUNDOFF = float(np.finfo(np.float64).eps)
_FLOOR = 1e-15  # of a probability, as in the problem that is solved


def audit_stack(model: Any, y: Any, weight: Array) -> Audit:
    """Recompute the certificate of the weights of a fitted AutoKernel.

    Parameters
    ----------
    model : AutoKernelClassifier or AutoKernelRegressor
    y : array-like of shape (n_samples,)
        The labels or targets of the training.
    weight : ndarray of shape (n_samples,)

    Returns
    -------
    Audit
        In regression in units of half the range of the targets, as the claimed gap.
    """
    if not model.ensemble:
        raise ValueError("expected an ensemble, got a single member, which has no weights")
    y, w, rows = np.asarray(y), model.weights_, model.search_indices_
    m, pull = len(w), model.certificate_["pull"]
    share = weight[rows] / weight[rows].sum()
    if is_classifier(model):
        labels = np.searchsorted(model.classes_, y[rows])
        p = model.fold_predictions_[:, np.arange(len(rows)), labels]
        mixed = np.maximum(p, _FLOOR)
        ratio = mixed / (w @ mixed)
        loss, gradient = -share @ np.log(w @ mixed), -ratio @ share
    else:
        used = y[weight > 0].astype(np.float64)
        unit = 0.5 * used.max() - 0.5 * used.min() or 1.0
        residual = model.fold_predictions_ / unit - y[rows] / unit
        mixture = w @ residual
        loss, gradient = 0.5 * share @ mixture**2, residual @ (share * mixture)
    gradient = gradient + pull * (w - 1.0 / m)
    objective = float(loss + 0.5 * pull * np.sum((w - 1.0 / m) ** 2))
    gap = float(gradient @ w - gradient.min())
    size = float(np.abs(gradient).max() + abs(objective))
    violation = float(max(-w.min(), abs(w.sum() - 1.0), 0.0))
    claimed = model.certificate_["stack"]
    # The predictions in units of the data have lost as many digits as the targets are far from 0.
    far = 1.0 if is_classifier(model) else 1.0 + float(np.abs(used / unit).max())
    resolution = 10.0 * len(rows) * _ROUNDOFF * size * far
    return Audit(objective - gap, objective, gap, np.nan, claimed, violation, resolution)
