"""Trained machines on fewer support vectors."""

import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from kernelfit.estimators.machine import KernelMachine
from kernelfit.kernels.gram import Gram, RowGram
from kernelfit.kernels.radial import RBF
from kernelfit.kernels.single import SingleGaussian
from kernelfit.learners.training import TrainingGram, fits
from kernelfit.solvers.reduced_set import reduce_support
from kernelfit.utils.memory import cache_bytes
from kernelfit.utils.threads import threads_for
from kernelfit.utils.validation import as_dense


@dataclass(frozen=True, eq=False)
class Compression:
    """What became of a machine that was compressed.

    Attributes
    ----------
    n_points : int
        Support vectors that are left.
    n_points_before : int
        Support vectors of the machine as it was trained.
    distances : ndarray of shape (n_problems,)
        Bounds on the distances between the functions before and after, in the Hilbert space of the
        kernel: no decision value changes by more than ``distances * sqrt(k(x, x))``, but for what
        float32 changes.
    bound : float
        The largest change where k(x, x) is at most what it is at a support vector: of a kernel
        with k(x, x) = 1, such as the Gaussian, everywhere. What float32 may change is included.
    dtype : {"float64", "float32"}
        Of the kernel values in prediction.
    """

    n_points: int
    n_points_before: int
    distances: NDArray[np.float64]
    bound: float
    dtype: str = "float64"


def compress(
    estimator: Any,
    max_change: float | None = None,
    max_points: int | None = None,
    *,
    dtype: str = "float64",
) -> Any:
    r"""Return a trained machine that predicts faster, and a bound on what that changes.

    Prediction takes time in proportion to the support vectors. The function of every problem is
    projected onto those of some of its support vectors, which are chosen one by one
    (`kernelfit.solvers.reduced_set`), until no decision value can change by more than
    `max_change`.

    Parameters
    ----------
    estimator : KernelMachine
        A fitted machine with a kernel on points: support vector, ridge, quantile and one-class
        machines, TKL, GPK, MKL and unions of kernels, DANK and KNPL with
        ``out_of_sample="neutral"`` and without `tau`. It is not changed. Of a search, its
        ``best_estimator_``.
    max_change : float, default=None
        By how much a decision value may change, in their unit. Of a classifier the margin is 1, so
        0.1 is little: points with decision values beyond 0.1 keep their classes. Of a regressor it
        is in the unit of the targets; some of `epsilon`, or of the errors, is a natural choice.
        With "float32" half of it is for the rounding.
    max_points : int, default=None
        How many support vectors to keep at most; where problems have kernels of their own, as many
        for each. The bound is then what it is, and may be above `max_change`: of the two, what is
        reached first ends the choice, and `compression_` tells how far it came.
    dtype : {"float64", "float32"}, default="float64"
        Of the kernel values in prediction on the processor. "float32" is for a Gaussian kernel on
        dense data: it is 1.5 to 1.8 times as fast, and its rounding adds to the bound. With
        "float32" `max_change` and `max_points` may both be None: all support vectors stay.

    Returns
    -------
    KernelMachine
        A fitted copy with other `support_`, `support_vectors_`, `n_support_` and `dual_coef_`, and
        with `compression_`: the numbers of points before and after, and the bound that is proved.
        One-vs-one problems have a row of `dual_coef_` each, as all support vectors take part in all
        of them. It is not the solution of the training problem any more: `objective_` and
        `dual_gap_` are nan, `status_` is "compressed", `converged_` is False, and there is no
        `witness_coef_`. `n_iter_` and `history_` tell of the training.

    Notes
    -----
    The bound is :math:`\|f - f_S\| \sqrt{k(x, x)}`, for the values of all problems: those of
    ``decision_function_shape="ovo"`` for pairs of classes. It is often many times what changes.
    It includes rounding, and so has a resolution, about :math:`10^{-7} \sum_i |\beta_i|
    \sqrt{k(x_i, x_i)}` at worst: where `max_change` is below, and where no fewer points are enough,
    the machine keeps all support vectors and their coefficients.

    With n support vectors, m of them left, it takes :math:`O(n^2)` kernel values once,
    :math:`O(n m^2)` operations, and memory for n m numbers besides the kernel matrix, which is
    stored where a quarter of the available memory has room for it.

    A value of a Gaussian kernel in float32 is off by at most some :math:`10^{-7} (7 + d / 3 + 2 r)`
    with up to 32 features, and by some :math:`10^{-7} d\,(1 + 3 r^2)` with more, where :math:`r =
    \sqrt\gamma \max_i \|x_i - \bar x\|` (`kernelfit.kernels.single`). The values are summed in
    float64, so a decision value changes by at most that times :math:`\sum_i |\beta_i|`. This is
    the worst case, in which all errors have one sign; the change is mostly far smaller.

    The bound holds for a positive semidefinite kernel. One that is found to be indefinite is
    refused, but a callable of your own is not tested everywhere.

    References
    ----------
    .. [1] P. Vincent, Y. Bengio. "Kernel matching pursuit". Machine Learning 48 (2002).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernelfit import KernelSVC, compress
    >>> X, y = make_moons(500, noise=0.3, random_state=0)
    >>> model = KernelSVC().fit(X, y)
    >>> small = compress(model, max_change=0.1)
    >>> small.compression_.n_points < 0.4 * len(model.support_)
    True
    >>> change = abs(small.decision_function(X) - model.decision_function(X))
    >>> bool(change.max() <= small.compression_.bound <= 0.1)
    True
    >>> fast = compress(model, dtype="float32")
    >>> change = abs(fast.decision_function(X) - model.decision_function(X))
    >>> bool(change.max() <= fast.compression_.bound <= 0.001)
    True
    """
    _check_machine(estimator)
    _check_dtype(estimator, dtype)
    n_problems = len(estimator.intercept_)
    before = estimator._coef_of(range(n_problems))
    if dtype == "float32" and max_change is None and max_points is None:
        bounds = _rounding(estimator, before, dtype)
        return _with_coef(
            estimator, as_dense(estimator.dual_coef_), np.zeros(n_problems), bounds, dtype
        )
    asked = max_change
    max_change, max_points = _check_limits(max_change, max_points, len(estimator.support_))
    if dtype == "float32":  # the other half is for its rounding
        max_change *= 0.5
    coef, distances, bounds = np.zeros_like(before), *np.zeros((2, n_problems))
    kernels = estimator._kernels
    groups = np.array_split(np.arange(n_problems), len(kernels))
    for kernel, group in zip(kernels, groups, strict=True):
        used = np.flatnonzero(before[group].any(axis=0))
        if not len(used):
            continue
        with threads_for(len(used)):
            gram = _gram(kernel, estimator.support_vectors_[used])
            length = np.sqrt(max(float(gram.diagonal().max()), np.finfo(np.float64).tiny))
            mine = np.ascontiguousarray(before[np.ix_(group, used)])
            found = reduce_support(gram, mine, max_change / length, max_points)
        coef[np.ix_(group, used[found.chosen])] = found.coef
        distances[group], bounds[group] = found.distances, length * found.distances
    rounding = _rounding(estimator, coef, dtype)
    if asked is not None and rounding.max() > max_change:
        # Coefficients of fewer points are larger, and so is their rounding: keep all points.
        rounding = _rounding(estimator, before, dtype)
        if rounding.max() > asked:
            raise ValueError(
                f"expected max_change from {rounding.max():.3g}, the rounding of all support "
                f"vectors in the worst case, for dtype='float32', got {asked:g}"
            )
        if max_points < len(estimator.support_):
            raise ValueError(
                f"expected a larger max_change or max_points for dtype='float32', got {asked:g} "
                f"and {max_points}"
            )
        return _with_coef(
            estimator, as_dense(estimator.dual_coef_), np.zeros(n_problems), rounding, dtype
        )
    bounds += rounding
    return _with_coef(estimator, coef, distances, bounds, dtype)


def _check_dtype(estimator: Any, dtype: Any) -> None:
    """Refuse what has no kernel in float32."""
    if dtype not in ("float64", "float32"):
        raise ValueError(f"expected dtype 'float64' or 'float32', got {dtype!r}")
    kernel, data = estimator._kernels[0], estimator.support_vectors_
    gaussian = len(estimator._kernels) == 1 and isinstance(kernel, RBF) and kernel.psd
    if dtype == "float32" and (not gaussian or sparse.issparse(data)):
        raise ValueError(
            "expected one Gaussian kernel on dense data for dtype='float32', got "
            + ("sparse data" if gaussian else repr(kernel))
        )


def _rounding(estimator: Any, coef: Any, dtype: str) -> NDArray[np.float64]:
    """Return by how much float32 may change the values of every problem."""
    used = coef.any(axis=0)
    if dtype == "float64" or not used.any():
        return np.zeros(len(coef))
    error = SingleGaussian(estimator._kernels[0], estimator.support_vectors_[used]).error
    if error == 1.0:
        raise ValueError(
            "expected a kernel of moderate width for dtype='float32', got one that is too narrow "
            f"for the distances between its points: {estimator._kernels[0]!r}"
        )
    return np.asarray(error * np.abs(coef).sum(axis=1))


def _check_machine(estimator: Any) -> None:
    """Refuse what has no functions of a positive semidefinite kernel on points."""
    if not isinstance(estimator, KernelMachine):
        raise ValueError(
            f"expected a kernel machine such as KernelSVC(), or best_estimator_ of a search, "
            f"got {estimator!r}"
        )
    check_is_fitted(estimator)
    if hasattr(estimator, "compression_"):
        raise ValueError("expected a machine as it was trained, got one compressed already")
    if estimator._root is not None:
        raise ValueError(
            f"expected a machine whose kernel needs no training points, got {estimator!r}, whose "
            "kernel keeps its support vectors itself; that of out_of_sample='neutral' and tau=0 "
            "does not"
        )
    if estimator._kernels[0] is None:
        raise ValueError(
            "expected a kernel on points, got a precomputed one, whose matrix no machine keeps"
        )
    if np.any(np.atleast_1d(estimator.status_) == "stationary"):
        raise ValueError("expected a positive semidefinite kernel, got one found indefinite in fit")


def _check_limits(max_change: Any, max_points: Any, n: int) -> tuple[float, int]:
    """Return how far and with how many points to go."""
    if max_change is None and max_points is None:
        raise ValueError("expected max_change or max_points, got neither")
    change = 0.0 if max_change is None else max_change
    if not isinstance(change, Real) or not 0.0 <= float(change) < np.inf:
        raise ValueError(f"expected max_change to be a number from 0, got {max_change!r}")
    points = n if max_points is None else max_points
    if not isinstance(points, Integral) or int(points) < min(n, 1):
        raise ValueError(f"expected max_points to be an integer from 1, got {max_points!r}")
    return float(change), int(points)


def _gram(kernel: Any, X: Any) -> Gram:
    """Return the kernel matrix in double precision, in memory where there is room."""
    memory = cache_bytes("auto")
    if fits(X.shape[0], memory):
        return TrainingGram(kernel, X, memory).part(slice(None))
    return RowGram.from_kernel(kernel, X, 0.0, np.float64)


def _with_coef(estimator: Any, coef: Any, distances: Any, bounds: Any, dtype: str) -> Any:
    """Return a copy of the machine with other coefficients, and without its certificate."""
    kept = np.flatnonzero(coef.any(axis=0))
    labels = np.repeat(np.arange(len(estimator.n_support_)), estimator.n_support_)
    machine = copy.copy(estimator)
    machine.support_ = estimator.support_[kept]
    machine.support_vectors_ = estimator.support_vectors_[kept]
    machine.n_support_ = np.bincount(labels[kept], minlength=len(estimator.n_support_))
    dual = np.ascontiguousarray(coef[:, kept])
    thin = sparse.issparse(estimator.dual_coef_)
    machine.dual_coef_ = type(estimator.dual_coef_)(dual) if thin else dual
    several = np.ndim(estimator.dual_gap_) > 0
    claims = {"objective_": np.nan, "dual_gap_": np.nan, "status_": "compressed"}
    for name, value in {**claims, "converged_": False}.items():
        setattr(machine, name, np.full(len(estimator.dual_gap_), value) if several else value)
    del machine.witness_coef_
    machine.compression_ = Compression(
        len(kept), len(estimator.support_), distances, float(bounds.max()), dtype
    )
    return machine
