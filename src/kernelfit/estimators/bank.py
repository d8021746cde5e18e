"""The bank of kernels that a user names: checked, resolved on the training data, normalised."""

import itertools
from dataclasses import replace
from numbers import Integral, Real

import numpy as np

from kernelfit.estimators.moderate import moderate_gamma
from kernelfit.families.multiple.bank import (
    Source,
    from_matrix,
    is_indefinite,
    make_bank,
)
from kernelfit.families.multiple.by_rows import MatrixRows
from kernelfit.families.multiple.kernels import BankKernel
from kernelfit.kernels.base import StandardKernel, is_psd
from kernelfit.kernels.gram import c_ordered
from kernelfit.kernels.standard import gamma_of_name, kernel_from_name, scale_gamma
from kernelfit.utils.validation import CheckedKernel, check_kernel_matrix

_KEYS = {"kernel": None, "gamma": "scale", "degree": 3, "coef0": 0.0, "features": None}

# The papers': ten Gaussian widths and polynomials of degree 1 to 3, on all features and on each.
_GAMMAS = tuple(f"{2.0**k:g}*scale" for k in range(-6, 4))
DEFAULT_BANK = tuple(
    {**entry, "features": features}
    for features in (None, "each")
    for entry in (
        {"kernel": "rbf", "gamma": _GAMMAS},
        {"kernel": "poly", "degree": (1, 2, 3), "coef0": 1.0},
    )
)


def resolve_bank(kernels, X, weight, names):
    """Return the kernels of a bank on training data, not yet normalised.

    Parameters
    ----------
    kernels : sequence
        Entries as `MKLClassifier` documents them.
    X : ndarray of shape (n, d)
    weight : ndarray of shape (n,)
    names : ndarray of str or None
        The names of the features.

    Returns
    -------
    list of BankKernel
    """
    if isinstance(kernels, dict):
        raise ValueError("expected a list of kernels, got a dict")
    if isinstance(kernels, str) or not hasattr(kernels, "__iter__"):
        raise ValueError(f"expected kernels to be None, 'precomputed' or a list, got {kernels!r}")
    bank = []
    for number, entry in enumerate(kernels):
        try:
            bank.extend(_expand(entry, X, weight, names))
        except ValueError as error:
            where = "" if kernels is DEFAULT_BANK else f"in kernels[{number}]: "
            raise ValueError(f"{where}{error}") from None
    if not bank:
        raise ValueError("expected at least one kernel in kernels, got an empty bank")
    return bank


def _expand(entry, X, weight, names):
    """Yield the kernels of one entry."""
    if isinstance(entry, str) or callable(entry):
        entry = {"kernel": entry}
    if not isinstance(entry, dict) or "kernel" not in entry or set(entry) - set(_KEYS):
        raise ValueError(
            f"expected a name, a callable or a dict with 'kernel' and any of "
            f"{', '.join(repr(key) for key in _KEYS if key != 'kernel')}, got {entry!r}"
        )
    kernel = entry["kernel"]
    extra = sorted(set(entry) - {"kernel", "features"})
    if callable(kernel) and extra:
        raise ValueError(f"expected no {extra[0]!r} for a callable, got {entry[extra[0]]!r}")
    settings = {**_KEYS, **entry}
    for features in _groups(settings["features"], X, names):
        if callable(kernel):
            yield BankKernel(kernel, features)
            continue
        seen = X if features is None else X[:, list(features)]
        several = _several(settings, "degree"), _several(settings, "gamma")
        for degree, gamma in itertools.product(*several):
            named = _named(kernel, gamma, degree, settings["coef0"], seen, weight)
            yield BankKernel(named, features)


def _several(settings, key):
    """Return the values of a parameter that may be one or a list."""
    value = settings[key]
    several = value if isinstance(value, list | tuple | np.ndarray) else [value]
    if not len(several):
        raise ValueError(f"expected at least one {key}, got {value!r}")
    return several


def _groups(features, X, names):
    """Return the groups of columns that an entry names; None stands for all of them."""
    if features is None:
        return [None]
    if not isinstance(features, str):
        return [_columns(features, X.shape[1], names)]
    if features != "each":
        raise ValueError(f"expected features to be None, 'each' or a list, got {features!r}")
    return [(j,) for j in varying_columns(X)]


def varying_columns(X):
    """Return the columns that are not constant; all of them where all are."""
    varying = np.flatnonzero(np.ptp(X, axis=0) > 0.0)
    return varying.tolist() or range(X.shape[1])


def _columns(features, d, names):
    """Return the places of columns that are listed by name or place, or by a mask."""
    columns = np.asarray(features)
    if not columns.ndim:
        raise ValueError(f"expected features to be a list of columns, got {features!r}")
    if columns.dtype.kind in "OU" and names is not None:
        places = {name: j for j, name in enumerate(names)}
        unknown = [name for name in columns.tolist() if name not in places]
        if unknown:
            raise ValueError(f"expected features of X, got {unknown[0]!r}")
        columns = np.array([places[name] for name in columns.tolist()])
    elif columns.dtype == bool and columns.shape == (d,):
        columns = np.flatnonzero(columns)
    if columns.ndim != 1 or not columns.size:
        raise ValueError(f"expected features to name at least one feature, got {features!r}")
    if columns.dtype.kind not in "iu" or columns.min() < 0 or columns.max() >= d:
        raise ValueError(f"expected features to be columns from 0 to {d - 1}, got {features!r}")
    if len(np.unique(columns)) < len(columns):
        raise ValueError(f"expected features to name each feature once, got {features!r}")
    return tuple(columns.tolist())


def _named(name, gamma, degree, coef0, X, weight):
    """Return a standard kernel with its gamma resolved on the features that it sees."""
    if not isinstance(degree, Integral) or degree < 0:
        raise ValueError(f"expected degree to be an integer >= 0, got {degree!r}")
    if not isinstance(coef0, Real) or not abs(float(coef0)) < np.inf:
        raise ValueError(f"expected coef0 to be a number, got {coef0!r}")
    gamma = _resolve_gamma(name, gamma, X, weight)
    return kernel_from_name(name, gamma=gamma, degree=int(degree), coef0=float(coef0))


def _resolve_gamma(name, gamma, X, weight):
    value = gamma
    if isinstance(gamma, str):
        factor, star, unit = gamma.rpartition("*")
        known = {"scale": lambda: scale_gamma(X, weight), "auto": lambda: 1.0 / X.shape[1]}
        try:
            value = float(factor) if star else 1.0
            found = known[unit.strip()]
        except (KeyError, ValueError):
            value = None
        if value is not None and 0.0 < value < np.inf:
            return moderate_gamma(float(gamma_of_name(name, value * found(), X.shape[1])))
        value = None
    if not isinstance(value, Real) or not np.finfo(np.float64).tiny <= float(value) < np.inf:
        raise ValueError(
            f"expected gamma to be a positive number, 'scale', 'auto' or a multiple like "
            f"'0.5*scale', got {gamma!r}"
        )
    return float(value)


def build_bank(members, X, weight, normalize, cache_size, owner=""):
    """Return the normalised kernels and their matrices.

    Parameters
    ----------
    members : list of BankKernel
    X : ndarray of shape (n, d)
    weight : ndarray of shape (n,)
        In the means that normalise.
    normalize : bool
    cache_size : float
        In MB.
    owner : str, default=""
        What needs all matrices in memory; otherwise entries may be computed when needed.

    Returns
    -------
    members : tuple of BankKernel
    bank : Bank
    """
    scaled = []
    max_bytes = cache_size * 2**20

    def sources():
        for number, member in enumerate(members):
            name = f"kernel {number} of the bank ({member.kernel!r})"
            source = _source(member, X, name, max_bytes)
            scale = _scale(source.diagonal, weight, normalize, name)
            scaled.append(BankKernel(member.kernel, member.features, scale))
            yield _multiple(source, scale)

    bank = make_bank(len(X), sources(), max_bytes, owner)
    return tuple(scaled), bank


def build_stack(stack, weight, normalize, cache_size):
    """Return the factors that normalise given matrices, and their bank.

    Parameters
    ----------
    stack : ndarray of shape (n, n, n_kernels)
    weight : ndarray of shape (n,)
        In the means that normalise.
    normalize : bool
    cache_size : float
        In MB.

    Returns
    -------
    scales : ndarray of shape (n_kernels,)
    bank : Bank
    """
    scales = []

    def sources():
        for number in range(stack.shape[2]):
            name = f"precomputed matrix {number}"
            source = _checked(stack[:, :, number], name)
            scales.append(_scale(source.diagonal, weight, normalize, name))
            yield _multiple(source, scales[-1])

    bank = make_bank(len(stack), sources(), cache_size * 2**20)
    return np.array(scales), bank


def _source(member, X, name, max_bytes):
    """Return where the matrix of a kernel comes from."""
    kernel, seen = member.kernel, member.select(X)
    large = 8 * len(seen) ** 2 > max_bytes
    if is_psd(kernel):
        by_rows = MatrixRows(kernel, seen)
        if not large and not isinstance(kernel, StandardKernel):  # single columns may be dear
            K = np.ascontiguousarray(kernel(seen, seen), dtype=np.float64)
            return replace(from_matrix(K), by_rows=by_rows)
        with np.errstate(over="ignore"):
            diagonal = by_rows.diagonal()
        if not np.isfinite(diagonal).all():
            raise ValueError(f"expected finite kernel values, got overflow in {name}")
        return Source(diagonal, by_rows.column, by_rows.whole, by_rows=by_rows)
    if large:
        raise ValueError(
            f"expected {name} to be known as positive semidefinite, as those of names and of this "
            f"package are, or a matrix of at most cache_size={max_bytes / 2**20:g} MB, which is "
            f"tested, got {len(seen)} rows: raise cache_size"
        )
    try:
        K = CheckedKernel(kernel).given(seen, seen)
    except ValueError as error:
        raise ValueError(f"in {name}: {error}") from error  # it may be the user's
    return _checked(K, name)


def _checked(K, name):
    """Return the source of a matrix of the user, judged by the rounding that it came with."""
    K = c_ordered(K)
    check_kernel_matrix(K, name)
    if is_indefinite(K):
        raise ValueError(f"expected {name} to be positive semidefinite, got negative eigenvalues")
    return from_matrix(K.astype(np.float64, copy=False), K.dtype)


def _scale(diagonal, weight, normalize, name):
    mean = float(np.average(diagonal, weights=weight))
    if not mean > 0.0:
        raise ValueError(f"expected {name} to be a kernel that is not zero, got only zeros")
    return 1.0 / mean if normalize else 1.0


def _multiple(source, scale):
    if scale == 1.0:
        return source
    return Source(
        scale * source.diagonal,
        lambda i: scale * source.column(i),
        lambda: scale * source.whole(),
        source.dtype,
        None if source.by_rows is None else source.by_rows.times(scale),
    )
