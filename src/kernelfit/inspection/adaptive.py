"""What a learned factor of the kernel matrix did: spectra, range, ridge and margin."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.distances import squared_distances
from kernelfit.learners.partition import partition_bound
from kernelfit.solvers.gram import DenseGram

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
    X : array-like of shape (n_samples, n_features)
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
    >>> from kernelfit.inspection.adaptive import diagnose_factor
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> found = diagnose_factor(DANKClassifier(C=10.0).fit(X, y), X)
    >>> found.rank == len(found.factor_spectrum[found.factor_spectrum > 1e-10])
    True
    """
    rows = model._problem_rows[problem]
    theta = model._factor_matrix(problem)
    X = np.asarray(X, dtype=np.float64)
    K = X[np.ix_(rows, rows)] if model.kernel_ is None else model.kernel_(X[rows], X[rows])
    beta = np.zeros(model.shape_fit_[0])
    beta[model.support_[model._layers[problem]]] = model._factors[problem].beta[:-1]
    beta = beta[rows]
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
        rank=int(np.linalg.matrix_rank(theta, hermitian=True)),
        ridge=ridge,
        margin_before=margin(K),
        margin_after=margin(theta * K),
    )


def diagnose_partition(model: Any, X: Any) -> tuple[float, float]:
    """Return how far the blocks' solutions of a DANK estimator can be from the optimum.

    Parameters
    ----------
    model : DANKClassifier or DANKRegressor
        Fitted with a `partition`, one problem and no sample or class weights.
    X : array-like of shape (n_samples, n_features)
        The training data.

    Returns
    -------
    bound, between : float
        See :func:`kernelfit.learners.partition.partition_bound`.
    """
    X = np.asarray(X, dtype=np.float64)
    blocks = squared_distances(X, model.cluster_centers_).argmin(axis=1)
    ones = np.ones(len(X))
    gram = DenseGram(model.kernel_(X, X))
    return partition_bound(gram, model.C * ones, ones, blocks, model.eta_)
