r"""Weights in proportion to how well each kernel does alone.

In classification, with :math:`\pi_m` the accuracy of the machine on kernel m alone,
:math:`\mu_m \propto \max(\pi_m - \delta, 0)` [1]_. In regression, with :math:`e_m` its mean squared
error, :math:`\mu_m \propto \sum_l e_l - e_m` [2]_. Both are measured by three folds of the training
rows, in which every third row of a class goes into the same fold.

References
----------
.. [1] H. Tanabe, T. B. Ho, C. H. Nguyen, S. Kawasaki, "Simple but effective methods for combining
   kernels in computational biology", Research, Innovation and Vision for the Future (2008).
.. [2] S. Qiu, T. Lane, "A framework for multiple kernel support vector regression and its
   applications to siRNA efficacy prediction", IEEE/ACM Transactions on Computational Biology and
   Bioinformatics 6 (2009).
"""

import numpy as np

from kernelfit.families.multiple.bank import Array
from kernelfit.families.multiple.weights import KernelWeights
from kernelfit.learners.learner import Tasks
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.task import Task

_FOLDS = 3
_TOL, _MAX_ITER = 1e-2, 1000


def proportional(
    family: KernelWeights, tasks: Tasks, weight: Array, *, classify: bool, delta: float
) -> Array:
    """Return weights by the accuracy, or the error, of each kernel.

    Parameters
    ----------
    family : KernelWeights
    tasks : tuple of Task
        The mean over them counts.
    weight : ndarray of shape (n,)
        Of the rows, in the means.
    classify : bool
    delta : float
        The accuracy from which on a kernel has weight.

    Returns
    -------
    ndarray of shape (n_kernels,)
        They sum to one.
    """
    size = family.bank.size
    found = np.zeros(size)
    for m in range(size):
        K = family.bank.matrix(m)
        found[m] = np.mean([_alone(K, task, weight, classify) for task in tasks])
    merit = np.maximum(found - delta, 0.0) if classify else found.sum() - found
    total = float(merit.sum())
    return merit / total if total > 0.0 else family.initial


def _alone(K: Array, task: Task, weight: Array, classify: bool) -> float:
    """Return the accuracy or the mean squared error of one kernel out of the folds."""
    fold = folds(task.p, classify)
    loss = np.zeros(task.n)
    for k in range(_FOLDS):
        inside, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        part = task.take(inside)
        block = np.ascontiguousarray(K[np.ix_(inside, inside)])
        machine = solve_dual(block, part, tol=_TOL, max_iter=_MAX_ITER, assume_psd=True)
        f = K[np.ix_(out, inside)] @ machine.x + machine.intercept
        loss[out] = f * task.p[out] > 0.0 if classify else (f - task.p[out]) ** 2
    return float(np.average(loss, weights=weight))


def folds(p: Array, classify: bool) -> Array:
    """Return the fold of every row: the rows of a class, or all, are dealt out in turn.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Labels -1 and 1, or targets.
    classify : bool

    Returns
    -------
    ndarray of shape (n,)
    """
    fold = np.arange(len(p)) % _FOLDS
    if classify:
        for label in (-1.0, 1.0):
            rows = np.flatnonzero(p == label)
            fold[rows] = np.arange(len(rows)) % _FOLDS
    return fold
