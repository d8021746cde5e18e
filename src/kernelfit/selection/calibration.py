r"""Probabilities from decision values: one scale, and one offset a class.

.. math::

    P(c \mid x) \propto \exp(a\, s_c(x) + b_c), \qquad
    P(1 \mid x) = \frac{1}{1 + \exp(-a f(x) - b)} \text{ for two classes}

fitted by the (convex) log loss to decision values of points that the machine was not trained on.
One more point, of unknown class and spread over all scores, keeps numbers finite where the classes
are separated.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_MAX_STEPS = 50  # of Newton's method
_CHUNK = 2**21  # scores that are calibrated at a time
_SETTLED = 1e-10  # relative length of a step below which it has settled


@dataclass(frozen=True)
class Calibration:
    """Turns scores into probabilities.

    Attributes
    ----------
    scale : float
        Not negative: a larger score is never less probable.
    offset : ndarray of shape (n_classes,)
        That of the first class is 0.
    """

    scale: float
    offset: FloatArray

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return probabilities of shape (n, n_classes).

        Parameters
        ----------
        scores : ndarray of shape (n, n_classes) or (n, 1)
            One column stands for the second of two classes.
        """
        logits = _both(scores) * self.scale + self.offset
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True))


def fit_calibration(
    scores: FloatArray,
    labels: NDArray[Any],
    weight: FloatArray,
) -> Calibration:
    """Fit the scale and the offsets.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes) or (n, 1)
        Decision values of points that the machine was not trained on.
    labels : ndarray of int of shape (n,)
        Class indices.
    weight : ndarray of shape (n,)

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.selection.calibration import fit_calibration
    >>> scores = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> calibrated = fit_calibration(scores, np.array([0, 0, 1, 1]), np.ones(4))
    >>> calibrated(np.array([[0.0]])).round(3)
    array([[0.5, 0.5]])
    """
    return fit_calibrations(np.asarray(scores)[None], labels, weight)[0]


def fit_calibrations(
    scores: FloatArray, labels: NDArray[Any], weight: FloatArray
) -> list[Calibration]:
    """Fit the scale and the offsets of many machines, each on its own scores.

    Parameters
    ----------
    scores : ndarray of shape (m, n, n_classes) or (m, n, 1)
    labels : ndarray of int of shape (n,)
    weight : ndarray of shape (n,)

    Returns
    -------
    list of Calibration
    """
    m, n = scores.shape[:2]
    step = max(1, _CHUNK // (n * max(2, scores.shape[2])))
    found = []
    for start in range(0, m, step):
        found += _fit(_both(scores[start : start + step]), labels, weight)
    return found


def _fit(scores: FloatArray, labels: NDArray[Any], weight: FloatArray) -> list[Calibration]:
    """Fit machines together by Newton's method, each with its own steps."""
    m, _, k = scores.shape
    largest = np.abs(scores).max(axis=(1, 2))
    largest[largest == 0.0] = 1.0
    # In units of the largest, squares do not overflow.
    unit = largest * np.sqrt(np.mean((scores / largest[:, None, None]) ** 2, axis=(1, 2)))
    unit[unit == 0.0] = 1.0
    scores = scores / unit[:, None, None]
    unknown = weight / weight.sum()  # of the one more point
    targets = np.eye(k)[labels] * weight[:, None] + unknown[:, None] / k
    mass = float(targets.sum())
    x = np.zeros((m, k))
    x[:, 0] = 1.0
    values, gradients, hessians = _loss(scores, targets, x)
    moving = np.arange(m)
    for _ in range(_MAX_STEPS):
        step = _newton_steps(x[moving], gradients[moving], hessians[moving], mass)
        length = np.ones(len(moving))
        falling = np.arange(len(moving))  # whose length is not found yet
        while len(falling):  # halve until the loss falls
            rows = moving[falling]
            trial = x[rows] + length[falling, None] * step[falling]
            trial[:, 0] = np.maximum(trial[:, 0], 0.0)
            found = _loss(scores[rows], targets, trial)
            better = found[0] <= values[rows]
            done = rows[better]
            x[done] = trial[better]
            values[done], gradients[done], hessians[done] = (part[better] for part in found)
            falling = falling[~better & (length[falling] >= 1e-10)]
            length[falling] *= 0.5
        moved = np.abs(length[:, None] * step).max(axis=1)
        moving = moving[moved > _SETTLED * (1.0 + np.abs(x[moving]).max(axis=1))]
        if not len(moving):
            break
    offset = np.hstack([np.zeros((m, 1)), x[:, 1:]])
    return [Calibration(float(a / u), b) for a, u, b in zip(x[:, 0], unit, offset, strict=True)]


def _newton_steps(
    x: FloatArray, gradient: FloatArray, hessian: FloatArray, mass: float
) -> FloatArray:
    """Return the steps of all machines; a scale stays at 0 unless the loss falls from there."""
    fixed = (x[:, 0] <= 0.0) & (gradient[:, 0] >= 0.0)
    # Where all probabilities are 0 or 1 there is no curvature.
    ridge = 1e-12 * (np.trace(hessian, axis1=1, axis2=2) + mass)
    hessian = hessian + ridge[:, None, None] * np.eye(x.shape[1])
    hessian[fixed, 0, :] = hessian[fixed, :, 0] = 0.0
    hessian[fixed, 0, 0] = 1.0
    gradient = gradient.copy()
    gradient[fixed, 0] = 0.0
    return np.asarray(-np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0])


def _loss(
    scores: FloatArray, targets: FloatArray, x: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log losses at ``x = (scale, offsets but the first)``, gradients and Hessians."""
    m, _, k = scores.shape
    logits = x[:, 0, None, None] * scores
    logits[:, :, 1:] += x[:, None, 1:]
    mass = targets.sum(axis=1)
    logits -= logits.max(axis=2, keepdims=True)
    p = np.exp(logits)
    total = p.sum(axis=2)
    p /= total[:, :, None]
    value = np.log(total) @ mass - logits.reshape(m, -1) @ targets.ravel()
    weighted = p * mass[:, None]
    change = weighted - targets
    gradient = change.sum(axis=1)
    gradient[:, 0] = np.einsum("mnk,mnk->m", change, scores)
    mean = np.einsum("mnk,mnk->mn", p, scores)
    hessian = -np.matmul(p.transpose(0, 2, 1), weighted)
    diagonal = np.arange(k)
    hessian[:, diagonal, diagonal] += weighted.sum(axis=1)
    mixed = np.einsum("mnk,mnk->mk", weighted, scores - mean[:, :, None])
    hessian[:, 0], hessian[:, :, 0] = mixed, mixed
    hessian[:, 0, 0] = np.einsum("mnk,mnk,mnk->m", weighted, scores, scores) - mean**2 @ mass
    return value, gradient, hessian


def with_largest(p: FloatArray, chosen: NDArray[Any]) -> FloatArray:
    """Return probabilities whose largest is that of the chosen class.

    Where the machine decides for a class that is not quite the most probable, both get their mean.

    Parameters
    ----------
    p : ndarray of shape (n, n_classes)
    chosen : ndarray of int of shape (n,)

    Returns
    -------
    ndarray of shape (n, n_classes)
    """
    p = p.copy()
    top = p.argmax(axis=1)
    rows = np.flatnonzero(top != chosen)
    mean = 0.5 * (p[rows, top[rows]] + p[rows, chosen[rows]])
    p[rows, top[rows]] = mean * (1.0 - 1e-12)
    p[rows, chosen[rows]] = mean * (1.0 + 1e-12)
    return p


def _both(scores: FloatArray) -> FloatArray:
    """Return one column a class."""
    if scores.shape[-1] > 1:
        return scores
    return np.concatenate([np.zeros(scores.shape), scores], axis=-1)
