"""Support vector machines made of one or more binary problems on one shared Gram matrix.

Symbols: n rows, k classes, ``labels`` in 0 .. k-1. A problem is solved in the signed variable
``beta`` of :mod:`kernelfit.solvers.dual.solve`; the solutions are the layers of one array ``coef``:

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

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.tasks.certificate import FloatArray

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
    sums = np.stack([
        K[:, end - n : end] @ coef[:, end - n : end].T
        for end, n in zip(ends, n_support, strict=True)
    ])  # fmt: skip
    i, j = np.triu_indices(len(n_support), 1)
    return np.asarray((sums[i, :, j - 1] + sums[j, :, i]).T + intercept)


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
    won = np.where(decision >= 0.0, 1.0, -1.0)
    votes = 0.5 * (_in_favour(won, n_classes) + (n_classes - 1))
    sums = _in_favour(decision, n_classes)
    return votes, votes + sums / (3.0 * (1.0 + np.abs(sums)))


def one_vs_one_scores(decision: FloatArray, n_classes: int) -> FloatArray:
    """Return the mean of the decision values in favour of each class, each between -1 and 1.

    A pair of classes says much of a point of neither, far from both: hence the limits.

    Parameters
    ----------
    decision : ndarray of shape (..., n_classes * (n_classes - 1) / 2)
    n_classes : int

    Returns
    -------
    ndarray of shape (..., n_classes)
    """
    return _in_favour(np.tanh(decision), n_classes) / (n_classes - 1)


def _in_favour(values: FloatArray, n_classes: int) -> FloatArray:
    """Return the sum of what the pairs, along the last axis, say for each class less against it."""
    sums = np.zeros((*values.shape[:-1], n_classes))
    start = 0
    for first in range(n_classes - 1):  # the pairs of a class with later ones follow each other
        stop = start + n_classes - 1 - first
        part = values[..., start:stop]
        sums[..., first] += part.sum(axis=-1)
        sums[..., first + 1 :] -= part
        start = stop
    return sums


def problem_coef(coef: FloatArray, n_support: Indices, index: int, n_problems: int) -> FloatArray:
    """Return the coefficients of one problem at all support vectors.

    Parameters
    ----------
    coef : ndarray of shape (n_layers, n_support_vectors)
    n_support : ndarray of shape (n_classes,)
        As for `decision_values`.
    index, n_problems : int
        The problem, and how many there are.

    Returns
    -------
    ndarray of shape (n_support_vectors,)
    """
    if len(coef) == n_problems:
        return np.asarray(coef[index])
    i, j = list(combinations(range(len(n_support)), 2))[index]
    ends = np.cumsum(n_support)
    out = np.zeros(coef.shape[1])
    for c, layer in ((i, j - 1), (j, i)):
        members = slice(ends[c] - n_support[c], ends[c])
        out[members] = coef[layer, members]
    return out
