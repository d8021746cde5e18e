r"""The division of a large problem (section 4 of the DANK paper).

The points are split into blocks; each is solved alone, without nuclear norm and intercept; the
solutions side by side are feasible for the whole, and exact where the kernel vanishes between
blocks. Without an intercept and with tau = 0,

.. math::

    0 \le h(\beta^*) - h(\bar\beta) \le \sum_{\pi(i) \ne \pi(j)}
        C_i C_j |K_{ij}| + \frac{1}{16\eta} \Bigl(\frac{C_i C_j}{\sqrt{w_i w_j}}\Bigr)^2 K_{ij}^2

with :math:`\pi` the block of a point (the paper's Theorem 6 lacks a term independent of eta).

At a point the solutions side by side give the value of its own block's machine plus that of all
others, which may be larger than it where the kernel is wide. Signs of classes bear that, targets of
a regression do not: its blocks fit the targets alone already.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from kernelfit.families.adaptive import AdaptiveFamily
from kernelfit.learners.dank import squared_norm
from kernelfit.learners.saddle import Gram, SaddleProblem, SaddleResult, follow
from kernelfit.solvers.block_rounds import sample_is_psd
from kernelfit.solvers.quartic_dual import solve_quartic_dual
from kernelfit.solvers.result import FloatArray
from kernelfit.solvers.svm_dual import solve_svm_dual

Indices = npt.NDArray[np.intp]


def learn_blocks(
    gram: Gram,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    blocks: Indices,
    *,
    weight: FloatArray,
    eta: float,
    relative: bool,
    groups: Indices | None = None,
    epsilon: float = 0.0,
    tol: float = 1e-6,
    max_iter: int = 1000,
    assume_psd: bool = False,
    n_jobs: int | None = None,
) -> SaddleResult:
    """Solve every block alone and put the solutions side by side.

    Parameters
    ----------
    gram, p, lower, upper, weight, eta, relative, groups, epsilon, tol, max_iter, assume_psd
        As for :func:`kernelfit.learners.dank.learn_factor`. A relative eta refers to the machines
        of the blocks, taken together.
    blocks : ndarray of shape (n,)
        The block of every point.
    n_jobs : int, optional
        Blocks solved at a time, through joblib.

    Returns
    -------
    SaddleResult
        Of the whole problem without an intercept, and so are ``gap`` and ``converged``.
    """
    members = [np.flatnonzero(blocks == block) for block in np.unique(blocks)]
    options: dict[str, Any] = {
        "epsilon": epsilon,
        "fit_intercept": False,
        "tol": tol,
        "max_iter": max_iter,
        "assume_psd": assume_psd,
    }

    def run(solve: Any, start: FloatArray | None, *more: Any) -> tuple[FloatArray, list[Any]]:
        def jobs() -> Iterator[Any]:
            for rows in members:
                yield delayed(solve)(
                    gram.block(rows, exact=True),
                    p[rows],
                    lower[rows],
                    upper[rows],
                    *[value[rows] if isinstance(value, np.ndarray) else value for value in more],
                    warm_start=None if start is None else start[rows],
                    **options,
                )

        beta = np.zeros(len(p))
        results = Parallel(n_jobs=n_jobs, prefer="threads")(jobs())
        for rows, result in zip(members, results, strict=True):
            beta[rows] = result.x
        return beta, results

    start = None
    if relative:
        start, _ = run(solve_svm_dual, None)
        eta *= squared_norm(start, weight, groups)
    beta, results = run(_solve_block, start, eta, weight)
    if not all(result.objective >= 0.0 or result.n_iter >= max_iter for result in results):
        # Zero would be better.
        raise ValueError(f"expected a larger eta, got one of {eta:.1e}, and rounding or overflow")
    psd = assume_psd or sample_is_psd(gram)  # blocks that are psd do not make the whole so
    problem = SaddleProblem(AdaptiveFamily(eta, weight), gram, p, lower, upper, epsilon, False)
    return follow(
        problem,
        iter([problem.respond(beta)]),
        certified=psd and all(result.certified for result in results),
        tol=tol,
        max_iter=0,
    )


def _solve_block(
    K: FloatArray,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    eta: float,
    weight: FloatArray,
    **options: Any,
) -> Any:
    return solve_quartic_dual(K, p, lower, upper, eta, weight=weight, **options)


def partition_bound(
    gram: Gram, C: FloatArray, weight: FloatArray, blocks: Indices, eta: float
) -> tuple[float, float]:
    """Return how far the objective of the blocks' solutions can be from the optimum.

    Parameters
    ----------
    gram : DenseGram or RowGram
    C, weight : ndarray of shape (n,)
        Largest coefficients and multiplicities.
    blocks : ndarray of shape (n,)
    eta : float

    Returns
    -------
    bound : float
        The right-hand side of the inequality at the module's head.
    between : float
        Q(pi), the sum of ``|K_ij|`` over pairs of different blocks.
    """
    between = quadratic = quartic = 0.0
    scaled = C * C / weight
    everything = np.arange(gram.n)
    for start in range(0, gram.n, 256):
        for positions, source, places in gram.parts(everything[start : start + 256], exact=True):
            rows = everything[start : start + 256][positions]
            K = np.abs(source[places]) * (blocks[rows, None] != blocks)
            between += float(K.sum())
            quadratic += float(C[rows] @ (K @ C))
            quartic += float(scaled[rows] @ ((K * K) @ scaled))
    return quadratic + quartic / (16.0 * eta), between
