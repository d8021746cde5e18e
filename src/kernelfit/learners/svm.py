"""Support vector machines made of one or more binary problems on one shared Gram matrix.

Symbols: n rows, k classes, ``labels`` in 0 .. k-1. A problem is solved in the signed variable
``beta`` of :mod:`kernelfit.solvers.svm_dual`; the solutions are the layers of one array ``coef``:

===========  =============  ======  =====================================================
scheme       problems       layers  ``coef[a, i]`` for a row i of class c
===========  =============  ======  =====================================================
two classes  1              1       its beta; class 1 is positive
one-vs-rest  k              k       its beta in class a (positive) against the rest
one-vs-one   k (k - 1) / 2  k - 1   its beta against class a, or class a + 1 if a >= c
===========  =============  ======  =====================================================

The one-vs-one problems come in the order (0, 1), (0, 2) .. (k-2, k-1), the first class of each
positive. A row meets every class but its own, so k - 1 layers hold all its values.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from kernelfit.kernels.rows import Kernel
from kernelfit.kernels.standard import StandardKernel
from kernelfit.solvers.gram import DenseGram, RowGram
from kernelfit.solvers.result import FloatArray, SvmDualResult

Gram = DenseGram | RowGram
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Problem:
    """One problem of a machine.

    Attributes
    ----------
    index : int
        Its position among the problems.
    rows : ndarray or slice
        The rows that take part; a slice stands for all of them.
    layer : int or ndarray
        Where the solution is kept: ``coef[layer, rows]``.
    p : ndarray
        The linear term of the dual on these rows: labels -1 and 1, or targets.
    """

    index: int
    rows: Indices | slice
    layer: int | Indices
    p: FloatArray


def decompose(labels: Indices, n_classes: int, one_vs_one: bool) -> Iterator[Problem]:
    """Yield the binary problems of a classifier.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Class indices, each of 0 .. n_classes - 1 at least once.
    n_classes : int
        At least 2; two classes make one problem in either scheme.
    one_vs_one : bool
        Whether to pair the classes; otherwise each stands against the rest.

    Yields
    ------
    Problem
    """
    everything = slice(None)
    if n_classes == 2:
        yield Problem(0, everything, 0, np.where(labels == 1, 1.0, -1.0))
    elif one_vs_one:
        members = [np.flatnonzero(labels == c) for c in range(n_classes)]
        for index, (i, j) in enumerate(combinations(range(n_classes), 2)):
            rows = np.sort(np.concatenate([members[i], members[j]]))
            first = labels[rows] == i
            yield Problem(index, rows, np.where(first, j - 1, i), np.where(first, 1.0, -1.0))
    else:
        for c in range(n_classes):
            yield Problem(c, everything, c, np.where(labels == c, 1.0, -1.0))


def count_problems(n_classes: int, one_vs_one: bool) -> tuple[int, int]:
    """Return how many problems and layers the scheme has; see the module's head."""
    if n_classes == 2:
        return 1, 1
    if one_vs_one:
        return n_classes * (n_classes - 1) // 2, n_classes - 1
    return n_classes, n_classes


class TrainingGram:
    """The Gram matrix of the training rows, all of them or the rows of one problem.

    It is held in float64 where it fits into `cache_bytes`; otherwise rows are computed on demand
    and cached in float32.

    Parameters
    ----------
    kernel : callable or None
        None for a precomputed matrix.
    X : array or CSR matrix of shape (n, d)
    cache_bytes : float
    matrix : ndarray of shape (n, n), default=None
        The matrix where it is known already.
    n_jobs : int, default=1
        How many parts are in use at a time and share `cache_bytes`.

    Attributes
    ----------
    dense : bool
        Whether the whole matrix is in memory. If not, problems on all rows share one cache of
        rows and must not run at the same time.
    """

    def __init__(
        self,
        kernel: Kernel | None,
        X: Any,
        cache_bytes: float,
        *,
        matrix: NDArray[Any] | None = None,
        n_jobs: int = 1,
    ) -> None:
        self._kernel, self._X = kernel, X
        self._cache_bytes, self._n_jobs = cache_bytes, n_jobs
        self._whole: Gram | None = None
        if matrix is not None:
            self._whole = DenseGram(matrix)
        elif fits(X.shape[0], cache_bytes):
            self._whole = self._evaluate(X, cache_bytes)
        self.dense = self._whole is not None

    def part(self, rows: Indices | slice) -> Gram:
        """Return K on the rows of one problem; a slice stands for all rows."""
        if self._whole is not None and self.dense and not isinstance(rows, slice):
            return DenseGram(self._whole.block(rows))
        if not isinstance(rows, slice):
            return self._evaluate(self._X[rows], self._cache_bytes / self._n_jobs)
        if self._whole is None:
            self._whole = self._evaluate(self._X, self._cache_bytes)
        return self._whole

    def _evaluate(self, X: Any, cache_bytes: float) -> Gram:
        kernel = self._kernel
        if kernel is None:
            raise ValueError("expected a kernel or a matrix, got neither")
        if not fits(X.shape[0], cache_bytes):
            return RowGram.from_kernel(kernel, X, cache_bytes)
        # A kernel of ours called with one argument knows that its matrix is symmetric.
        return DenseGram(kernel(X) if isinstance(kernel, StandardKernel) else kernel(X, X))


def fits(n: int, cache_bytes: float) -> bool:
    """Return whether a float64 matrix of n rows and columns takes at most `cache_bytes`."""
    return 8.0 * n * n <= cache_bytes


def solve_each(
    solve: Callable[..., SvmDualResult],
    gram: TrainingGram,
    problems: Iterable[Problem],
    C: FloatArray,
    *,
    start: FloatArray | None = None,
    n_jobs: int | None = None,
    callback: Callable[[Problem, int, float, float], Any] | None = None,
    **options: Any,
) -> Iterator[tuple[Problem, SvmDualResult]]:
    """Solve the problems of a machine, up to `n_jobs` at a time in threads.

    Parameters
    ----------
    solve : callable
        ``solve(K, p, C, **options)`` of :mod:`kernelfit.solvers.svm_dual`.
    gram : TrainingGram
    problems : iterable of Problem
    C : ndarray of shape (n,)
        The cost of each row.
    start : ndarray of shape (n_layers, n), optional
        Layers of solutions to start from.
    n_jobs : int, optional
        As in joblib. Problems that share cached rows are solved one after the other.
    callback : callable, optional
        Called as ``callback(problem, n_iter, objective, gap)`` in every round.
    **options
        Passed to `solve`.

    Yields
    ------
    problem : Problem
    result : SvmDualResult
        In the order of the problems.
    """

    def job(problem: Problem) -> tuple[Problem, SvmDualResult]:
        result = solve(
            gram.part(problem.rows),
            problem.p,
            C[problem.rows],
            warm_start=None if start is None else start[problem.layer, problem.rows],
            callback=None if callback is None else partial(callback, problem),
            **options,
        )
        return problem, result

    # Threads, whatever the backend in force: the matrix is shared.
    parallel = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")
    yield from parallel(delayed(job)(problem) for problem in problems)


def decision_values(
    K: NDArray[Any], coef: FloatArray, intercept: FloatArray, n_support: Indices
) -> FloatArray:
    """Return the decision values of every problem.

    Parameters
    ----------
    K : ndarray of shape (m, n_support_vectors)
        Kernel between new points and support vectors.
    coef : ndarray of shape (n_layers, n_support_vectors)
    intercept : ndarray of shape (n_problems,)
    n_support : ndarray of shape (n_classes,)
        Support vectors of each class; in one-vs-one they come class by class.

    Returns
    -------
    ndarray of shape (m, n_problems)
    """
    if len(coef) == len(intercept):
        return np.asarray(K @ coef.T + intercept)
    ends = np.cumsum(n_support)
    # sums[c][:, a]: what the support vectors of class c say against the class of layer a
    sums = [
        K[:, end - n : end] @ coef[:, end - n : end].T
        for end, n in zip(ends, n_support, strict=True)
    ]
    pairs = combinations(range(len(n_support)), 2)
    values = np.stack([sums[i][:, j - 1] + sums[j][:, i] for i, j in pairs], axis=1)
    return np.asarray(values + intercept)


def one_vs_one_votes(decision: FloatArray, n_classes: int) -> tuple[FloatArray, FloatArray]:
    r"""Return the votes of the one-vs-one problems, and scores that order classes of equal votes.

    With the sum :math:`s_c` of the decision values in favour of class c, its score is
    :math:`\mathrm{votes}_c + s_c / (3 (1 + |s_c|))`: the second term is below 1/3 in magnitude and
    so never outweighs a vote.

    Parameters
    ----------
    decision : ndarray of shape (..., n_classes * (n_classes - 1) / 2)
    n_classes : int

    Returns
    -------
    votes, scores : ndarray of shape (..., n_classes)
    """
    sign = np.zeros((decision.shape[-1], n_classes))
    for index, (i, j) in enumerate(combinations(range(n_classes), 2)):
        sign[index, i], sign[index, j] = 1.0, -1.0
    votes = 0.5 * (np.where(decision >= 0.0, 1.0, -1.0) @ sign + (n_classes - 1))
    sums = decision @ sign
    return votes, votes + sums / (3.0 * (1.0 + np.abs(sums)))
