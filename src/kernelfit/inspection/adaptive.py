"""What a learned factor of the kernel matrix did: spectra, range, ridge and margin."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelfit.estimators.adaptive import AdaptiveMachine
from kernelfit.estimators.svm import KernelSVC, KernelSVR
from kernelfit.kernels.gram import RowGram
from kernelfit.learners.partition import partition_bound

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FactorDiagnostics:
    """Numbers about one problem of a DANK or KNPL estimator.

    Attributes
    ----------
    factor_spectrum, kernel_spectrum, learned_spectrum : ndarray of shape (n,)
        Eigenvalues of the factor Theta, of K and of ``Theta o K``, largest first.
    factor_range : tuple of float
        Smallest and largest entry of Theta.
    rank : int
        Numerical rank of Theta.
    ridge : ndarray of shape (n,)
        ``((Theta - 11') o K) beta / beta`` where there is a coefficient, else 0: on its training
        points the machine is one with the kernel K and this ridge. With tau = 0 this is
        ``D = ((K o K)(beta o beta)) / (4 eta)`` on the support.
    margin_before, margin_after : float
        ``1 / ||f||`` of the decision function with these coefficients, in the space of K and of
        ``Theta o K``.
    """

    factor_spectrum: Array
    kernel_spectrum: Array
    learned_spectrum: Array
    factor_range: tuple[float, float]
    rank: int
    ridge: Array
    margin_before: float
    margin_after: float


def diagnose_factor(model: Any, X: Any, problem: int = 0) -> FactorDiagnostics:
    """Return diagnostics of a fitted DANK or KNPL estimator.

    Parameters
    ----------
    model : DANKClassifier, DANKRegressor, KNPLClassifier or KNPLRegressor
        Fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The training data, or the precomputed kernel matrix.
    problem : int, default=0
        Which of the binary problems.

    Returns
    -------
    FactorDiagnostics

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernelfit import DANKClassifier
    >>> from kernelfit.inspection import diagnose_factor
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> found = diagnose_factor(DANKClassifier(C=10.0).fit(X, y), X)
    >>> bool(found.margin_after < found.margin_before)
    True
    """
    X = _training_data(model, X, problem)
    rows, factor = model._group_rows[problem], model._thetas[problem]
    theta = model._factor_matrix(problem)
    if model._initial_kernel is None:
        K = np.asarray(X[np.ix_(rows, rows)], dtype=np.float64)
    else:
        K = model._initial_kernel(X[rows], X[rows])
    beta = np.zeros(len(rows))
    beta[factor.support] = factor.response.beta[:-1]
    change = (theta - 1.0) * K @ beta
    ridge = np.divide(change, beta, out=np.zeros(len(beta)), where=beta != 0.0)

    def spectrum(matrix: Array) -> Array:
        return np.asarray(np.linalg.eigvalsh(matrix)[::-1], dtype=np.float64)

    def margin(matrix: Array) -> float:
        square = float(beta @ matrix @ beta)
        return 1.0 / float(np.sqrt(square)) if square > 0.0 else np.inf

    return FactorDiagnostics(
        factor_spectrum=spectrum(theta),
        kernel_spectrum=spectrum(K),
        learned_spectrum=spectrum(theta * K),
        factor_range=(float(theta.min()), float(theta.max())),
        rank=factor.rank(model._support_gram(problem)),
        ridge=ridge,
        margin_before=margin(K),
        margin_after=margin(theta * K),
    )


def diagnose_partition(model: Any, X: Any, problem: int = 0) -> tuple[float, float]:
    """Return the worst-case bound on how far the blocks' solutions can be from the optimum.

    It holds for any solutions in the box and is mostly hundreds of times the loss and more: only a
    small value says something, and `dual_gap_` says more. The optimum is that without nuclear norm
    and intercept, of which `objective_` is the blocks' value for ``combine="concatenate"`` and
    ``combine="nearest"``. A support vector machine with a `partition` goes on from the blocks'
    solutions to the optimum.

    Parameters
    ----------
    model : DANKClassifier, DANKRegressor, KernelSVC or KernelSVR
        Fitted with a `partition`. Its weights, of samples and classes, are those of the fit.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The training data.
    problem : int, default=0
        Which of the binary problems.

    Returns
    -------
    bound, between : float
        See :func:`kernelfit.learners.partition.partition_bound`.
    """
    X = _training_data(model, X, problem, (AdaptiveMachine, KernelSVC, KernelSVR))
    if getattr(model, "_row_blocks", None) is None:
        raise ValueError(f"expected {type(model).__name__} to be fitted with a partition, got none")
    if model.fit_intercept and not isinstance(model, AdaptiveMachine):
        raise ValueError("expected fit_intercept=False, for which there is a bound, got True")
    cost, weight, blocks = (values[model._group_rows[problem]] for values in model._row_blocks)
    gram = RowGram.from_kernel(model._initial_kernel, X[model._group_rows[problem]], 0, np.float64)
    eta = np.atleast_1d(getattr(model, "eta_", np.inf))
    return partition_bound(gram, cost, weight, blocks, eta[problem if len(eta) > 1 else 0])


def _training_data(
    model: Any, X: Any, problem: int, kinds: tuple[Any, ...] = (AdaptiveMachine,)
) -> Any:
    """Return X in the form the estimator works with, or complain of what is not as expected."""
    if not isinstance(model, kinds):
        others = "" if len(kinds) == 1 else " or a support vector machine"
        raise ValueError(f"expected a DANK or KNPL estimator{others}, got {model!r}")
    check_is_fitted(model)
    n_problems = len(model._thetas)
    if not isinstance(problem, Integral) or not 0 <= problem < n_problems:
        raise ValueError(f"expected problem to be one of 0 .. {n_problems - 1}, got {problem!r}")
    X = model._check_test_data(X)
    if X.shape != model.shape_fit_:
        raise ValueError(
            f"expected the training data, {model.shape_fit_[0]} rows, got {X.shape[0]}"
        )
    support = model.support_
    if model._initial_kernel is None:
        differ = X[np.ix_(support, support)] != model._support_kernel
    else:
        differ = X[support] != model.support_vectors_
    if differ.sum():
        raise ValueError("expected the training data, got X with other support vectors")
    return X
