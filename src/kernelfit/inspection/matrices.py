"""Kernel matrices of fitted estimators: the learned one and the one that learning began with."""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kernelfit.clustering.auto import KernelClustering
from kernelfit.clustering.base import BaseClustering
from kernelfit.clustering.cdsk import CDSKClustering
from kernelfit.clustering.matrices import LowRank
from kernelfit.ensemble.base import AutoKernel
from kernelfit.ensemble.kernels import gram, natural_inverse_width
from kernelfit.estimators.adaptive import AdaptiveMachine
from kernelfit.estimators.machine import KernelMachine
from kernelfit.estimators.multiple import MultipleKernelMachine
from kernelfit.estimators.positive_matrix import PositiveMatrixMachine
from kernelfit.families.multiple.kernels import WeightedSum
from kernelfit.tables.views import learn_view
from kernelfit.utils.validation import as_dense

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class KernelMatrices:
    """Kernel matrices on some of the training points.

    Attributes
    ----------
    learned : ndarray of shape (n, n)
        The kernel in use.
    initial : ndarray of shape (n, n) or None
        What learning began with; None where the kernel was given, or where there is no such.
    rows : ndarray of int of shape (n,)
        Which rows of the data these are.
    """

    learned: Array
    initial: Array | None
    rows: Indices


def innermost(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """Return the machine inside searches and pipelines, and the data as that machine sees them.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like, default=None
        Data for the estimator.

    Returns
    -------
    machine : estimator
    X : array-like
    """
    while True:
        if isinstance(estimator, Pipeline):
            if X is not None and len(estimator) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator[-1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator, X


def kernel_matrices(
    estimator: Any, X: Any, *, rows: Any = None, problem: int = 0
) -> KernelMatrices:
    """Return the learned kernel of a fitted estimator on its training data, and the initial one.

    What learning begins with: for DANK and KNPL the given kernel, for TKL and GPK that of P = I,
    for multiple kernels the sum with equal weights, for CDSK the affinity, for AutoKernel one
    Gaussian on standardised columns. What is learned there: the product with the factor, the kernel
    of the learned P, the weighted sum, the weighted similarity, and the sum of the members'
    kernels, each of mean diagonal one, with their weights.

    Parameters
    ----------
    estimator : estimator
        A fitted kernel machine, clustering, search, AutoKernel, or a pipeline that ends in one.
    X : array or frame of shape (n_samples, n_features)
        The training data, or the precomputed matrix.
    rows : array-like of int, default=None
        Which of its rows to use; all when None.
    problem : int, default=0
        Which of the kernels, where every binary problem has its own.

    Returns
    -------
    KernelMatrices

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernelfit import TKLClassifier
    >>> from kernelfit.inspection import kernel_matrices
    >>> X, y = make_moons(40, noise=0.2, random_state=0)
    >>> found = kernel_matrices(TKLClassifier().fit(X, y), X)
    >>> found.learned.shape, round(float(found.initial.trace()) / 40, 6)
    ((40, 40), 1.0)
    """
    check_is_fitted(estimator)
    machine, X = innermost(estimator, X)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    chosen = np.arange(n) if rows is None else np.asarray(rows, dtype=np.intp)
    if isinstance(machine, AutoKernel):
        return _of_ensemble(machine, X, chosen)
    if isinstance(machine, KernelClustering):
        machine = machine.model_
    if isinstance(machine, BaseClustering):
        return _of_clustering(machine, X, chosen)
    if not isinstance(machine, KernelMachine):
        raise ValueError(f"expected an estimator of kernelfit with a kernel, got {machine!r}")
    return _of_machine(machine, X, chosen, problem)


def _of_machine(machine: Any, X: Any, chosen: Indices, problem: int) -> KernelMatrices:
    """Return the kernels of a machine."""
    X = machine._check_test_data(X)
    kernels = getattr(machine, "kernels_", None) or [machine.kernel_]
    n_problems = len(machine._thetas) if isinstance(machine, AdaptiveMachine) else len(kernels)
    if not isinstance(problem, Integral) or not 0 <= problem < n_problems:
        raise ValueError(f"expected problem to be one of 0 .. {n_problems - 1}, got {problem!r}")
    if isinstance(machine, AdaptiveMachine):
        return _of_factor(machine, X, chosen, problem)
    kernel = kernels[problem]
    if isinstance(machine, MultipleKernelMachine):
        return _of_bank(machine, kernel, X, chosen, problem)
    if kernel is None:
        return KernelMatrices(_dense(X[np.ix_(chosen, chosen)]), None, chosen)
    points = X[chosen]
    initial = None
    if isinstance(machine, PositiveMatrixMachine):
        identity = replace(kernel, U=np.eye(len(kernel.U)))
        initial = _dense(identity(points, points))
    return KernelMatrices(_dense(kernel(points, points)), initial, chosen)


def _of_factor(machine: Any, X: Any, rows: Indices, problem: int) -> KernelMatrices:
    """Return the given kernel and its product with the learned factor of one problem."""
    own = machine._group_rows[problem]
    place = np.searchsorted(own, rows).clip(max=len(own) - 1)
    rows, place = rows[own[place] == rows], place[own[place] == rows]
    kernel = machine._initial_kernel
    K = _dense(X[np.ix_(rows, rows)] if kernel is None else kernel(X[rows], X[rows]))
    return KernelMatrices(machine._factor_matrix(problem)[np.ix_(place, place)] * K, K, rows)


def _of_bank(machine: Any, kernel: Any, X: Any, rows: Indices, problem: int) -> KernelMatrices:
    """Return the sums of kernels with learned and with equal weights."""
    weights = np.atleast_2d(machine.weights_)[problem]
    equal = np.full(len(weights), weights.sum() / len(weights))
    if kernel is None:
        stack = X[np.ix_(rows, rows)] * machine.scales_
        return KernelMatrices(stack @ weights, stack @ equal, rows)
    points = X[rows]
    initial = None
    if isinstance(kernel, WeightedSum):
        initial = WeightedSum(kernel.members, equal)(points)
    return KernelMatrices(kernel(points, points), initial, rows)


def _of_clustering(machine: Any, X: Any, rows: Indices) -> KernelMatrices:
    """Return the affinity and, for CDSK, the similarity (b_i + b_j - mu b_i b_j) K_ij."""
    K: Any = getattr(machine, "affinity_matrix_", None)
    K = X if K is None else K
    if isinstance(K, LowRank):
        K = K.Z[rows] @ K.Z[rows].T
    else:
        K = _dense(K[rows][:, rows])
    if not isinstance(machine, CDSKClustering) or np.ptp(machine.weights_) == 0.0:
        return KernelMatrices(K, None, rows)  # no weights were learned
    b = machine.weights_
    mu = machine.mu_ / len(b) if machine.mode == "literal" else machine.mu_
    b = b[rows]
    return KernelMatrices((b[:, None] + b - mu * np.outer(b, b)) * K, K, rows)


def _of_ensemble(machine: Any, X: Any, rows: Indices) -> KernelMatrices:
    """Return the weighted sum of the members' kernels, and one Gaussian."""
    table = machine._check_table(X)[rows]
    learned = np.zeros((len(rows), len(rows)))
    for weight, member in zip(machine.weights_, machine._machines.machines, strict=True):
        if hasattr(member, "kernel"):  # else an estimator of the user
            K = gram(member.kernel, member.features(table), None, member.inverse_width)
            learned += weight / np.diagonal(K).mean() * K
    ones = np.ones(len(rows))
    Z = learn_view(table, machine._plan.roles, ones, "standard")(table)
    initial = gram("gaussian", Z, None, natural_inverse_width("gaussian", Z, ones))
    return KernelMatrices(learned, _dense(initial), rows)


def _dense(K: Any) -> Array:
    return np.asarray(as_dense(K), dtype=np.float64)


def sorted_rows(labels: Any, n: int, max_points: int) -> Indices:
    """Return rows in the order of their labels, evenly spaced where there are too many.

    Parameters
    ----------
    labels : array-like of shape (n,) or None
    n : int
    max_points : int

    Returns
    -------
    ndarray of int
    """
    order = np.arange(n) if labels is None else np.argsort(np.asarray(labels), kind="stable")
    if n <= max_points:
        return order
    return order[np.linspace(0, n - 1, max_points).round().astype(np.intp)]
