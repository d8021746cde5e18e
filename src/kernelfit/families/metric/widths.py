"""Widths of the features by the leave-one-out error of kernel ridge regression.

The error and a prior on the widths are minimised together (`kernelfit.families.metric.descent`).
This problem is not convex. Equal widths of many features are a bad start: the prior often makes a
local minimum of them. So the steps start at the diagonal of the gradient metric
(`kernelfit.families.metric.agop`), whose widths already separate features that count from others.
None of them is zero, because every round adds a share of the identity, and they are equal where the
gradients say nothing, as for constant targets.

Many widths can follow the noise of few points. A cautious fit keeps equal widths unless the error
falls by more than as many parameters without meaning would lower it.
"""

import numpy as np

from kernelfit.families.metric.agop import learn_gradient_metric
from kernelfit.families.metric.descent import choose_start, learn_scale, minimise_error
from kernelfit.families.metric.points import Points
from kernelfit.families.metric.result import LearnedMetric

# More rounds and a finer tolerance take longer and give no better start.
_ROUNDS, _ROUGH = 3, 1e-2


def learn_widths(
    points: Points,
    *,
    kernel: str = "rbf",
    tau: float = 0.3,
    tol: float = 1e-4,
    max_iter: int = 50,
    cautious: bool = False,
    device: str | None = None,
) -> LearnedMetric:
    """Return widths of the features at a local minimum of the leave-one-out error and the prior.

    Parameters
    ----------
    points : Points
    kernel : {"rbf", "exponential"}
    tau : float
        Scale of the Cauchy prior on the logarithm of a width, relative to its start and up to a
        common scale of all widths.
    tol : float
        The steps end when one lowers the objective by less, relative to it where it is beyond 1.
    max_iter : int
        Largest number of steps after the start.
    cautious : bool
        Whether to return equal widths unless the logarithm of the error falls below theirs by
        2 d / n, for d features and n points: Akaike's price of d parameters.
    device : str, default=None
        Where to compute, as torch writes it; None for the processor.

    Returns
    -------
    LearnedMetric
        Its factor is the roots of the widths.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.families.metric.points import draw_points
    >>> from kernelfit.families.metric.widths import learn_widths
    >>> X = np.random.default_rng(0).uniform(-3, 3, (60, 2))
    >>> points = draw_points(X, np.sin(X[:, :1]), np.ones(60), 600, 0)
    >>> factor = learn_widths(points).factor
    >>> bool(factor[0] > 5 * factor[1])
    True
    """
    gradient = learn_gradient_metric(
        points, kernel=kernel, tol=_ROUGH, max_iter=_ROUNDS, device=device
    )
    found = minimise_error(
        points,
        gradient.factor**2,
        gradient.ridge,
        kernel,
        tau=tau,
        tol=tol,
        max_iter=max_iter,
        device=device,
    )
    widths, error, ridge = found.widths, found.error, found.ridge
    if cautious:
        scale, start = choose_start(points, kernel)
        scale, equal_ridge, equal_error = learn_scale(
            points, kernel=kernel, scale=scale, ridge=start, tol=tol, device=device
        )
        price = 2.0 * points.varies.sum() / len(points.X)
        if np.log(equal_error) - np.log(error) <= price:
            widths, error, ridge = scale * points.varies, equal_error, equal_ridge
    return LearnedMetric(np.sqrt(widths), error, found.history, ridge)
