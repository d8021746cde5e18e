r"""Kernel ridge regression on a device, by a Cholesky factor in float64 for each ridge.

The problem and its symbols are those of :mod:`kernelfit.solvers.ridge`: with
:math:`A = K + \lambda D^{-1}`,

.. math:: \beta = A^{-1} (y - b \mathbf 1), \qquad
    b = \mathbf 1^\top A^{-1} y \,/\, \mathbf 1^\top A^{-1} \mathbf 1
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kernelfit.kernels.device_gram import DeviceGram
from kernelfit.solvers.ridge import FloatArray, RidgeSolution, ridge_path
from kernelfit.utils.torch_device import Tensor, load_torch


class DeviceRidge:
    """The machines of some targets on a device, one ridge after the other.

    Parameters
    ----------
    gram : DeviceGram
    Y : ndarray of shape (n, m)
    weight : ndarray of shape (n,)
        Positive.
    fit_intercept : bool
    """

    def __init__(
        self, gram: DeviceGram, Y: FloatArray, weight: FloatArray, fit_intercept: bool
    ) -> None:
        self.torch, self.device, self.order = gram.torch, gram.device, gram.order
        self.K: Tensor = gram.exact_matrix()
        self.fit_intercept = fit_intercept
        self.weight = weight[self.order]
        # A constant in the targets moves the intercept alone.
        self.mean = self._mean(Y, weight) if fit_intercept else np.zeros(Y.shape[1])
        self.Y = (Y - self.mean)[self.order]

    @staticmethod
    def _mean(Y: FloatArray, weight: FloatArray) -> FloatArray:
        mean: FloatArray = weight @ Y / weight.sum()
        return mean

    def solve(self, ridge: float) -> tuple[RidgeSolution, FloatArray]:
        """Return the machines of a ridge, and their decision values ``K beta``.

        Parameters
        ----------
        ridge : float
            Positive: 1 / (2 C).

        Returns
        -------
        solution : RidgeSolution
        decision : ndarray of shape (n, m)
        """
        torch = self.torch
        right = np.column_stack([self.Y, np.ones(len(self.Y))])
        solved = _solve_shifted(torch, self.K, ridge / self.weight, right)
        if solved is None:  # K is indefinite, or the ridge is lost in rounding
            path = ridge_path(
                self.K.cpu().numpy(), self.Y, self.weight, fit_intercept=self.fit_intercept
            )
            found = path.solve(ridge)
            coef, intercept = found.coef, self.mean + found.intercept
        else:
            coef, ones = solved[:, :-1], solved[:, -1:]
            intercept = self.mean
            if self.fit_intercept:
                offset = coef.sum(axis=0) / ones.sum()
                coef, intercept = coef - ones * offset, self.mean + offset
                # The point of the largest weight makes the sum exact.
                heaviest = int(np.argmax(self.weight))
                coef[heaviest] -= coef.sum(axis=0)
        decision = (self.K @ torch.as_tensor(coef, device=self.device)).cpu().numpy()
        place = np.argsort(self.order)
        return RidgeSolution(coef[place], intercept), decision[place]


def solve_ridges_on_device(
    K: Tensor, Y: FloatArray, weight: FloatArray, ridges: Sequence[float]
) -> Iterator[RidgeSolution | None]:
    """Yield coefficients and intercepts for one ridge after the other.

    Parameters
    ----------
    K : tensor of shape (n, n)
        In float64.
    Y, weight, ridges
        As for :func:`kernelfit.solvers.ridge.solve_ridges`.

    Yields
    ------
    RidgeSolution or None
        None where rounding leaves no Cholesky factor.
    """
    torch, _ = load_torch(str(K.device))
    right = np.column_stack([Y, np.ones(len(Y))])
    for ridge in ridges:
        solved = _solve_shifted(torch, K, ridge / weight, right)
        if solved is None:
            yield None
            continue
        coef, ones = solved[:, :-1], solved[:, -1]
        intercept = coef.sum(axis=0) / ones.sum()
        yield RidgeSolution(coef - ones[:, None] * intercept, intercept)


def _solve_shifted(
    torch: Any, K: Tensor, shift: FloatArray, right: FloatArray
) -> FloatArray | None:
    """Return ``(K + diag(shift))^-1 right``, or None where there is no factor.

    The diagonal is changed in place and put back: a copy of K would be a third matrix.
    """
    diagonal = K.diagonal()
    before = diagonal.clone()
    diagonal.add_(torch.as_tensor(shift, device=K.device))
    factor, info = torch.linalg.cholesky_ex(K)
    diagonal.copy_(before)
    if int(info):
        return None
    solved = torch.cholesky_solve(torch.as_tensor(right, device=K.device), factor)
    found: FloatArray = solved.cpu().numpy()
    return found
