r"""The learner of TKL and GPK: a kernel over positive matrices for one or more tasks.

.. math::

    \min_P\; \sum_t \max_{\beta_t}\; \kappa_t(\beta_t)
    - \tfrac12 \beta_t^\top K_P\, \beta_t, \qquad P \succeq 0,\; \operatorname{tr} P = n_P

over one task, or over the tasks of a multiclass problem that share one kernel.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelfit.families.psd.family import SCALINGS, Basis, PositiveMatrixFamily, mean_one_scale
from kernelfit.families.psd.features import FeatureBasis
from kernelfit.kernels.monomials import Array, IntArray
from kernelfit.learners.learner import Learned, Rows, Tasks
from kernelfit.solvers.result import Callback, FloatArray
from kernelfit.solvers.saddle.frank_wolfe import FRANK_WOLFE
from kernelfit.solvers.saddle.fully_corrective import FULLY_CORRECTIVE
from kernelfit.solvers.saddle.primal_dual import APD, HYBRID
from kernelfit.solvers.saddle.problem import SaddleProblem, SaddleSolver, solve_saddle
from kernelfit.solvers.saddle.progress import SaddleResult

SOLVERS: dict[str, SaddleSolver] = {
    "auto": FULLY_CORRECTIVE,
    "frank_wolfe": FRANK_WOLFE,
    "fully_corrective": FULLY_CORRECTIVE,
    "apd": APD,
    "hybrid": HYBRID,
}


@dataclass(frozen=True, eq=False)
class PositiveMatrixLearner:
    """The learner of a kernel over positive matrices.

    Parameters
    ----------
    family : PositiveMatrixFamily
        On the training rows.
    solver : {"auto", "frank_wolfe", "fully_corrective", "apd", "hybrid"}
    tol : float
        Relative gap.
    max_iter : int
        Largest number of steps for one kernel.
    """

    family: PositiveMatrixFamily
    solver: str
    tol: float
    max_iter: int

    def learn(
        self,
        rows: Rows,
        tasks: Tasks,
        *,
        start: tuple[FloatArray, Any] | None = None,
        callback: Callback | None = None,
    ) -> Learned:
        """Learn one kernel for tasks on all rows; see `kernelfit.learners.learner.Learner`."""
        if start is not None:
            start = start[0], self._fitting(start[1])
        problem = SaddleProblem(self.family, tasks)
        options: dict[str, Any] = {"start": start, "callback": callback, **self._options}
        return self._wrap(solve_saddle(problem, SOLVERS[self.solver], **options))

    @property
    def _options(self) -> dict[str, Any]:
        return {"tol": self.tol, "max_iter": self.max_iter}

    def _wrap(self, result: SaddleResult) -> Learned:
        return Learned.of(
            result,
            intercept=result.intercept,
            witness=result.witness,
            kernel=self.family.kernel(result.theta),
            theta=result.theta,
        )

    def _fitting(self, theta: Any) -> Any:
        """Return a theta to start from, or None where another start is better.

        With a feature map the kernel of n I is optimal for a single task, and a good start for
        several; a theta of another basis does not fit.
        """
        if theta is None or len(theta) != self.family.size:
            return None
        return None if isinstance(self.family.basis, FeatureBasis) else theta

    def path(
        self, rows: Rows, tasks_at: Callable[[float], Tasks], Cs: Sequence[float]
    ) -> Iterator[Learned]:
        """Yield the kernels for increasing costs.

        Each is learned from n I: from the kernel of another cost it takes more steps.
        """
        for C in Cs:
            problem = SaddleProblem(self.family, tasks_at(C))
            yield self._wrap(solve_saddle(problem, SOLVERS[self.solver], **self._options))


def fit_family(
    X: Array,
    weight: Array,
    make_basis: Callable[[int], Basis],
    *,
    normalize: bool,
    cache_bytes: float,
    device: str | None = None,
    scaling: str = "range",
) -> PositiveMatrixFamily:
    """Return the family on the training points, which it scales to the unit cube.

    Parameters
    ----------
    X : ndarray of shape (m, n)
    weight : ndarray of shape (m,)
        Of the points, in the mean that normalises the kernel.
    make_basis : callable
        From the number of features that vary to the basis.
    normalize : bool
        Whether the mean of k(x, x) at P = I is made one; otherwise k is measured in volumes.
    cache_bytes : float
        Memory for a Gram matrix.
    device : str, default=None
        Where Gram matrices are computed, for a tessellated basis without z; None for the processor.
    scaling : {"range", "ranks"}, default="range"

    Returns
    -------
    PositiveMatrixFamily
        Its scale may be 0 or infinite where numbers overflow.
    """
    fitted = SCALINGS[scaling].fit(X)
    scaled = fitted(X)
    basis = make_basis(len(fitted.kept))
    scale = mean_one_scale(basis, scaled, weight) if normalize else basis.volume
    return PositiveMatrixFamily(basis, scaled, scale, fitted, cache_bytes, device)


def merge_rows(X: Array, y: Array, weight: Array) -> tuple[IntArray, FloatArray]:
    """Return one row of each set of equal rows of weight > 0, and the weights of the sets.

    Rows are equal where both X and y are. One row of the summed weight is the same problem, and the
    order of the result depends on the values alone, so that repeated rows and weights give the
    same training set.

    Parameters
    ----------
    X : ndarray of shape (m, n)
    y : ndarray of shape (m,)
    weight : ndarray of shape (m,)

    Returns
    -------
    rows : ndarray of int
        The first row of every set.
    total : ndarray of shape (len(rows),)
    """
    used = np.flatnonzero(weight)
    keys = np.column_stack([X[used], y[used]])
    order = np.lexsort(keys.T[::-1])
    keys = keys[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = np.any(keys[1:] != keys[:-1], axis=1)
    starts = np.flatnonzero(fresh)
    rows = used[order]
    return np.minimum.reduceat(rows, starts), np.add.reduceat(weight[rows], starts)
