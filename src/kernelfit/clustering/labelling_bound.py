r"""Error bounds of the classifiers that a labelling of unlabelled points makes.

Symbols

=============  =====================================================================================
S, S+, S-      similarity, and its two positive semidefinite parts, S = S+ - S-
alpha          weights of the points, not negative, of sum one
h(x, y)        sum of alpha_i S(x, x_i) over the points of label y; the largest one is predicted
c, n           number of labels, of points
B+, B-         roots of the sums over the labels of alpha'S+ alpha and alpha'S- alpha
R              root of the supremum of S+(x, x) and S-(x, x)
=============  =====================================================================================

References
----------
.. [1] Y. Yang, P. Li. "Discriminative Similarity for Data Clustering". International Conference on
   Learning Representations (2022). https://arxiv.org/abs/2109.08675
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelfit.kernels.distances import Array, squared_distances
from kernelfit.utils.validation import check_kernel_matrix

_PSD = 1e-10  # of the largest diagonal entry: negative eigenvalues below it are rounding


@dataclass(frozen=True)
class LabellingBound:
    """Outcome of `labelling_bound`.

    Attributes
    ----------
    bound : float
        The right-hand side of (4): empirical loss, complexity and deviation together. The error is
        at most one, so that a bound of one or more says nothing.
    empirical_loss : float
        Mean of min(1, max(0, 1 - margin / gamma)) over the points.
    cut_loss : float
        The right-hand side of (5), which bounds the empirical loss from above: one, less the mean
        similarity, plus the cut between labels.
    complexity : float
        The term of the Rademacher complexity.
    deviation : float
        The term of the confidence.
    b_plus, b_minus : float
        B+ and B-.
    """

    bound: float
    empirical_loss: float
    cut_loss: float
    complexity: float
    deviation: float
    b_plus: float
    b_minus: float


def labelling_bound(
    S: ArrayLike,
    labels: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    gamma: float = 1.0,
    delta: float = 0.05,
    radius: float | None = None,
    interval: tuple[float, float] | None = None,
) -> LabellingBound:
    r"""Bound the error of the similarity classifier that a labelling makes: Theorem 4.2 of [1]_.

    .. math:: \Pr[Y \ne f(X)] \le \hat R + \frac{8 R (2c - 1) c (B^+ + B^-)}{\gamma \sqrt n}
        + \Big(\frac{16 c (2c - 1) (B^+ + B^-) R^2}{\gamma} + 1\Big)
        \sqrt{\frac{\log(4 / \delta)}{2n}}

    with probability 1 - delta, where R-hat is the empirical loss at the margin gamma. It holds if

    * the labels were drawn together with the points, independently of other points. Labels that
      were found by looking at the points are none: of many labellings the one of the least bound
      need not have a small error;
    * B+, B- and gamma were fixed before. Here B+ and B- are the least that the weights allow;
    * `radius` bounds S+(x, x) and S-(x, x) wherever points may lie. By default it is taken from the
      given points, which is right for a Gaussian kernel;
    * S+ and S- are kernels. Here they are the parts of the matrix, which are those of the kernel
      where S is positive semidefinite: then S- is zero.

    It is not a rule for choosing clusters: fewer labels have the smaller bound, because its last
    two terms grow like the square of their number.

    Parameters
    ----------
    S : array-like of shape (n_samples, n_samples)
        Similarities, symmetric and not negative.
    labels : array-like of shape (n_samples,)
        The labels. The margin of a single one is its h.
    weights : array-like of shape (n_samples,), default=None
        The weights alpha, scaled here to sum one; equal ones when None.
    gamma : float, default=1.0
        The margin, at least the largest similarity a, as (5) needs by Remark E.4.
    delta : float, default=0.05
        Probability with which the bound may fail, in (0, 1).
    radius : float, default=None
        R; that of the given points when None.
    interval : tuple of two floats, default=None
        Least and largest value of a similarity of any sign, which is moved and scaled to [0, 1]
        before anything else, by Remark E.4.

    Returns
    -------
    LabellingBound

    References
    ----------
    .. [1] Y. Yang, P. Li. "Discriminative Similarity for Data Clustering". International
       Conference on Learning Representations (2022). https://arxiv.org/abs/2109.08675

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import labelling_bound
    >>> S = np.kron(np.eye(2), np.ones((50, 50)))  # two groups of equal points
    >>> true, wrong = np.repeat([0, 1], 50), np.tile([0, 1], 50)
    >>> found = labelling_bound(S, true)
    >>> round(found.empirical_loss, 2), labelling_bound(S, wrong).empirical_loss
    (0.5, 1.0)
    >>> found.bound > 1  # of a hundred points: it says nothing
    True
    """
    S, codes, alpha = _checked(S, labels, weights)
    check_kernel_matrix(S, "S")
    if interval is not None:
        low, high = interval
        if not low < high:
            raise ValueError(f"expected an interval of two rising numbers, got {interval}")
        S = (S - low) / (high - low)
    if S.min() < 0.0:
        raise ValueError(
            f"expected similarities that are not negative, got {S.min():.3g}; interval=(least, "
            "largest) scales others"
        )
    if not gamma >= S.max():
        raise ValueError(
            f"expected gamma of at least the largest similarity, {S.max():.3g}, got {gamma}"
        )
    if not 0.0 < delta < 1.0:
        raise ValueError(f"expected delta between 0 and 1, got {delta}")
    n, c = len(S), int(codes.max()) + 1
    members = np.eye(c)[codes] * alpha[:, None]
    H = S @ members
    own = H[np.arange(n), codes]
    H[np.arange(n), codes] = 0.0  # other labels are not negative
    loss = float(np.clip(1.0 - (own - H.max(axis=1)) / gamma, 0.0, 1.0).mean())
    positive, negative = _parts(S)
    b_plus, b_minus = (float(np.sqrt(max(np.sum(members * (A @ members)), 0.0))) for A in
                       (positive, negative))  # fmt: skip
    if radius is None:
        radius = float(np.sqrt(max(np.diag(positive).max(), np.diag(negative).max())))
    size = c * (2 * c - 1) * (b_plus + b_minus) * radius / gamma
    complexity = 8.0 * size / np.sqrt(n)
    deviation = (16.0 * size * radius + 1.0) * np.sqrt(np.log(4.0 / delta) / (2.0 * n))
    return LabellingBound(
        bound=float(loss + complexity + deviation),
        empirical_loss=loss,
        cut_loss=float(1.0 - (own - H.sum(axis=1)).mean() / gamma),
        complexity=float(complexity),
        deviation=float(deviation),
        b_plus=b_plus,
        b_minus=b_minus,
    )


@dataclass(frozen=True)
class SquaredErrorBound:
    """Outcome of `squared_error_bound`.

    Attributes
    ----------
    bound : float
        Bound of the integrated squared error, less the integral of the squared difference of the
        true densities.
    empirical : float
        (17), the part that the labels are to make small.
    norm : float
        (18), the integral of the squared estimate over tau_1.
    similarity : ndarray of shape (n_samples, n_samples)
        4 (alpha_i + alpha_j - lambda alpha_i alpha_j) K_ij, twice the similarity (8).
    """

    bound: float
    empirical: float
    norm: float
    similarity: Array


def squared_error_bound(
    X: ArrayLike,
    labels: ArrayLike,
    bandwidth: float,
    *,
    weights: ArrayLike | None = None,
    lambda_: float = 0.5,
    delta: float = 0.05,
) -> SquaredErrorBound:
    r"""Bound the error of the kernel density classifier of two labels: Theorem A.1 of [1]_.

    The classifier is the sign of the difference of two kernel density estimates with the weights
    alpha, :math:`\hat r`, and r is the difference of the true densities. With probability
    1 - delta over points and labels that are drawn together,

    .. math:: \int (\hat r - r)^2 - \int r^2 \le \frac{\tau_0}{n} \widehat{\mathrm{ISE}}
        + \tau_1 K(\alpha) + 2 \tau_0 \Big(\frac1{n - 1} + \varepsilon\Big), \qquad
        \varepsilon^2 = \frac{\log(4n / \delta)}{2 (n - 1)}.

    The theorem as printed leaves out the integral of r^2, which does not depend on the labels;
    without it the right-hand side can be negative, which no squared error is.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Points.
    labels : array-like of shape (n_samples,)
        Two labels.
    bandwidth : float
        Width h of the Gaussian :math:`\exp(-\|x\|^2 / (2 h^2))`.
    weights : array-like of shape (n_samples,), default=None
        The weights alpha, scaled here to sum one; equal ones when None.
    lambda_ : float, default=0.5
        Strength of the quadratic term of the similarity.
    delta : float, default=0.05
        Probability with which the bound may fail, in (0, 1).

    Returns
    -------
    SquaredErrorBound

    References
    ----------
    .. [1] Y. Yang, P. Li. "Discriminative Similarity for Data Clustering". International
       Conference on Learning Representations (2022). https://arxiv.org/abs/2109.08675

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import squared_error_bound
    >>> X = np.concatenate((np.linspace(0, 1, 50), np.linspace(5, 6, 50)))[:, None]
    >>> true, wrong = np.repeat([0, 1], 50), np.tile([0, 1], 50)
    >>> squared_error_bound(X, true, 0.5).empirical < squared_error_bound(X, wrong, 0.5).empirical
    True
    """
    X, codes, alpha = _checked(X, labels, weights)
    n = len(X)
    if n < 2 or codes.max() > 1:
        raise ValueError(
            f"expected two labels of at least two points, got {codes.max() + 1} of {n}"
        )
    if not (bandwidth > 0.0 and 0.0 < delta < 1.0):
        raise ValueError(
            f"expected a positive bandwidth and delta between 0 and 1, got {bandwidth} and {delta}"
        )
    K = np.exp(-squared_distances(X) / (2.0 * bandwidth**2))
    side = 1.0 - 2.0 * codes
    empirical = float(-2.0 * side @ (K @ (side * alpha)))
    norm = float((side * alpha) @ (np.sqrt(K) @ (side * alpha)))  # sqrt(2) times the width
    tau = (2.0 * np.pi * bandwidth**2) ** (-0.5 * X.shape[1])
    slack = 1.0 / (n - 1) + np.sqrt(np.log(4.0 * n / delta) / (2.0 * (n - 1)))
    bound = tau * empirical / n + tau * 2.0 ** (-0.5 * X.shape[1]) * norm + 2.0 * tau * slack
    pairs = np.add.outer(alpha, alpha) - lambda_ * np.outer(alpha, alpha)
    return SquaredErrorBound(float(bound), empirical, norm, 4.0 * pairs * K)


def _checked(
    A: ArrayLike, labels: ArrayLike, weights: ArrayLike | None
) -> tuple[Array, NDArray[np.intp], Array]:
    """Return a matrix, labels from 0 on, and weights of sum one; ValueError where they differ."""
    A = np.ascontiguousarray(A, dtype=np.float64)
    labels = np.asarray(labels)
    if A.ndim != 2 or labels.shape != A.shape[:1] or not labels.size:
        raise ValueError(
            f"expected a matrix and a label for every row, got shapes {A.shape} and {labels.shape}"
        )
    if not np.isfinite(A).all():
        raise ValueError("expected finite values, got infinite or missing ones")
    alpha = np.ones(len(A)) if weights is None else np.asarray(weights, dtype=np.float64)
    if alpha.shape != labels.shape or not (alpha.min() >= 0.0 and 0.0 < alpha.sum() < np.inf):
        raise ValueError(
            "expected a weight for every row, none negative and not all zero, got "
            f"{np.array2string(alpha, threshold=6)}"
        )
    codes = np.unique(labels, return_inverse=True)[1].astype(np.intp)
    return A, codes, alpha / alpha.sum()


def _parts(S: Array) -> tuple[Array, Array]:
    """Return the positive semidefinite parts of S = S+ - S-."""
    try:
        np.linalg.cholesky(S + _PSD * np.diag(S).max() * np.eye(len(S)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(S)
        positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return positive, positive - S
    return S, np.zeros_like(S)
