"""What is predicted: the losses, the calibration and the mixture of members, for both tasks.

A combination is made from out-of-fold scores of shape (n_members, n, k) and turns the scores of the
same members at other rows into predictions. As it is a pure function of rows, an honest estimate
makes it from all folds but one and applies it to that one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.ensemble.features import Data
from kernelfit.ensemble.stacking import Stack, stack_log, stack_squared
from kernelfit.selection.calibration import Calibration, fit_calibration, fit_calibrations

Array = NDArray[Any]

# The pull to equal weights, in units of the loss of one row: that of many rows outweighs it.
_PULL = 100.0
_EXACT = 1e-10  # a squared error that is rounding, where targets are between -1 and 1
_FLOOR = 1e-15  # of probabilities, before their logarithm
SMALL_WEIGHT = 0.02  # members of a smaller one do not pay for the time of a prediction


def squared_losses(scores: Array, targets: Array, weight: Array) -> Array:
    """Return the mean squared errors of many members, infinite where a score is not finite.

    Parameters
    ----------
    scores : ndarray of shape (..., n, k)
    targets : ndarray of shape (n, k)
    weight : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (...)
    """
    share = weight / weight.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        losses = np.mean((scores - targets) ** 2, axis=-1) @ share
    return np.where(np.isfinite(losses), losses, np.inf)


def log_losses(scores: Array, labels: Array, weight: Array) -> Array:
    """Return the mean log losses of many members, each calibrated on these rows.

    The squared error of scores would not do: what lies far beyond the label on its side is right,
    and wide kernels at high costs put many rows there.

    Parameters
    ----------
    scores : ndarray of shape (n_members, n, k)
    labels : ndarray of int of shape (n,)
    weight : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n_members,)
        Infinite where a score is not finite.
    """
    losses = np.full(len(scores), np.inf)
    finite = np.flatnonzero(np.isfinite(scores).all(axis=(1, 2)))
    for k, calibrate in zip(finite, fit_calibrations(scores[finite], labels, weight), strict=True):
        truth = calibrate(scores[k])[np.arange(len(labels)), labels]
        losses[k] = -np.log(np.maximum(truth, _FLOOR)) @ weight / weight.sum()
    return losses


@dataclass(frozen=True)
class MeanCombination:
    """A weighted mean of predictions, each within the range of the targets.

    Far from the training rows a single member, such as a wide Gaussian, may go anywhere.

    Attributes
    ----------
    stack : Stack
    losses : ndarray of shape (n_members,)
        Of the members alone.
    lowest, highest : float
        The range.
    """

    stack: Stack
    losses: Array
    lowest: float
    highest: float

    def __call__(self, scores: Array) -> Array:
        """Return predictions of shape (n,) from scores of shape (n_members, n, 1)."""
        return np.asarray(self.stack.weights @ np.clip(scores[:, :, 0], self.lowest, self.highest))

    def alone(self, k: int, scores: Array) -> Array:
        """Return the predictions of one member from its scores, of shape (n, 1)."""
        return np.clip(scores[:, 0], self.lowest, self.highest)

    def recalibrated(self, *_: Any) -> "MeanCombination":
        """Return it as it is: predictions need no calibration."""
        return self


@dataclass(frozen=True)
class ProbabilityCombination:
    """A weighted mean of calibrated probabilities, calibrated once more.

    Attributes
    ----------
    stack : Stack
    losses : ndarray of shape (n_members,)
        Log losses of the members alone.
    members : tuple of Calibration
    mixture : Calibration
        A mean of probabilities is less certain than it could be; this undoes it.
    """

    stack: Stack
    losses: Array
    members: tuple[Calibration, ...]
    mixture: Calibration

    def __call__(self, scores: Array) -> Array:
        """Return probabilities of shape (n, n_classes) from scores (n_members, n, k)."""
        p = [calibrate(s) for calibrate, s in zip(self.members, scores, strict=True)]
        return self.mixture(_logits(np.tensordot(self.stack.weights, p, axes=1)))

    def alone(self, k: int, scores: Array) -> Array:
        """Return the probabilities of one member from its scores, of shape (n, k)."""
        return self.members[k](scores)

    def recalibrated(
        self, left_out: Sequence[Any], labels: Array, weight: Array
    ) -> "ProbabilityCombination":
        """Return the combination, calibrated on the scores of machines at rows left out.

        Parameters
        ----------
        left_out : sequence of LeftOut or None
            None for members whose calibration stays.
        labels, weight : ndarray of shape (n,)
            Of these rows.
        """
        members = tuple(
            old if one is None else fit_calibration(one.scores, labels[one.rows], weight[one.rows])
            for old, one in zip(self.members, left_out, strict=True)
        )
        return replace(self, members=members)


@dataclass(frozen=True)
class Regression:
    """Regression with the squared loss.

    Attributes
    ----------
    targets : ndarray of shape (n, 1)
    weight : ndarray of shape (n,)
    """

    targets: Array
    weight: Array

    def combine(self, scores: Array, rows: Array, single: bool = False) -> MeanCombination:
        """Return the best combination on some rows.

        Parameters
        ----------
        scores : ndarray of shape (n_members, n, 1)
        rows : ndarray of int
        single : bool, default=False
            Whether it consists of the best member alone.

        Returns
        -------
        MeanCombination
        """
        y, weight = self.targets[rows, 0], self.weight[rows]
        lowest, highest = float(y.min()), float(y.max())
        predictions = np.clip(scores[:, rows, 0], lowest, highest)
        losses = squared_losses(predictions[:, :, None], self.targets[rows], weight)
        if single:
            stack = _single(losses)
        else:
            pull = _PULL * max(losses.min(), _EXACT) / weight.sum()
            stack = stack_squared(predictions, y, weight, pull)
        return MeanCombination(stack, losses, lowest, highest)


@dataclass(frozen=True)
class Classification:
    """Classification with the log loss.

    Attributes
    ----------
    labels : ndarray of int of shape (n,)
    weight : ndarray of shape (n,)
    """

    labels: Array
    weight: Array

    def combine(self, scores: Array, rows: Array, single: bool = False) -> ProbabilityCombination:
        """Return the best combination on some rows.

        Parameters
        ----------
        scores : ndarray of shape (n_members, n, k)
        rows : ndarray of int
        single : bool, default=False
            Whether it consists of the best member alone.

        Returns
        -------
        ProbabilityCombination
        """
        labels, weight = self.labels[rows], self.weight[rows]
        members = tuple(fit_calibrations(scores[:, rows], labels, weight))
        p = np.stack([calibrate(s) for calibrate, s in zip(members, scores[:, rows], strict=True)])
        truth = p[:, np.arange(len(rows)), labels]
        losses = -np.log(np.maximum(truth, _FLOOR)) @ weight / weight.sum()
        stack = _single(losses) if single else stack_log(truth, weight, _PULL / weight.sum())
        mixed = np.tensordot(stack.weights, p, axes=1)
        mixture = fit_calibration(_logits(mixed), labels, weight)
        return ProbabilityCombination(stack, losses, members, mixture)


def outcome_of(data: Data) -> Regression | Classification:
    """Return what is predicted of some rows."""
    if data.labels is None:
        return Regression(data.targets, data.weight)
    return Classification(data.labels, data.weight)


def _single(losses: Array) -> Stack:
    """Return the stack of the best member alone."""
    weights = np.zeros(len(losses))
    best = int(np.argmin(losses.round(12)))
    weights[best] = 1.0
    return Stack(weights, float(losses[best]), 0.0, 0, 0.0)


def _logits(p: Array) -> Array:
    """Return log probabilities, as one column for two classes."""
    logs = np.log(np.maximum(p, _FLOOR))
    return logs[:, 1:] - logs[:, :1] if p.shape[1] == 2 else logs
