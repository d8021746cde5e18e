r"""Regularised information maximisation: clusters that a kernel classifier tells with confidence.

.. math:: \max_{a, b}\; H\Big(\sum_i w_i p_i\Big) - \sum_i w_i H(p_i)
    - \lambda \sum_k a_k' K a_k, \qquad p_{ik} \propto \exp\Big(\sum_j K_{ij} a_{jk} + b_k\Big)

The first two terms are the mutual information of points and clusters; w are the weights of the
points, of sum one, and H the entropy.

References
----------
.. [1] R. Gomes, A. Krause, P. Perona. "Discriminative clustering by regularized information
   maximization". Advances in Neural Information Processing Systems 23 (2010).
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from kernelfit.clustering.matrices import Multiply, multiply
from kernelfit.kernels.distances import Array

_RANK = 1e-10  # of the largest eigenvalue: below it directions are left out


@dataclass(frozen=True)
class InformationResult:
    """Outcome of the maximisation.

    Attributes
    ----------
    coef : ndarray of shape (r, c)
        Of the classifier, in the columns of the factor of K.
    intercept : ndarray of shape (c,)
    objective : float
        Mutual information less the penalty, in nats.
    information : float
        Mutual information.
    history : tuple of float
        Objective of the start and after every iteration; it never falls.
    n_iter : int
    converged : bool
    """

    coef: Array
    intercept: Array
    objective: float
    information: float
    history: tuple[float, ...]
    n_iter: int
    converged: bool


def kernel_factor(K: Array) -> tuple[Array, Array]:
    """Return F and G with ``K = F F'`` and ``F = K G``, without directions of rounding.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite; negative eigenvalues are left out.

    Returns
    -------
    F, G : ndarray of shape (n, r)
    """
    values, vectors = np.linalg.eigh(K)
    kept = values > max(_RANK * values[-1], 0.0)
    root = np.sqrt(values[kept])
    return vectors[:, kept] * root, vectors[:, kept] / root


def probabilities(decision: Array) -> Array:
    """Return the softmax of every row."""
    p = np.exp(decision - decision.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def information(decision: Array, weights: Array) -> tuple[float, Array]:
    """Return the mutual information of points and clusters and its gradient in the decisions.

    Parameters
    ----------
    decision : ndarray of shape (n, c)
        Logarithms of the probabilities, up to a constant of every row.
    weights : ndarray of shape (n,)
        Of sum one.

    Returns
    -------
    value : float
        In nats, between 0 and log c.
    gradient : ndarray of shape (n, c)
    """
    shifted = decision - decision.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    p = np.exp(log_p)
    mean = weights @ p
    log_ratio = log_p - np.log(np.maximum(mean, np.finfo(float).tiny))
    each = np.einsum("ik,ik->i", p, log_ratio)
    gradient = weights[:, None] * p * (log_ratio - each[:, None])
    return float(weights @ each), gradient


def maximise_information(
    F: Array,
    weights: Array,
    start: Array,
    penalty: float,
    *,
    max_iter: int,
    tol: float,
    multiply: Multiply = multiply,
) -> InformationResult:
    """Maximise from a given partition, by a quasi-Newton method.

    Parameters
    ----------
    F : ndarray of shape (n, r)
        Features whose products are the kernel.
    weights : ndarray of shape (n,)
        Of sum one.
    start : ndarray of shape (n, c)
        Decisions to begin with; the features that come closest to them are.
    penalty : float
        Lambda.
    max_iter : int
    tol : float
        Largest entry of the gradient at the end, and relative rise that counts.
    multiply : callable
        ``multiply(A, V)``.

    Returns
    -------
    InformationResult
    """
    r, c = F.shape[1], start.shape[1]
    Ft = np.ascontiguousarray(F.T)

    def negated(x: Array) -> tuple[float, Array]:
        coef, intercept = x[:-c].reshape(r, c), x[-c:]
        value, slope = information(multiply(F, coef) + intercept, weights)
        gradient = np.concatenate((
            (2.0 * penalty * coef - multiply(Ft, slope)).ravel(),
            -slope.sum(axis=0),
        ))  # fmt: skip
        return penalty * float(np.sum(coef**2)) - value, gradient

    x = np.concatenate((_ridge(F, weights, start, penalty, multiply).ravel(), np.zeros(c)))
    history = [-negated(x)[0]]

    def note(*, intermediate_result: OptimizeResult) -> None:
        history.append(-float(intermediate_result.fun))

    found = minimize(
        negated,
        x,
        jac=True,
        method="L-BFGS-B",
        callback=note,
        options={"maxiter": max_iter, "gtol": tol, "ftol": tol * 1e-3, "maxcor": 20},
    )
    coef = found.x[:-c].reshape(r, c)
    return InformationResult(
        coef=coef,
        intercept=found.x[-c:],
        objective=-float(found.fun),
        information=penalty * float(np.sum(coef**2)) - float(found.fun),
        history=tuple(history),
        n_iter=int(found.nit),
        converged=bool(found.status == 0),
    )


def _ridge(F: Array, weights: Array, start: Array, penalty: float, multiply: Multiply) -> Array:
    """Return the coefficients of least squares for the decisions to begin with."""
    weighted = F * weights[:, None]
    A = multiply(np.ascontiguousarray(F.T), weighted)
    A[np.diag_indices_from(A)] += penalty
    right = multiply(np.ascontiguousarray(weighted.T), start)
    try:
        return np.asarray(np.linalg.solve(A, right))
    except np.linalg.LinAlgError:  # the penalty is rounding beside the largest weights
        return np.asarray(np.linalg.lstsq(A, right, rcond=None)[0])
