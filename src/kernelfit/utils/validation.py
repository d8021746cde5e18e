"""Checks of what the user hands in; each complaint is one sentence."""

from collections.abc import Callable
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from kernelfit.utils.jit import jit
from kernelfit.utils.values import is_date, is_number

# Products of a fixed vector with the rows and with the columns of a matrix may differ by this
# fraction of the tolerance; beyond it every entry is looked at.
_ALARM = 2.0**-8


def as_dense(matrix: Any) -> Any:
    """Return a sparse matrix as an array, and anything else as it is."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def check_weights(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Return the sample weights as a new array, ones when None.

    Parameters
    ----------
    sample_weight : array-like of shape (n,) or None
    n : int
        Number of samples.

    Returns
    -------
    ndarray of shape (n,)
        Finite and not negative, at least one positive.
    """
    if sample_weight is None:
        return np.ones(n)
    try:
        good = np.asarray(sample_weight, dtype=np.float64).ndim > 0
    except (TypeError, ValueError):
        good = False
    if not good:
        got = shorten(repr(sample_weight), 60)
        raise ValueError(f"expected sample_weight to be {n} numbers or None, got {got}")
    weight = check_array(
        sample_weight, dtype=np.float64, ensure_2d=False, copy=True, input_name="sample_weight"
    )
    if weight.shape != (n,):
        raise ValueError(f"expected sample_weight of shape ({n},), got {weight.shape}")
    if weight.min() < 0:
        raise ValueError(f"expected sample_weight >= 0, got {weight.min()}")
    if not weight.any():
        raise ValueError("expected a positive sample weight, got only zero weights")
    return np.asarray(weight)


def as_plain(y: Any) -> Any:
    """Return class labels or targets without the nullable types of pandas.

    scikit-learn reads those as floats, and fails at pd.NA.

    Parameters
    ----------
    y : array-like or None

    Returns
    -------
    array-like or None
        ``y`` itself where it is of no such type; ValueError where a value is missing.
    """
    if hasattr(y, "isna"):
        missing = np.asarray(y.isna()).reshape(len(y), -1).sum(axis=1) > 0
    elif isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.dtype == object):
        # None and nan have messages of their own.
        missing = np.array([type(value).__name__ == "NAType" for value in y], dtype=bool)
    else:
        return y
    if missing.any():
        raise ValueError(
            f"expected a class label or number in every row of y, got none in {missing.sum()} of "
            f"{len(missing)} rows, the first at position {missing.argmax()}"
        )
    kind = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    plain = isinstance(kind, np.dtype) and kind.kind in "biuf"
    return y.to_numpy(dtype=kind) if plain else y


def check_targets(y: NDArray[Any]) -> NDArray[np.float64]:
    """Return the targets of a regression as numbers.

    Parameters
    ----------
    y : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
        Finite.
    """
    if y.dtype.kind in "mM" or (y.dtype == object and any(is_date(value) for value in y.flat)):
        raise ValueError("expected targets that are numbers, got dates or durations")
    try:
        # As a list, strings are named in the message without their numpy type.
        targets = np.asarray(y if y.dtype.kind in "biuf" else y.tolist(), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected targets that are numbers: {error}") from None
    if not np.isfinite(targets).all():  # None becomes nan
        raise ValueError("expected targets that are finite numbers, got nan, infinity or None")
    return targets


def check_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return class labels; ValueError unless every row has one and they are all of one type.

    Parameters
    ----------
    y : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
    """
    if y.dtype == object:
        types: dict[str, str] = {}
        for label in y.flat:
            if label is None:
                raise ValueError("expected a class label for every row, got None")
            name = "str" if isinstance(label, str) else type(label).__name__
            types.setdefault("number" if is_number(label) else name, name)
        if len(types) > 1:
            names = " and ".join(sorted(types.values()))
            raise ValueError(f"expected class labels of one type, got {names}")
    check_classification_targets(y)
    return y


def numbers_in(values: Any) -> NDArray[np.float64]:
    """Return values as an array of numbers, an empty one where they are none."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


def check_widths(gamma: ArrayLike, n_features: int) -> NDArray[np.float64]:
    """Return one gamma a feature.

    Parameters
    ----------
    gamma : array-like of shape (n_features,)
    n_features : int

    Returns
    -------
    ndarray of shape (n_features,)
        Finite and not negative, at least one positive.
    """
    widths = numbers_in(gamma)
    good = widths.shape == (n_features,) and bool(np.isfinite(widths).all())
    if not (good and widths.min() >= 0.0 and widths.any()):
        raise ValueError(
            f"expected gamma to be a number or {n_features} numbers >= 0, one a feature and not "
            f"all 0, got {gamma!r}"
        )
    return widths


def check_sizes(X: NDArray[np.float64]) -> None:
    """Raise ValueError where squared distances between the rows of X may overflow.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    """
    limit = np.sqrt(np.finfo(np.float64).max / (4.0 * X.shape[1]))
    largest = max(X.max(), -X.min())
    if largest > limit:
        raise ValueError(
            f"expected values of at most {limit:.1g} in size, so that squared distances are "
            f"finite, got {largest:.3g}"
        )


@dataclass(frozen=True)
class CheckedKernel:
    """A kernel of the user whose values are checked whenever it is called."""

    kernel: Callable[..., Any]

    def __call__(self, X: NDArray[Any], Y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the kernel matrix; ValueError unless it is real, finite and of the right shape."""
        return self.given(X, Y).astype(np.float64, copy=False)

    def given(self, X: NDArray[Any], Y: NDArray[Any]) -> NDArray[Any]:
        """Return the same in float32 where the kernel does: by that its rounding is judged."""
        K = np.asarray(self.kernel(X, Y))
        shape = (X.shape[0], Y.shape[0])
        if K.shape != shape:
            raise ValueError(f"expected the kernel to return shape {shape}, got {K.shape}")
        if not np.issubdtype(K.dtype, np.number) or np.iscomplexobj(K):
            raise ValueError(f"expected the kernel to return real numbers, got {K.dtype}")
        if K.dtype != np.float32:
            K = K.astype(np.float64, copy=False)
        if not np.isfinite(K.sum()) and not np.isfinite(K).all():
            raise ValueError("expected the kernel to return finite values, got nan or infinity")
        return K


def check_kernel_matrix(K: NDArray[Any], name: str) -> None:
    """Raise ValueError unless K is a finite and symmetric matrix.

    Entries may differ from their mirror image by the square root of the precision, relative to
    the larger of the two and of the diagonal. One pass along the rows computes ``K r`` and ``K'r``
    for a fixed irregular vector r, which agree for a symmetric matrix and are not finite for one
    that is not. A single pair of different entries always shows, since ``1 <= |r_i| <= 2``; that
    several cancel out in every row they are in is practically impossible.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        In C order.
    name : str
        What the message calls the matrix.
    """
    n = K.shape[0]
    tolerance = float(np.sqrt(np.finfo(K.dtype).eps))
    scale = float(np.abs(K.diagonal()).max(initial=0.0))
    rng = np.random.default_rng(0)
    r = rng.choice([-1.0, 1.0], n) * rng.uniform(1.0, 2.0, n)
    by_rows, by_columns = _products(K, r)
    with np.errstate(invalid="ignore"):  # inf - inf
        difference = np.abs(by_rows - by_columns)
    if np.all(difference <= _ALARM * tolerance * scale):
        return
    i, j = _first_fault(K, tolerance, scale if np.isfinite(scale) else 0.0)
    if i < 0:
        return
    for pair in ((i, j), (j, i)):
        if not np.isfinite(K[pair]):
            raise ValueError(f"expected {name} to be finite, got {K[pair]} at {pair}")
    raise ValueError(
        f"expected {name} to be symmetric, got {K[i, j]} at {(i, j)} and {K[j, i]} at {(j, i)}"
    )


@jit(fastmath={"reassoc", "contract"})
def _products(
    K: NDArray[Any], r: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ``K r`` and ``K'r``, reading K once, four rows at a time."""
    n = K.shape[0]
    by_rows, by_columns = np.zeros(n), np.zeros(n)
    i = 0
    while i + 4 <= n:
        row0, row1, row2, row3 = K[i], K[i + 1], K[i + 2], K[i + 3]
        r0, r1, r2, r3 = r[i], r[i + 1], r[i + 2], r[i + 3]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(n):
            k0, k1, k2, k3 = row0[j], row1[j], row2[j], row3[j]
            s0 += k0 * r[j]
            s1 += k1 * r[j]
            s2 += k2 * r[j]
            s3 += k3 * r[j]
            by_columns[j] += (k0 * r0 + k1 * r1) + (k2 * r2 + k3 * r3)
        by_rows[i], by_rows[i + 1], by_rows[i + 2], by_rows[i + 3] = s0, s1, s2, s3
        i += 4
    while i < n:
        for j in range(n):
            by_rows[i] += K[i, j] * r[j]
            by_columns[j] += K[i, j] * r[i]
        i += 1
    return by_rows, by_columns


@jit()
def _first_fault(K: NDArray[Any], tolerance: float, scale: float) -> tuple[int, int]:
    """Return the first pair i <= j that is not finite or not symmetric, or (-1, -1)."""
    for i in range(K.shape[0]):
        for j in range(i, K.shape[0]):
            a, b = K[i, j], K[j, i]
            if not (np.isfinite(a) and np.isfinite(b)):
                return i, j
            if abs(a - b) > tolerance * max(abs(a), abs(b), scale):
                return i, j
    return -1, -1
