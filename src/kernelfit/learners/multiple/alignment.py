r"""Weights by the alignment of centred kernels with the targets [1]_.

With :math:`K_m^c` the matrices of centred features, :math:`a_m = \langle K_m^c, Y \rangle`,
:math:`Y = \sum_t y_t y_t^\top` and :math:`M_{ml} = \langle K_m^c, K_l^c \rangle`:

* align: :math:`\mu_m \propto a_m / \sqrt{M_{mm}}`, each kernel by its own alignment;
* alignf: :math:`\mu \propto \arg\min_{v \ge 0} v^\top M v - 2 v^\top a`, the sum of the largest
  alignment (Proposition 9 of [1]_);
* alignf_signed: :math:`\mu = M^{-1}a / \|M^{-1}a\|_2`, the same for weights of any sign [1]_, with
  which the sum may be indefinite. Most banks make M singular up to rounding: it is scaled to a
  diagonal of ones, and its inverse leaves out eigenvalues below 1e-10 of the largest.

A weight of a row counts as its repetitions, in the centring and in the products.

References
----------
.. [1] C. Cortes, M. Mohri, A. Rostamizadeh, "Algorithms for learning kernels based on centered
   alignment", Journal of Machine Learning Research 13 (2012).
"""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from kernelfit.families.multiple.bank import Array, Bank
from kernelfit.families.multiple.weights import KernelWeights
from kernelfit.learners.learner import Tasks

# Added to the diagonal of M, relative to its mean: kernels that are almost multiples of each other.
_RIDGE = 1e-12
# Eigenvalues of the scaled M below this fraction of the largest have no digits that a change of the
# matrices by rounding would leave.
_CUTOFF = 1e-10
_BLOCK = 256  # rows and columns of all matrices that are worked on at a time


def align(family: KernelWeights, tasks: Tasks, weight: Array) -> Array:
    """Return weights in proportion to the alignments of the kernels.

    Parameters
    ----------
    family : KernelWeights
    tasks : tuple of Task
        Whose linear terms are the targets.
    weight : ndarray of shape (n,)
        Of the rows.

    Returns
    -------
    ndarray of shape (n_kernels,)
        They sum to one.
    """
    M, a = centred_products(family.bank, np.stack([task.p for task in tasks]), weight)
    size = np.sqrt(np.diag(M))
    return _normalised(np.divide(a, size, out=np.zeros_like(a), where=size > 0.0))


def alignf(family: KernelWeights, tasks: Tasks, weight: Array) -> Array:
    """Return the weights of the sum with the largest alignment; see `align`."""
    M, a = centred_products(family.bank, np.stack([task.p for task in tasks]), weight)
    M[np.diag_indices_from(M)] += _RIDGE * np.trace(M) / len(M) + np.finfo(float).tiny
    L = np.linalg.cholesky(M)
    return _normalised(nnls(L.T, solve_triangular(L, a, lower=True), maxiter=30 * len(M))[0])


def alignf_signed(family: KernelWeights, tasks: Tasks, weight: Array) -> Array:
    """Return the weights of any sign with the largest alignment, of norm one; see `align`."""
    M, a = centred_products(family.bank, np.stack([task.p for task in tasks]), weight)
    size = np.sqrt(np.diag(M))
    varying = size > _CUTOFF * (family.bank.diagonals() @ weight) / weight.sum()
    unit = np.divide(1.0, size, out=np.zeros_like(size), where=varying)
    inverse = np.linalg.pinv(unit[:, None] * M * unit, rcond=_CUTOFF, hermitian=True)
    weights = unit * (inverse @ (unit * a))
    norm = float(np.linalg.norm(weights))
    return weights / norm if norm > 0.0 else family.initial


def _normalised(weights: Array) -> Array:
    """Return weights >= 0 that sum to one, equal ones where none is positive."""
    weights = np.maximum(weights, 0.0)
    total = float(weights.sum())
    return weights / total if total > 0.0 else np.full(len(weights), 1.0 / len(weights))


def centred_products(bank: Bank, targets: Array, weight: Array) -> tuple[Array, Array]:
    """Return the products of the centred matrices with each other and with the targets.

    Parameters
    ----------
    bank : Bank
    targets : ndarray of shape (n_tasks, n)
    weight : ndarray of shape (n,)

    Returns
    -------
    M : ndarray of shape (n_kernels, n_kernels)
    a : ndarray of shape (n_kernels,)
    """
    share = weight / weight.sum()
    root = np.sqrt(share)
    y = (targets - (targets @ share)[:, None]) * root
    F = (bank.factors - (bank.factors @ share)[:, None]) * root
    M, a = np.zeros((bank.size, bank.size)), np.zeros(bank.size)
    np.add.at(a, bank.owners, ((F @ y.T) ** 2).sum(axis=1))
    owners, starts = np.unique(bank.owners, return_index=True)
    if len(owners):
        squares = (F @ F.T) ** 2
        M[np.ix_(owners, owners)] = np.add.reduceat(
            np.add.reduceat(squares, starts, axis=0), starts, axis=1
        )
    places = bank.dense_places
    if not len(places):
        return M, a
    means = bank.respond(share[None]).whole[0]
    means -= 0.5 * (means @ share)[:, None]  # two of them are the row, the column and the mean
    ends = [*starts[1:], len(bank.owners)]
    blocks = [slice(k, k + _BLOCK) for k in range(0, bank.n, _BLOCK)]
    for number, rows in enumerate(blocks):
        for columns in blocks[number:]:
            twice = 1.0 if rows == columns else 2.0
            K = np.stack(bank.tiles(rows, columns))
            K -= means[:, rows, None] + means[:, None, columns]
            K *= root[rows, None] * root[columns]
            a[places] += twice * np.einsum(
                "ti,mij,tj->m", y[:, rows], K, y[:, columns], optimize=True
            )
            flat = K.reshape(len(places), -1)
            M[np.ix_(places, places)] += twice * (flat @ flat.T)
            if len(owners):
                parts = (
                    F[s:e, rows].T @ F[s:e, columns] for s, e in zip(starts, ends, strict=True)
                )
                products = twice * (flat @ np.stack([part.ravel() for part in parts], axis=1))
                M[np.ix_(places, owners)] += products
                M[np.ix_(owners, places)] += products.T
    return M, a
