r"""Kernel ridge regression on a device, by a Cholesky factor in float64 for each ridge.

The problem and its symbols are those of :mod:`kernelfit.solvers.ridge`: with
:math:`A = K + \lambda D^{-1}`,

.. math:: \beta = A^{-1} (y - b \mathbf 1), \qquad
    b = \mathbf 1^\top A^{-1} y \,/\, \mathbf 1^\top A^{-1} \mathbf 1
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kernelfit.kernels.device_gram import DeviceGram
from kernelfit.solvers.ridge import FloatArray, RidgePath, RidgeSolution, ridge_path
from kernelfit.utils.torch_device import Tensor, load_torch

_COLUMNS = 1024  # of an inverse, computed at a time


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
        factor = _factor(torch, self.K, ridge / self.weight)
        if factor is None:
            found = self._path.solve(ridge)
            coef, intercept = found.coef, self.mean + found.intercept
        else:
            coef, _, offset = _coefficients(torch, factor, self.Y, self.fit_intercept)
            intercept = self.mean + offset
            if self.fit_intercept:
                # The point of the largest weight makes the sum exact.
                coef[int(np.argmax(self.weight))] -= coef.sum(axis=0)
        decision = (self.K @ torch.as_tensor(coef, device=self.device)).cpu().numpy()
        place = np.argsort(self.order)
        return RidgeSolution(coef[place], intercept), decision[place]

    def leave_one_out(self, ridge: float) -> FloatArray:
        r"""Return the errors at every point of the machine trained on all others.

        They are :math:`\beta_i / G_{ii}` with
        :math:`G = A^{-1} - A^{-1} \mathbf{11}^\top A^{-1} / \mathbf 1^\top A^{-1} \mathbf 1`,
        or :math:`A^{-1}` without an intercept.

        Parameters
        ----------
        ridge : float
            Positive.

        Returns
        -------
        ndarray of shape (n, m)
            The targets minus the predictions. A point is left out with all of its weight.
        """
        place = np.argsort(self.order)
        factor = _factor(self.torch, self.K, ridge / self.weight)
        if factor is None:
            return self._path.leave_one_out(ridge)[place]
        coef, ones, _ = _coefficients(self.torch, factor, self.Y, self.fit_intercept)
        diagonal = _inverse_diagonal(self.torch, factor)
        if self.fit_intercept:
            diagonal -= ones[:, 0] ** 2 / ones.sum()
        return np.asarray((coef / diagonal[:, None])[place])

    @cached_property
    def _path(self) -> RidgePath:
        """On the processor, where there is no factor: K is indefinite, or a ridge is rounding."""
        K = self.K.cpu().numpy()
        return ridge_path(K, self.Y, self.weight, fit_intercept=self.fit_intercept)


def solve_ridges_on_device(
    K: Tensor,
    Y: FloatArray,
    weight: FloatArray,
    ridges: Sequence[float],
    left_out: FloatArray | None = None,
) -> Iterator[RidgeSolution | None]:
    """Yield coefficients and intercepts for one ridge after the other.

    Parameters
    ----------
    K : tensor of shape (n, n)
        In float64.
    Y, weight, ridges, left_out
        As for :func:`kernelfit.solvers.ridge.solve_ridges`.

    Yields
    ------
    RidgeSolution or None
        None where rounding leaves no Cholesky factor.
    """
    torch, _ = load_torch(str(K.device))
    for number, ridge in enumerate(ridges):
        factor = _factor(torch, K, ridge / weight)
        if factor is None:
            yield None
            continue
        coef, ones, intercept = _coefficients(torch, factor, Y, fit_intercept=True)
        if left_out is not None:
            diagonal = _inverse_diagonal(torch, factor) - ones[:, 0] ** 2 / ones.sum()
            left_out[number] = Y - coef / diagonal[:, None]
        yield RidgeSolution(coef, intercept)


def _coefficients(
    torch: Any, factor: Tensor, Y: FloatArray, fit_intercept: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the coefficients, ``A^-1 1`` and the offsets, from a Cholesky factor of A."""
    right = torch.as_tensor(np.column_stack([Y, np.ones(len(Y))]), device=factor.device)
    solved = torch.cholesky_solve(right, factor).cpu().numpy()
    coef, ones = solved[:, :-1], solved[:, -1:]
    if not fit_intercept:
        return coef, ones, np.zeros(coef.shape[1])
    offset = coef.sum(axis=0) / ones.sum()
    return coef - ones * offset, ones, offset


def _factor(torch: Any, K: Tensor, shift: FloatArray) -> Tensor | None:
    """Return the Cholesky factor of ``K + diag(shift)``, or None where there is none.

    The diagonal is changed in place and put back: a copy of K would be a third matrix.
    """
    diagonal = K.diagonal()
    before = diagonal.clone()
    diagonal.add_(torch.as_tensor(shift, device=K.device))
    factor, info = torch.linalg.cholesky_ex(K)
    diagonal.copy_(before)
    return None if int(info) else factor


def _inverse_diagonal(torch: Any, factor: Tensor) -> FloatArray:
    """Return the diagonal of ``(L L')^-1``: the squared norms of the columns of ``L^-1``."""
    n = len(factor)
    out = np.empty(n)
    for start in range(0, n, _COLUMNS):
        # Columns of a lower triangle begin at their diagonal.
        rest = factor[start:, start:]
        unit = torch.eye(
            n - start, min(_COLUMNS, n - start), dtype=factor.dtype, device=factor.device
        )
        columns = torch.linalg.solve_triangular(rest, unit, upper=False)
        out[start : start + _COLUMNS] = columns.square_().sum(dim=0).cpu().numpy()
    return out
