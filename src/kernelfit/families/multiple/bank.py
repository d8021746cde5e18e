r"""The Gram matrices of many kernels on the training points.

A kernel of low rank, such as any smooth one of a single feature, is kept as a factor,
:math:`K_m = F_m F_m^\top`, found by a Cholesky decomposition with pivots and equal to the matrix up
to rounding. Of 325 kernels, 13 on all and 13 on each of 24 features, little more than the 13 take
memory and time. The others are kept whole where all of them fit; otherwise factors take at most
half of the memory, and the entries of all other matrices are computed when needed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import daxpy

from kernelfit.families.multiple.by_rows import FactoredGram, MatrixRows, sum_by_rows
from kernelfit.kernels.gram import DenseGram, Gram
from kernelfit.linalg.indexed import add_rows

Array = NDArray[Any]

# A factor of rank r pays where r <= n / _FACTOR_RATIO; larger ranks than _MAX_RANK are not tried.
_FACTOR_RATIO, _MAX_RANK = 4, 160
# Smooth kernels have eigenvalues that fall geometrically or faster: after a part of the rank
# the diagonal must have fallen by that part of the way, in digits. Few columns say little.
_PART, _MIN_LOOK = 0.5, 8
_FACTOR_SHARE = 0.5  # of the memory for factors, where not all matrices fit
# What the diagonal may keep, relative to its largest entry: the rounding of the entries themselves.
_RESIDUAL = 8.0 * float(np.finfo(np.float64).eps)
# What it may fall below zero, relative to that. Beyond, pivots are noise, which columns amplify.
_BELOW = 64.0
# A negative eigenvalue that rounding explains, as a fraction of the trace: the dual core's.
_ROUNDING = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}
_DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class Bank:
    """Gram matrices, each whole, as a factor or computed when needed.

    Attributes
    ----------
    n : int
        Number of points.
    dense : tuple of ndarray of shape (n, n)
        Empty where entries are computed when needed.
    dense_places : ndarray of int
        Which of the kernels `dense` or `on_demand` are.
    factors : ndarray of shape (total_rank, n)
        The columns of all factors, as rows, kernel by kernel.
    owners : ndarray of shape (total_rank,)
        The kernel that a row belongs to.
    size : int
        Number of kernels.
    dtype : dtype, default=float64
        To which entries are rounded; float32 where that is so of any matrix.
    on_demand : tuple of MatrixRows, default=()
        The matrices whose entries are computed when needed.
    cache_bytes : float, default=infinity
        Memory for the rows of a sum of these.
    """

    n: int
    dense: tuple[Array, ...]
    dense_places: Array
    factors: Array
    owners: Array
    size: int
    dtype: np.dtype[Any] = _DOUBLE
    on_demand: tuple[MatrixRows, ...] = ()
    cache_bytes: float = np.inf

    def respond(self, beta: Array) -> "BankProducts":
        """Return the products of all matrices with some vectors, of shape (n_tasks, n)."""
        whole = np.zeros((len(beta), len(self.dense_places), self.n))
        if self.on_demand:
            support = np.flatnonzero(beta.any(axis=0))
            for k, source in enumerate(self.on_demand):
                whole[:, k] = source.product(support, beta[:, support].T).T
            return BankProducts(self, beta, whole, beta @ self.factors.T)
        for b, out in zip(beta, whole, strict=True):
            support = np.flatnonzero(b)
            if 2 * len(support) < self.n:  # few rows are read, instead of all
                for K, row in zip(self.dense, out, strict=True):
                    add_rows(K, support, b[support], row)
            else:
                for K, row in zip(self.dense, out, strict=True):
                    np.matmul(K, b, out=row)
        return BankProducts(self, beta, whole, beta @ self.factors.T)

    def gram(self, weights: Array) -> Gram:
        """Return the sum of the matrices with some weights, by rows where they do not fit."""
        if self.in_memory:
            return DenseGram(self.combine(weights), self.dtype)
        parts = [
            (float(weights[m]), source)
            for source, m in zip(self.on_demand, self.dense_places, strict=True)
            if weights[m] != 0.0
        ]
        rows = sum_by_rows(parts, self.n, self.cache_bytes)
        return FactoredGram(rows, self.factors, weights[self.owners])

    @property
    def in_memory(self) -> bool:
        """Whether no entries are computed when needed."""
        return not self.on_demand

    def select(self, m: int, rows: Any = slice(None)) -> "Bank":
        """Return the bank of one kernel, on some of the points."""
        place = np.flatnonzero(self.dense_places == m)
        factor = self.factors[self.owners == m][:, rows]
        return replace(
            self,
            n=factor.shape[1],
            dense=tuple(self.dense[k][rows][:, rows] for k in place if self.in_memory),
            on_demand=tuple(self.on_demand[k].take(rows) for k in place if not self.in_memory),
            dense_places=np.zeros(len(place), dtype=np.intp),
            factors=factor,
            owners=np.zeros(len(factor), dtype=np.intp),
            size=1,
        )

    def tiles(self, rows: slice, columns: slice) -> list[Array]:
        """Return blocks of the matrices that are no factors, in the order of `dense_places`."""
        if self.in_memory:
            return [K[rows, columns] for K in self.dense]
        return [source.between(rows, columns) for source in self.on_demand]

    def combine(self, weights: Array) -> Array:
        """Return the sum of the matrices with some weights, as a new array."""
        total = np.zeros((self.n, self.n))
        flat = total.ravel()
        for K, m in zip(self.dense, self.dense_places, strict=True):
            if weights[m] != 0.0:
                daxpy(K.ravel(), flat, a=weights[m])
        of_rows = weights[self.owners]
        for sign in (1.0, -1.0):
            used = np.flatnonzero(sign * of_rows > 0.0)
            if used.size:
                rows = self.factors[used] * np.sqrt(sign * of_rows[used])[:, None]
                total += sign * (rows.T @ rows)
        return total

    def joined(self, other: "Bank", chosen: Iterable[int]) -> "Bank":
        """Return this bank followed by some kernels of another one, in the order given."""
        dense, places = list(self.dense), list(self.dense_places)
        factors, owners = [self.factors], [self.owners]
        size = self.size
        for m in chosen:
            rows = other.factors[other.owners == m]
            place = np.flatnonzero(other.dense_places == m)
            if place.size:
                dense.append(other.dense[place[0]])
                places.append(size)
            factors.append(rows)
            owners.append(np.full(len(rows), size, dtype=np.intp))
            size += 1
        return Bank(
            self.n,
            tuple(dense),
            np.array(places, dtype=np.intp),
            np.concatenate(factors),
            np.concatenate(owners),
            size,
            min(self.dtype, other.dtype, key=_digits),
        )

    def diagonals(self) -> Array:
        """Return the diagonals of all matrices, of shape (size, n)."""
        out = np.zeros((self.size, self.n))
        matrices: tuple[Any, ...] = self.dense or self.on_demand
        for K, m in zip(matrices, self.dense_places, strict=True):
            out[m] = K.diagonal()
        for m in np.unique(self.owners):
            F = self.factors[self.owners == m]
            out[m] = np.einsum("ri,ri->i", F, F)
        return out

    def sum_of_squares(self, scale: float = 1.0) -> Array:
        """Return the sum of the squares of all matrices, each times a scale."""
        total = np.zeros((self.n, self.n))
        for K in self.dense:
            scaled = scale * K
            total += scaled @ scaled
        for m in np.unique(self.owners):
            F = np.sqrt(scale) * self.factors[self.owners == m]
            total += F.T @ ((F @ F.T) @ F)
        return total

    def sum_products(self, vectors: Array) -> Array:
        """Return the sum of all ``K_m v_m`` for one vector a kernel, of shape (size, n)."""
        total = np.zeros(self.n)
        for K, m in zip(self.dense, self.dense_places, strict=True):
            total += K @ vectors[m]
        inner = np.einsum("ri,ri->r", self.factors, vectors[self.owners])
        return np.asarray(total + inner @ self.factors)

    def inner_products(self, M: Array) -> Array:
        """Return the sum of the entries of ``M o K_m`` for every kernel; M is symmetric."""
        out = np.zeros(self.size)
        for K, m in zip(self.dense, self.dense_places, strict=True):
            out[m] = np.vdot(M, K)
        np.add.at(out, self.owners, np.einsum("ri,ri->r", self.factors @ M, self.factors))
        return out


@dataclass(frozen=True, eq=False)
class BankProducts:
    """All products K_m beta_t, as far as they are stored.

    Attributes
    ----------
    bank : Bank
    beta : ndarray of shape (n_tasks, n)
    whole : ndarray of shape (n_tasks, n_dense, n)
        K_m beta_t of the matrices that are whole.
    inner : ndarray of shape (n_tasks, total_rank)
        F_m'beta_t of the factors.
    """

    bank: Bank
    beta: Array
    whole: Array
    inner: Array

    def forms(self, other: "BankProducts | None" = None) -> Array:
        """Return ``sum_t beta_t'K_m beta_t``, or with another beta on one side, for every m."""
        other = self if other is None else other
        bank = self.bank
        out = np.zeros(bank.size)
        np.add.at(out, bank.owners, (self.inner * other.inner).sum(axis=0))
        out[bank.dense_places] = np.einsum("tmi,ti->m", self.whole, other.beta)
        return out

    def sums(self, weights: Array) -> Array:
        """Return ``sum_m weights_m K_m beta_t``, of shape (n_tasks, n)."""
        bank = self.bank
        total = np.einsum("m,tmi->ti", weights[bank.dense_places], self.whole)
        return np.asarray(total + (self.inner * weights[bank.owners]) @ bank.factors)

    def values(self, chosen: Array) -> Array:
        """Return K_m beta_t for some kernels m in order, of shape (n_tasks, len(chosen), n)."""
        bank = self.bank
        out = np.empty((len(self.beta), len(chosen), bank.n))
        starts = np.searchsorted(bank.owners, chosen)
        ends = np.searchsorted(bank.owners, chosen, side="right")
        places = np.searchsorted(bank.dense_places, chosen)
        dense = np.isin(chosen, bank.dense_places)
        for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if dense[k]:
                out[:, k] = self.whole[:, places[k]]
            else:  # the factor of a zero matrix has no rows
                np.matmul(self.inner[:, start:end], bank.factors[start:end], out=out[:, k])
        return out

    def mix(self, other: "BankProducts", t: float) -> "BankProducts":
        """Return the products with (1 - t) beta + t other_beta."""
        pairs = zip(
            (self.beta, self.whole, self.inner), (other.beta, other.whole, other.inner), strict=True
        )
        return BankProducts(self.bank, *((1.0 - t) * mine + t * theirs for mine, theirs in pairs))


def make_bank(n: int, sources: Iterable["Source"], max_bytes: float, owner: str = "") -> Bank:
    """Return the bank of some kernels.

    Parameters
    ----------
    n : int
        Number of points.
    sources : iterable of Source
        One a kernel.
    max_bytes : float
    owner : str, default=""
        What needs all matrices in memory; otherwise entries may be computed when needed.

    Returns
    -------
    Bank

    Raises
    ------
    ValueError
        Where the matrices take more than `max_bytes` and not all can be computed when needed.
    """
    factors: dict[int, Array] = {}
    by_rows: list[MatrixRows | None] = []
    dense: list[Array] = []
    places: list[int] = []
    held, size, dtype, fits = 0, 0, _DOUBLE, True
    for m, source in enumerate(sources):
        size += 1
        dtype = min(dtype, source.dtype, key=_digits)
        by_rows.append(None if owner else source.by_rows)
        rows = source.factor(min(n // _FACTOR_RATIO, _MAX_RANK))
        if rows is not None and held + rows.nbytes <= max_bytes:
            factors[m] = rows
            held += rows.nbytes
        else:
            places.append(m)
        used = held + 8 * n * n * len(places)
        fits = fits and used <= max_bytes
        if fits and m not in factors:
            dense.append(source.whole())
        elif not fits:
            dense.clear()
            if any(by_rows[m] is None for m in places):
                where = f", all in memory for {owner}," if owner else ""
                raise ValueError(
                    f"expected kernels whose matrices{where} take at most "
                    f"cache_size={max_bytes / 2**20:g} MB, got {used / 2**20:.3g} MB for {size} of "
                    f"them on {n} rows: use fewer or raise cache_size"
                )
    for m in sorted(factors, key=lambda m: len(factors[m]), reverse=True):
        if not fits and held > _FACTOR_SHARE * max_bytes and by_rows[m] is not None:
            held -= factors.pop(m).nbytes
            places.append(m)
    places.sort()
    return Bank(
        n,
        tuple(dense),
        np.array(places, dtype=np.intp),
        np.concatenate([np.empty((0, n)), *factors.values()]),
        np.repeat(np.array(list(factors), dtype=np.intp), [len(F) for F in factors.values()]),
        size,
        dtype,
        () if fits else tuple(found for m in places if (found := by_rows[m]) is not None),
        max_bytes - held,
    )


def _digits(dtype: np.dtype[Any]) -> int:
    return dtype.itemsize


@dataclass(frozen=True, eq=False)
class Source:
    """Where a positive semidefinite Gram matrix comes from.

    Parameters
    ----------
    diagonal : ndarray of shape (n,)
    column : callable
        From an index to that column of the matrix.
    whole : callable
        Returns the matrix, symmetric and in C order.
    dtype : dtype, default=float64
        To which its entries are rounded, whatever they are kept in.
    by_rows : MatrixRows, default=None
        The same matrix, computed when needed; None where it must be in memory.
    """

    diagonal: Array
    column: Callable[[int], Array]
    whole: Callable[[], Array]
    dtype: np.dtype[Any] = _DOUBLE
    by_rows: MatrixRows | None = None

    def factor(self, max_rank: int) -> Array | None:
        """Return F' with K = F F' up to rounding, or None where the rank is larger.

        By a Cholesky decomposition with the largest remaining diagonal entry as the next pivot.
        None for a matrix that is not positive semidefinite up to rounding in double precision, too.
        """
        if self.dtype != _DOUBLE:
            return None
        left = self.diagonal.copy()
        rows = np.empty((max_rank, len(left)))
        largest = float(left.max())
        allowed, hopeful = _RESIDUAL * largest, _RESIDUAL**_PART * largest
        for rank in range(max_rank + 1):
            pivot = int(left.argmax())
            if left[pivot] <= allowed:
                return rows[:rank].copy()
            look = rank == int(_PART * max_rank) and rank >= _MIN_LOOK
            if rank == max_rank or (look and left[pivot] > hopeful):
                break
            row = rows[rank]
            np.subtract(self.column(pivot), rows[:rank, pivot] @ rows[:rank], out=row)
            row /= np.sqrt(left[pivot])
            left -= row**2
            left[pivot] = 0.0
            if left.min() < -_BELOW * allowed:
                break
        return None


def is_indefinite(K: Array) -> bool:
    """Return whether a symmetric matrix has a negative eigenvalue beyond the rounding of its dtype.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        In float64 or float32.

    Returns
    -------
    bool
    """
    ridged = K.astype(np.float64)
    ridge = _ROUNDING[K.dtype] * abs(float(np.trace(ridged)))
    ridged[np.diag_indices_from(ridged)] += ridge + np.finfo(float).tiny
    try:
        np.linalg.cholesky(ridged)
    except np.linalg.LinAlgError:
        return True
    return False


def from_matrix(K: Array, dtype: np.dtype[Any] = _DOUBLE) -> Source:
    """Return the source of a matrix that is known, whose entries are rounded to a dtype."""
    return Source(K.diagonal().copy(), K.__getitem__, lambda: K, dtype)
