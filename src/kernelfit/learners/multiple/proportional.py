r"""Weights in proportion to how well each kernel does alone.

In classification, with :math:`\pi_m` the accuracy of the machine on kernel m alone,
:math:`\mu_m \propto \max(\pi_m - \delta, 0)` [1]_. In regression, with :math:`e_m` its mean squared
error, :math:`\mu_m \propto \sum_l e_l - e_m` [2]_. Both are measured by three folds of the training
rows, to which different rows in the order of their targets are dealt out in turn, so that each has
its share of every class. Two different rows make two folds, and equal rows alone equal weights.

References
----------
.. [1] H. Tanabe, T. B. Ho, C. H. Nguyen, S. Kawasaki, "Simple but effective methods for combining
   kernels in computational biology", Research, Innovation and Vision for the Future (2008).
.. [2] S. Qiu, T. Lane, "A framework for multiple kernel support vector regression and its
   applications to siRNA efficacy prediction", IEEE/ACM Transactions on Computational Biology and
   Bioinformatics 6 (2009).
"""

import numpy as np

from kernelfit.families.multiple.bank import Array, Bank
from kernelfit.families.multiple.weights import KernelWeights
from kernelfit.kernels.gram import Gram
from kernelfit.learners.learner import Tasks
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.task import Task

_FOLDS = 3
_PAIRS = 256  # rows whose kernel matrix is computed where only that of neighbours is wanted
_EQUAL = 1e-12  # of the squared norms: a squared distance below it is rounding
_TOL, _MAX_ITER = 1e-2, 1000  # before the last steps, by which weights equal repeated rows


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
    bank = family.bank
    # Of equal scale, so that no kernel alone says which rows are equal.
    total = bank.gram(1.0 / np.average(bank.diagonals(), axis=1, weights=weight))
    parts = [folds(task.p, total, weight) for task in tasks]
    del total  # before other matrices take its memory
    measured = [pair for pair in zip(tasks, parts, strict=True) if len(pair[1]) > 1]
    if not measured:
        return family.initial
    found = np.zeros(bank.size)
    for m in range(bank.size):
        found[m] = np.mean([_alone(bank, m, *pair, weight, classify) for pair in measured])
    merit = np.maximum(found - delta, 0.0) if classify else found.sum() - found
    mass = float(merit.sum())
    return merit / mass if mass > 0.0 else family.initial


def _alone(
    bank: Bank, m: int, task: Task, parts: list[Array], weight: Array, classify: bool
) -> float:
    """Return the accuracy or the mean squared error of one kernel out of the folds."""
    loss, alone = np.zeros(task.n), np.ones(1)
    gram = bank.select(m).gram(alone)
    for k, out in enumerate(parts):
        inside = np.concatenate(parts[:k] + parts[k + 1 :])
        part = task.take(inside)
        inner = bank.select(m, inside).gram(alone)
        machine = solve_dual(
            inner, part, tol=_TOL, max_iter=_MAX_ITER, assume_psd=True, polish=True
        )
        f = gram.product(inside, machine.x)[out] + machine.intercept
        loss[out] = f * task.p[out] > 0.0 if classify else (f - task.p[out]) ** 2
    return float(np.average(loss, weights=weight))


def folds(p: Array, gram: Gram, weight: Array) -> list[Array]:
    """Return the rows of up to three folds, which depend on values and weights alone.

    Rows in the order of their targets, and then of their weighted sum of squared kernel values, are
    dealt out in turn, equal ones together. Different rows that have both in common, as in symmetric
    data, keep their order.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Labels -1 and 1, or targets.
    gram : Gram
        Positive semidefinite.
    weight : ndarray of shape (n,)

    Returns
    -------
    list of ndarray of int
        One fold where all rows are equal.
    """
    everything = np.arange(gram.n)
    order = np.lexsort((gram.product(everything, weight, power=2), p))
    before, after = order[:-1], order[1:]
    d = gram.diagonal()
    size = d[before] + d[after]
    cross = np.empty(len(before))
    for first in range(0, len(cross), _PAIRS):
        block = gram.block(order[first : first + _PAIRS + 1], exact=True)
        cross[first : first + _PAIRS] = block.diagonal(1)
    fresh = (p[before] != p[after]) | (size - 2.0 * cross > _EQUAL * size)
    number = np.append(0, np.cumsum(fresh))
    return [order[number % _FOLDS == k] for k in range(min(_FOLDS, number[-1] + 1))]
