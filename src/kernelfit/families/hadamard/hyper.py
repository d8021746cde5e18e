r"""Regression of a learned factor in a hyper-reproducing kernel space.

The elements of that space are functions of two points,
:math:`f(x, z) = \sum_{ij} B_{ij} K(x, x_i) K(x_j, z)` [1]_. Regularised least squares for the
change :math:`E = \Theta - \vartheta 11'` of a factor, with the norms of the tensor product,

.. math::

    \|E - f\|^2 + r\,\big(\|f\|^2_{H\otimes\ell_2} + \|f\|^2_{\ell_2\otimes H}\big)
        + r^2 \|f\|^2_{H\otimes H},

has the solution :math:`B = (K + rI)^{-1} E (K + rI)^{-1}`: kernel ridge regression of the rows, and
of the columns. So f is a kernel where E is positive semidefinite, which [2]_ has to demand by
non-negative least squares over all pairs, and the cost is that of one eigendecomposition instead of
O(n^4). r is that of the least generalised cross-validation score of the rows. A point of weight m
counts as m points.

References
----------
.. [1] C. S. Ong, A. J. Smola, R. C. Williamson. Learning the kernel with hyperkernels. Journal of
   Machine Learning Research 6, 2005.
.. [2] B. Pan, W.-S. Chen, B. Chen, C. Xu, J. Lai. Out-of-sample extensions for non-parametric
   kernel methods. IEEE Transactions on Neural Networks and Learning Systems 28, 2017.
"""

import numpy as np

from kernelfit.families.hadamard.base import FloatArray

_RIDGES = 10.0 ** np.arange(-4.0, 2.5, 0.5)  # relative to the mean diagonal of the kernel


def regression_shares(K: FloatArray, change: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the matrix that turns the kernel of new points into their shares of the rows.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The initial kernel between the training points.
    change : ndarray of shape (n, n)
        The factor less what it is without adaptation.
    weight : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n, n)
        The inverse of ``K + r diag(1 / weight)``.
    """
    root = np.sqrt(weight)
    values, vectors = np.linalg.eigh(root[:, None] * K * root)
    values = np.maximum(values, 0.0)  # a kernel of the user need not be positive semidefinite
    squares = np.sum((vectors.T @ (root[:, None] * change * root)) ** 2, axis=1)
    total = float(weight.sum())
    unit = float(weight @ np.abs(K.diagonal())) / total
    ridges = _RIDGES * (unit if unit > 0.0 else 1.0)

    def score(r: float) -> float:
        left = r / (values + r)  # of the residuals; directions that copies span keep all
        freedom = total - len(values) + float(left.sum())
        return float(left**2 @ squares) / freedom**2

    ridge = min(ridges, key=score)
    half = root[:, None] * vectors
    return np.asarray((half / (values + ridge)) @ half.T)
