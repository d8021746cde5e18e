"""The interface through which solvers and families read a symmetric Gram matrix K.

`DenseGram` holds the matrix; `RowGram` computes rows when asked and keeps the latest in a cache of
bounded size. A source on another device joins by the same members.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kernelfit.kernels.locality import LocalRows, locality_order
from kernelfit.kernels.rows import Kernel, KernelRows
from kernelfit.linalg.indexed import add_rows, gather
from kernelfit.utils.jit import jit

Array = NDArray[Any]
RowFunction = Callable[[Array], Array]
ProductFunction = Callable[[Array, Array], Array]

_MIN_CACHED_ROWS = 4
_MANY = 256  # rows of a block from which it pays to look for runs of successive indices
_MAX_RUNS = 4  # up to which blocks are copied, not entries
# Bytes of rows computed at a time, and how many rows at least.
_MAX_TEMPORARY, _MIN_STEP = 2**26, 64


class Gram(Protocol):
    """A Gram matrix; `idx` is an integer array without repeated entries.

    Entries may be rounded to `dtype` where that is faster. What is `exact` is computed in float64,
    past any cache in lower precision.
    """

    n: int
    dtype: np.dtype[Any]

    @property
    def whole(self) -> Array | None:
        """K in C order where it is in memory, else None."""

    @property
    def order(self) -> Array | None:
        """The rows in an order in which near ones come together, where few others count."""

    def diagonal(self) -> Array:
        """Return the diagonal in float64."""

    def rows(self, idx: Array) -> Array:
        """Return the exact K[idx], to be read only."""

    def block(self, idx: Array, exact: bool = False) -> Array:
        """Return K[idx][:, idx] as a C-contiguous float64 array of its own."""

    def product(self, idx: Array, coef: Array, power: int = 1) -> Array:
        """Return the exact K[:, idx] @ coef, or with the entries of K squared for ``power=2``."""

    def accumulate(self, idx: Array, coef: Array, out: Array) -> None:
        """Add K[idx].T @ coef to the float64 array `out`."""

    def accumulate_squares(
        self,
        idx: Array,
        coef: Array,
        squares: Array,
        out: Array,
        out_squares: Array,
        exact: bool = False,
    ) -> None:
        """Accumulate, and add (K o K)[idx].T @ squares to `out_squares`."""


def exact_decision(gram: Gram, beta: Array) -> Array:
    """Return the exact K @ beta."""
    support = beta.nonzero()[0]
    return gram.product(support, beta[support])


class DenseGram:
    """A Gram matrix in memory.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric. float32 and float64 are read in place, whatever the memory order.
    dtype : dtype, default=None
        To which entries are rounded, where they came so and are kept in more digits; that of K when
        None.

    Attributes
    ----------
    whole : ndarray of shape (n, n)
        K in C order.
    """

    order = None

    def __init__(self, K: Array, dtype: DTypeLike | None = None) -> None:
        self.whole = c_ordered(K)
        self.n: int = K.shape[0]
        self.dtype: np.dtype[Any] = self.whole.dtype if dtype is None else np.dtype(dtype)

    def diagonal(self) -> Array:
        """Return the diagonal in float64."""
        return self.whole.diagonal().astype(np.float64)

    def rows(self, idx: Array) -> Array:
        """Return K[idx], to be read only."""
        return self.whole[idx]

    def block(self, idx: Array, exact: bool = False) -> Array:
        """Return K[idx][:, idx] as a C-contiguous float64 array of its own."""
        out = np.empty((len(idx), len(idx)))
        runs = _runs(idx) if len(idx) > _MANY else None
        if runs is None:
            gather(self.whole, idx, idx, out)
            return out
        for place, rows in runs:  # as of two classes of sorted rows
            for column, columns in runs:
                out[place, column] = self.whole[rows, columns]
        return out

    def product(self, idx: Array, coef: Array, power: int = 1) -> Array:
        """Return K[:, idx] @ coef, or with the entries of K squared for ``power=2``."""
        out = np.zeros((self.n, *coef.shape[1:]))
        _add_product(self.whole, idx, coef, power, out)
        return out

    def accumulate(self, idx: Array, coef: Array, out: Array) -> None:
        """Add K[idx].T @ coef to the float64 array `out`."""
        add_rows(self.whole, idx, coef, out)

    def accumulate_squares(
        self,
        idx: Array,
        coef: Array,
        squares: Array,
        out: Array,
        out_squares: Array,
        exact: bool = False,
    ) -> None:
        """Accumulate, and add (K o K)[idx].T @ squares to `out_squares`."""
        _accumulate_both(self.whole, idx, coef, squares, out, out_squares)


def _runs(idx: Array) -> list[tuple[slice, slice]] | None:
    """Return the few runs of successive numbers in idx: their places, and the numbers.

    None where there are many.
    """
    ends = [*(np.flatnonzero(idx[1:] - idx[:-1] != 1) + 1).tolist(), len(idx)]
    if len(ends) > _MAX_RUNS:
        return None
    starts = [0, *ends[:-1]]
    return [
        (slice(start, end), slice(idx[start], idx[start] + end - start))
        for start, end in zip(starts, ends, strict=True)
        if end > start
    ]


def c_ordered(K: Array) -> Array:
    """Return a symmetric matrix as float32 or float64 in C order, without a copy where it can."""
    K = np.asarray(K)
    if K.dtype not in (np.float32, np.float64):
        K = K.astype(np.float64)
    # The transpose of a symmetric matrix in Fortran order is the matrix in C order.
    return K.T if K.flags.f_contiguous else np.ascontiguousarray(K)


class RowGram:
    """A Gram matrix whose rows are computed on demand, the latest kept in a bounded cache.

    Parameters
    ----------
    compute_rows : callable
        ``compute_rows(idx) -> K[idx]``, of shape (len(idx), n).
    diagonal : ndarray of shape (n,)
    cache_bytes : int
        Memory that cached rows may take; at least four rows are kept.
    dtype : {float32, float64}, default=float32
        Of the cached rows.
    compute_block : callable, default=None
        ``compute_block(idx) -> K[idx][:, idx]``; read from whole rows when None.
    exact_rows : callable, default=None
        Like `compute_rows` but in float64, for exact values; `compute_rows` when None.
    exact_block : callable, default=None
        Like `compute_block` but in float64; read from whole exact rows when None.
    exact_product : callable, default=None
        ``exact_product(idx, coef) -> K[:, idx] @ coef`` in float64; from whole exact rows when
        None.
    compute_product : callable, default=None
        The same from rows as the cache has them, for more rows than it can keep; from whole rows
        when None.
    order : ndarray of int of shape (n,), default=None
        The rows in an order in which near ones come together, where few others count:
        `compute_product` then takes no longer than reading rows from the cache.
    """

    whole = None  # never in memory

    def __init__(
        self,
        compute_rows: RowFunction,
        diagonal: Array,
        cache_bytes: float,
        dtype: DTypeLike = np.float32,
        *,
        compute_block: RowFunction | None = None,
        exact_rows: RowFunction | None = None,
        exact_block: RowFunction | None = None,
        exact_product: ProductFunction | None = None,
        compute_product: ProductFunction | None = None,
        order: Array | None = None,
    ) -> None:
        self.n = len(diagonal)
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self._diagonal = np.asarray(diagonal, dtype=np.float64)
        self._compute_rows = compute_rows
        self._compute_block = compute_block
        self._exact_rows = compute_rows if exact_rows is None else exact_rows
        self._exact_block = exact_block
        self._exact_product = exact_product
        self._compute_product, self.order = compute_product, order
        # Whether cached rows are. Two methods bound to one object are equal, but not identical.
        self._is_exact = self._exact_rows == compute_rows and self.dtype == np.float64
        self._step = max(_MIN_STEP, _MAX_TEMPORARY // (8 * self.n))

        n_slots = int(cache_bytes // (self.dtype.itemsize * self.n))
        n_slots = min(max(n_slots, _MIN_CACHED_ROWS), self.n)
        # The operating system provides the pages when rows are first written to them.
        self._cache = np.empty((n_slots, self.n), dtype=self.dtype)
        self._slot_of_row = np.full(self.n, -1, dtype=np.intp)
        self._row_of_slot = np.full(n_slots, -1, dtype=np.intp)
        self._last_use = np.arange(-n_slots, 0)  # empty slots are the oldest, in their order
        self._clock = 0

    @classmethod
    def from_kernel(
        cls, kernel: Kernel, X: Any, cache_bytes: float, dtype: DTypeLike = np.float32
    ) -> "RowGram":
        """Return the Gram matrix of a kernel on the rows of X, dense or CSR."""
        order = locality_order(kernel, X)
        make = KernelRows if order is None else partial(LocalRows, order=order)
        source: Any = make(kernel, X, dtype=dtype)
        exact: Any = source.unrounded() or make(kernel, X)
        return cls(
            source.rows,
            source.diagonal(),
            cache_bytes,
            source.dtype,
            compute_block=source.block,
            exact_rows=exact.rows,
            exact_block=exact.block,
            exact_product=exact.product,
            compute_product=source.product,
            order=order,
        )

    def diagonal(self) -> Array:
        """Return the diagonal in float64."""
        return self._diagonal.copy()

    def rows(self, idx: Array) -> Array:
        """Return the exact K[idx], to be read only."""
        out = np.empty((len(idx), self.n))
        for positions, source, places in self._parts(idx, exact=True):
            out[positions] = source[places]
        return out

    def block(self, idx: Array, exact: bool = False) -> Array:
        """Return K[idx][:, idx] as a C-contiguous float64 array of its own."""
        compute = self._exact_block if exact else self._compute_block
        if compute is not None:
            return np.ascontiguousarray(compute(idx), dtype=np.float64)
        out = np.empty((len(idx), len(idx)))
        for positions, source, places in self._parts(idx, exact):
            part = np.empty((len(positions), len(idx)))
            gather(source, places, idx, part)
            out[positions] = part
        return out

    def product(self, idx: Array, coef: Array, power: int = 1) -> Array:
        """Return the exact K[:, idx] @ coef, or with the entries of K squared for ``power=2``."""
        plain = power == 1 and coef.ndim == 1
        if self._exact_product is not None and plain and not self._is_exact:
            return self._exact_product(idx, coef)
        out = np.zeros((self.n, *coef.shape[1:]))
        for positions, source, places in self._parts(idx, exact=True):
            _add_product(source, places, coef[positions], power, out)
        return out

    def accumulate(self, idx: Array, coef: Array, out: Array) -> None:
        """Add K[idx].T @ coef to the float64 array `out`."""
        if self._compute_product is not None:
            missing = self._slot_of_row[idx] < 0
            if self.order is not None or np.count_nonzero(missing) > len(self._last_use):
                # Storing them would cost more, and leave none of what the cache has.
                out += self._compute_product(idx[missing], coef[missing])
                idx, coef = idx[~missing], coef[~missing]
        for positions, source, places in self._visit(idx):
            add_rows(source, places, coef[positions], out)

    def accumulate_squares(
        self,
        idx: Array,
        coef: Array,
        squares: Array,
        out: Array,
        out_squares: Array,
        exact: bool = False,
    ) -> None:
        """Accumulate, and add (K o K)[idx].T @ squares to `out_squares`."""
        for positions, source, places in self._parts(idx, exact):
            _accumulate_both(source, places, coef[positions], squares[positions], out, out_squares)

    def _parts(self, idx: Array, exact: bool) -> Iterator[tuple[Array, Array, Array]]:
        """Yield (positions, source, places) such that K[idx[positions]] is source[places].

        Exact parts are in float64 and bypass a cache that rounds.
        """
        if not exact or self._is_exact:
            yield from self._visit(idx)
            return
        for start in range(0, len(idx), self._step):
            rows = np.ascontiguousarray(self._exact_rows(idx[start : start + self._step]))
            yield np.arange(start, start + len(rows)), rows, np.arange(len(rows))

    def _visit(self, idx: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Yield (positions, source, places) such that K[idx[positions]] is source[places].

        The cached rows come first, then the missing ones, computed many at a time and stored
        over those that have waited longest since their last use, none of `idx` among them.
        """
        self._clock += 1
        slots = self._slot_of_row[idx]
        hits = np.flatnonzero(slots >= 0)
        self._last_use[slots[hits]] = self._clock
        if len(hits):
            yield hits, self._cache, slots[hits]
        missing = np.flatnonzero(slots < 0)
        for start in range(0, len(missing), self._step):
            positions = missing[start : start + self._step]
            computed = self._compute_rows(idx[positions])
            # Rounded before their first use, so that every use sees the same values.
            computed = np.ascontiguousarray(computed, dtype=self.dtype)
            self._store(idx[positions], computed)
            yield positions, computed, np.arange(len(positions))

    def _store(self, idx: Array, computed: Array) -> None:
        """Put rows into the slots least recently used, as many as are not in use now."""
        kept = min(len(idx), len(self._last_use))
        slots = np.argpartition(self._last_use, kept - 1)[:kept]
        slots = slots[self._last_use[slots] < self._clock]
        kept = len(slots)
        evicted = self._row_of_slot[slots]
        self._slot_of_row[evicted[evicted >= 0]] = -1
        self._cache[slots] = computed[:kept]
        self._slot_of_row[idx[:kept]] = slots
        self._row_of_slot[slots] = idx[:kept]
        self._last_use[slots] = self._clock


@jit()
def _accumulate_both(
    source: Array,
    places: Array,
    change: Array,
    squares: Array,
    v: Array,
    s: Array,
) -> None:
    """Add ``source[places].T @ change`` to v, and with squared entries ``squares`` to s."""
    m = len(places)
    r = 0
    while r + 2 <= m:  # two rows for each pass over v and s
        row0, row1 = source[places[r]], source[places[r + 1]]
        a0, a1, b0, b1 = change[r], change[r + 1], squares[r], squares[r + 1]
        for k in range(v.size):
            x, y = np.float64(row0[k]), np.float64(row1[k])
            v[k] += a0 * x + a1 * y
            s[k] += b0 * (x * x) + b1 * (y * y)
        r += 2
    if r < m:
        row0 = source[places[r]]
        a0, b0 = change[r], squares[r]
        for k in range(v.size):
            x = np.float64(row0[k])
            v[k] += a0 * x
            s[k] += b0 * (x * x)


def _add_product(source: Array, places: Array, coef: Array, power: int, out: Array) -> None:
    """Add ``source[places].T @ coef`` to out, with entries squared for ``power=2``."""
    if power == 1 and coef.ndim == 1:
        add_rows(source, places, coef, out)
        return
    in_order = np.array_equal(places, np.arange(len(source)))
    rows = source if in_order else source[places]
    if power == 2:
        rows = np.square(rows, dtype=np.float64)  # not rounded where K is in float32
    out += rows.T @ coef
