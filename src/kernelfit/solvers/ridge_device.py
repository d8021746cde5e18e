r"""Kernel ridge regression on a device, by a Cholesky factor in float64 for each ridge.

The problem and its symbols are those of :mod:`kernelfit.solvers.ridge`: with
:math:`A = K + \lambda D^{-1}`,

.. math:: \beta = A^{-1} (y - b \mathbf 1), \qquad
    b = \mathbf 1^\top A^{-1} y \,/\, \mathbf 1^\top A^{-1} \mathbf 1
"""

import numpy as np

from kernelfit.kernels.device_gram import DeviceGram
from kernelfit.solvers.ridge import FloatArray, RidgeSolution, ridge_path
from kernelfit.utils.torch_device import Tensor


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
        A = self.K.clone()
        A.diagonal().add_(torch.as_tensor(ridge / self.weight, device=self.device))
        factor, info = torch.linalg.cholesky_ex(A)
        if int(info):  # K is indefinite, or the ridge is lost in rounding
            path = ridge_path(
                self.K.cpu().numpy(), self.Y, self.weight, fit_intercept=self.fit_intercept
            )
            found = path.solve(ridge)
            coef, intercept = found.coef, self.mean + found.intercept
        else:
            right = np.column_stack([self.Y, np.ones(len(self.Y))])
            solved = torch.cholesky_solve(torch.as_tensor(right, device=self.device), factor)
            solved = solved.cpu().numpy()
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
