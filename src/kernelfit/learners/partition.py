r"""The division of a large problem (section 4 of the DANK paper).

The points are split into blocks; each is solved alone, without nuclear norm and intercept; the
solutions side by side are feasible for the whole, and exact where the kernel vanishes between
blocks. Without an intercept and with tau = 0,

.. math::

    0 \le h(\beta^*) - h(\bar\beta) \le \sum_{\pi(i) \ne \pi(j)}
        C_i C_j |K_{ij}| + \frac{1}{16\eta} \Bigl(\frac{C_i C_j}{\sqrt{w_i w_j}}\Bigr)^2 K_{ij}^2

with :math:`\pi` the block of a point (the paper's Theorem 6 lacks a term independent of eta). It
is a bound for the worst solutions in the box, far above the loss: hundreds of times and more.

At a point the solutions side by side give the value of its own block's machine plus that of all
others, which is larger than it where the kernel is wide: targets of a regression are overshot, and
classes suffer as well.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelfit.families.hadamard.dank import AdaptiveFamily
from kernelfit.kernels.gram import Gram
from kernelfit.learners.hadamard import Penalty
from kernelfit.solvers.dual.blocks import sample_is_psd
from kernelfit.solvers.dual.quartic import solve_quartic_dual
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.solvers.result import FloatArray
from kernelfit.solvers.saddle.problem import SaddleProblem, assess
from kernelfit.solvers.saddle.progress import Pair, Progress, SaddleResult
from kernelfit.tasks.task import Task
from kernelfit.utils.jobs import run_in_order

Indices = npt.NDArray[np.intp]


def learn_blocks(
    gram: Gram,
    task: Task,
    blocks: Indices,
    penalty: Penalty,
    *,
    weight: FloatArray,
    repeats: Indices | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    assume_psd: bool = False,
    n_jobs: int | None = None,
    source: Any = None,
) -> SaddleResult:
    """Solve every block alone and put the solutions side by side.

    Parameters
    ----------
    gram, task, penalty, weight, repeats, tol, max_iter, assume_psd
        As for :func:`kernelfit.learners.hadamard.learn_factor`; the intercept and the nuclear norm
        are left out. A relative eta refers to the machines of the blocks, taken together.
    blocks : ndarray of shape (n,)
        The block of every point.
    n_jobs : int, optional
        Blocks solved at a time, through joblib.
    source : object, optional
        Whose ``block(rows)`` gives the kernel matrix of a block, and which other processes can be
        sent; `gram` itself when None.

    Returns
    -------
    SaddleResult
        Of the whole problem without an intercept, and so are ``gap`` and ``converged``.
    """
    task = replace(task, total=None)
    members = [np.flatnonzero(blocks == block) for block in np.unique(blocks)]
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "assume_psd": assume_psd}

    source = gram if source is None else source

    def run(solve: Any, *shared: Any) -> tuple[FloatArray, list[Any]]:
        jobs = [(rows,) for rows in members]
        results = run_in_order(solve, jobs, (source, task, options, *shared), n_jobs=n_jobs)
        beta = np.zeros(task.n)
        for rows, result in zip(members, results, strict=True):
            beta[rows] = result.x
        return beta, results

    start = None
    if penalty.relative:
        start, _ = run(_solve_plain)
        penalty = penalty.absolute(start, weight, repeats)
    eta = penalty.eta
    beta, results = run(_solve_adaptive, eta, weight, start)
    if not all(result.objective >= 0.0 or result.n_iter >= max_iter for result in results):
        # Zero would be better.
        raise ValueError(f"expected a larger eta, got one of {eta:.1e}, and rounding or overflow")
    psd = assume_psd or sample_is_psd(gram)  # blocks that are psd do not make the whole so
    proved = psd and all(result.status == "proved" for result in results)
    problem = SaddleProblem(AdaptiveFamily(gram, weight, eta), (task,))
    response = problem.family.respond(beta[None])
    progress = Progress(tol)
    progress.add(assess(problem, Pair(beta[None], response.theta, response)))
    progress.ending = "max_iter"
    return progress.result("proved" if proved else "stationary")


def _solve_plain(source: Any, task: Task, options: dict[str, Any], rows: Indices) -> Any:
    """Solve a block with the initial kernel."""
    return solve_dual(source.block(rows, exact=True), task.take(rows), **options)


def _solve_adaptive(
    source: Any,
    task: Task,
    options: dict[str, Any],
    eta: float,
    weight: FloatArray,
    start: FloatArray | None,
    rows: Indices,
) -> Any:
    """Solve a block with its factor."""
    K, first = source.block(rows, exact=True), None if start is None else start[rows]
    return solve_quartic_dual(K, task.take(rows), eta, weight=weight[rows], start=first, **options)


def partition_bound(
    gram: Gram, C: FloatArray, weight: FloatArray, blocks: Indices, eta: float
) -> tuple[float, float]:
    """Return how far the objective of the blocks' solutions can be from the optimum.

    Parameters
    ----------
    gram : Gram
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
        rows = everything[start : start + 256]
        K = np.abs(gram.rows(rows)) * (blocks[rows, None] != blocks)
        between += float(K.sum())
        quadratic += float(C[rows] @ (K @ C))
        quartic += float(scaled[rows] @ ((K * K) @ scaled))
    return quadratic + quartic / (16.0 * eta), between
