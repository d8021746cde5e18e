r"""The metric from the average gradient outer product: recursive feature machines.

A kernel ridge regression :math:`f(x) = \sum_i a_i\,\varphi(\|L(x - x_i)\|^2)` is fitted, the metric
becomes

.. math::

    M = L'L \leftarrow \frac1n \sum_i s_i \nabla f(x_i) \nabla f(x_i)',

scaled to a trace of d, and so on for some rounds [1]_. In :math:`z = Lx` the gradients are
:math:`L'g_i` with :math:`g_i = 2 [z_i (P a)_i - (P (a \circ Z))_i]`, :math:`P = \varphi'(S)`: one
product of P for all of them. Before the next round M moves to the identity by d / (n + d), which
keeps directions that few points have not shown to matter. The round of the least leave-one-out
error is kept, and the start counts as one.

References
----------
.. [1] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin. Mechanism for feature learning in
   neural networks and backpropagation-free machine learning models. Science 383, 2024.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.families.metric.descent import (
    choose_start,
    learn_scale,
    leave_one_out,
    rounding_ridge,
)
from kernelfit.families.metric.points import Points
from kernelfit.families.metric.result import LearnedMetric, symmetric_factor

Array = NDArray[Any]


def learn_gradient_metric(
    points: Points,
    *,
    kernel: str = "rbf",
    diagonal: bool = True,
    tol: float = 1e-3,
    max_iter: int = 5,
    device: str | None = None,
) -> LearnedMetric:
    """Return the metric from average gradient outer products.

    Parameters
    ----------
    points : Points
    kernel : {"rbf", "exponential"}
    diagonal : bool
        Whether to keep the diagonal of M only, the widths of the features.
    tol : float
        The search for the scale and the ridge of a round ends when a step lowers the logarithm of
        the error by less.
    max_iter : int
        Number of rounds.
    device : str, default=None
        Where to compute, as torch writes it; None for the processor.

    Returns
    -------
    LearnedMetric

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.families.metric.agop import learn_gradient_metric
    >>> from kernelfit.families.metric.points import draw_points
    >>> X = np.random.default_rng(0).uniform(-3, 3, (60, 2))
    >>> points = draw_points(X, np.sin(X[:, :1]), np.ones(60), 600, 0)
    >>> factor = learn_gradient_metric(points).factor
    >>> bool(factor[0] > 5 * factor[1])
    True
    """
    d = int(points.varies.sum())
    share = d / (len(points.X) + d)
    identity = points.varies.astype(np.float64)
    if not diagonal:
        identity = np.diag(identity)
    scale, ridge = choose_start(points, kernel)
    M, rounds = identity, []
    for k in range(max_iter + 1):
        factor = np.sqrt(M) if diagonal else symmetric_factor(M)
        X = points.X * factor if diagonal else points.X @ factor.T
        mapped = replace(points, X=X)
        scale, ridge, error = learn_scale(
            mapped, kernel=kernel, scale=scale, ridge=ridge, tol=tol, device=device
        )
        rounds.append((error, np.sqrt(scale) * factor, ridge))
        if k == max_iter:
            break
        slopes = gradients(mapped, kernel, scale, ridge, device)
        if diagonal:
            M = factor**2 * sum(np.einsum("ij,ij->j", g, g) for g in slopes)
            trace = float(np.sum(M))
        else:
            M = factor.T @ sum(g.T @ g for g in slopes) @ factor
            trace = float(np.trace(M))
        if not trace > 0.0:  # all targets are equal, or all features
            break
        M = (1.0 - share) * d / trace * M + share * identity
    error, factor, ridge = min(rounds, key=lambda found: found[0])
    return LearnedMetric(factor, error, tuple(found[0] for found in rounds), ridge)


def gradients(
    points: Points, kernel: str, scale: float, ridge: float, device: str | None = None
) -> Iterator[Array]:
    """Yield the gradients of each output of a ridge regression at its points, up to a factor.

    Parameters
    ----------
    points : Points
    kernel : {"rbf", "exponential"}
    scale : float
        The width of all features.
    ridge : float
    device : str, default=None

    Yields
    ------
    ndarray of shape (n, d)
        A row a point, multiplied by the root of its weight.
    """
    X = points.X
    error = leave_one_out(points, kernel, device)
    w = np.full(X.shape[1], scale)
    _, coef = next(error.fits(w, [max(ridge, rounding_ridge(points, w))]))
    root = np.sqrt(points.weight)[:, None]
    for sums in error.slope_products(w, coef):
        yield root * (sums[:, -1:] * X - sums[:, :-1])
