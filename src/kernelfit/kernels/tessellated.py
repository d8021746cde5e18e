r"""Inner loops of kernels that are integrals over boxes.

Points lie in :math:`[a, b]^n`. For two of them, p is the elementwise maximum and :math:`[p, b]` the
box of all z that are above both. Its volume is measured in units of :math:`(b - a)^n`, as a product
over the coordinates of numbers in [0, 1], so that a hundred features neither overflow nor cancel:

    V(x, y) = prod_k min(tail_k(x), tail_k(y)),     tail_k(x) = (b - x_k) / (b - a).

Under the uniform distribution on :math:`[p, b]` the coordinates are independent, with mean
``(b + p_k) / 2`` and variance ``(b - p_k)^2 / 12``, and ``z_k - mean`` is symmetric.

The `fill` functions write, for row points i, column points j >= start and r functions g_s,

    sum_s  V E[g_s(x_i, z) g_s(x_j, z)]  +  sum_c  H_ic F_jc + F_ic H_jc

with g constant, linear, quadratic or any polynomial in z; for those of degree 1 and 2 the general
one takes 2 to 6 times as long. Every entry is computed by the same operations in the
same order and is symmetric in its two points, so Gram, cross-Gram, rows and diagonal agree bit for
bit.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.utils.jit import jit

Array = NDArray[Any]

_TILE = 512  # columns per pass: the operands of one row stay in the first-level cache


@jit(inline="always")
def _volumes(tail: Array, tails: Array, first: int, vol: Array) -> None:
    """Write the volumes for one row point and the columns from `first` on."""
    width = vol.size
    for j in range(width):
        vol[j] = 1.0
    for k in range(tail.size):
        own, other = tail[k], tails[k, first : first + width]
        for j in range(width):
            vol[j] *= own if own < other[j] else other[j]


@jit(inline="always")
def _add_separable(H: Array, F: Array, HT: Array, FT: Array, first: int, row: Array) -> None:
    """Add the separable part for one row point to the columns from `first` on."""
    width = row.size
    for c in range(H.size):
        h, f = H[c], F[c]
        hs, fs = HT[c, first : first + width], FT[c, first : first + width]
        for j in range(width):
            row[j] += h * fs[j] + f * hs[j]


@jit()
def volume_rows(tails: Array, tailsT: Array, start: int, out: Array) -> None:
    """Write V between row points (m, n) and column points (n, s), from start on, into out."""
    for first in range(start, tailsT.shape[1], _TILE):
        width = min(_TILE, tailsT.shape[1] - first)
        for i in range(tails.shape[0]):
            _volumes(tails[i], tailsT, first, out[i, first : first + width])


@jit()
def fill_constant(
    tails: Array, g: Array, H: Array, F: Array,
    tailsT: Array, gT: Array, HT: Array, FT: Array, start: int, out: Array,
) -> None:  # fmt: skip
    """Fill out for functions g_s(x, z) = g_s(x); arguments ending in T have points in columns."""
    vol, total = np.empty(_TILE), np.empty(_TILE)
    for first in range(start, out.shape[1], _TILE):
        width = min(_TILE, out.shape[1] - first)
        v, t = vol[:width], total[:width]
        for i in range(out.shape[0]):
            t[:] = 0.0
            for s in range(g.shape[1]):
                own, other = g[i, s], gT[s, first : first + width]
                for j in range(width):
                    t[j] += own * other[j]
            if g.shape[1]:
                _volumes(tails[i], tailsT, first, v)
                t *= v
            _add_separable(H[i], F[i], HT, FT, first, t)
            out[i, first : first + width] = t


@jit()
def fill_linear(
    X: Array, tails: Array, g: Array, slope: Array, H: Array, F: Array,
    XT: Array, tailsT: Array, gT: Array, HT: Array, FT: Array,
    b: float, start: int, out: Array,
) -> None:  # fmt: skip
    """Fill out for functions g_s(x, z) = g_s(x) + slope_s'z.

    With the mean r and the variances of z on the box,
    E[g(x, z) g(y, z)] = (g(x) + slope'r) (g(y) + slope'r) + sum_k slope_k^2 Var(z_k).
    """
    n = X.shape[1]
    vol, total = np.empty(_TILE), np.empty(_TILE)
    shift, spread = np.empty(_TILE), np.empty(_TILE)
    for first in range(start, out.shape[1], _TILE):
        width = min(_TILE, out.shape[1] - first)
        v, t, sh, sp = vol[:width], total[:width], shift[:width], spread[:width]
        for i in range(out.shape[0]):
            t[:] = 0.0
            for s in range(g.shape[1]):
                sh[:] = 0.0
                sp[:] = 0.0
                for k in range(n):
                    x, others, c = X[i, k], XT[k, first : first + width], slope[s, k]
                    for j in range(width):
                        p = x if x > others[j] else others[j]
                        sh[j] += c * (0.5 * (b + p))
                        sp[j] += (c * (b - p)) ** 2
                own, other = g[i, s], gT[s, first : first + width]
                for j in range(width):
                    t[j] += (own + sh[j]) * (other[j] + sh[j]) + sp[j] / 12.0
            _volumes(tails[i], tailsT, first, v)
            t *= v
            _add_separable(H[i], F[i], HT, FT, first, t)
            out[i, first : first + width] = t


@jit()
def fill_quadratic(
    X: Array, tails: Array, g: Array, slope: Array, Q: Array, H: Array, F: Array,
    XT: Array, tailsT: Array, gT: Array, slopeT: Array, HT: Array, FT: Array,
    b: float, start: int, out: Array,
) -> None:  # fmt: skip
    """Fill out for functions g_s(x, z) = g_s(x) + slope_s(x)'z + z'Q_s z.

    With z = r + w, level L(x) = g(x) + slope(x)'r + r'Q r and tilt l(x) = slope(x) + 2 Q r, and the
    moments E w_k^2 = v_k, E w_k^4 = 9/5 v_k^2 of a uniform variable,

    E[g(x, z) g(y, z)] = (L(x) + q) (L(y) + q) + sum_k v_k l_k(x) l_k(y)
    + 2 sum_kl Q_kl^2 v_k v_l - 6/5 sum_k Q_kk^2 v_k^2,     q = sum_k Q_kk v_k.
    """
    n = X.shape[1]
    for i in range(out.shape[0]):
        r, v, Qr = np.empty(n), np.empty(n), np.empty(n)
        for j in range(start, out.shape[1]):
            vol = 1.0
            for k in range(n):
                p = max(X[i, k], XT[k, j])
                vol *= min(tails[i, k], tailsT[k, j])
                r[k] = 0.5 * (b + p)
                v[k] = (b - p) ** 2 / 12.0
            total = 0.0
            for s in range(g.shape[1]):
                own, other = g[i, s], gT[s, j]
                q, fourth, tilts = 0.0, 0.0, 0.0
                for k in range(n):
                    Qr[k] = 0.0
                    for m in range(n):
                        Qr[k] += Q[s, k, m] * r[m]
                        fourth += 2.0 * Q[s, k, m] ** 2 * (v[k] * v[m])
                    q += Q[s, k, k] * v[k]
                    fourth -= 1.2 * (Q[s, k, k] * v[k]) ** 2
                    own += slope[i, s, k] * r[k]
                    other += slopeT[s, k, j] * r[k]
                    tilt = (slope[i, s, k] + 2.0 * Qr[k]) * (slopeT[s, k, j] + 2.0 * Qr[k])
                    tilts += v[k] * tilt
                shared = q
                for k in range(n):
                    shared += r[k] * Qr[k]
                total += (own + shared) * (other + shared) + (tilts + fourth)
            total *= vol
            for c in range(H.shape[1]):
                total += H[i, c] * FT[c, j] + F[i, c] * HT[c, j]
            out[i, j] = total


@jit(inline="always")
def _legendre_table(x: float, others: Array, b: float, degree: int, A: Array) -> None:
    """Write A with z^e = sum_j A_ej L_j(z) for the boxes above x and the others.

    L_j are the Legendre polynomials on [max(x, other), b], orthonormal in the mean; the row of
    (e, j) is e (e + 1) / 2 - 1 + j, for e >= 1.
    """
    width = others.size
    for j in range(width):
        p = x if x > others[j] else others[j]
        r, h = 0.5 * (b + p), 0.5 * (b - p)
        A[0, j], A[1, j] = r, h * np.sqrt(1.0 / 3.0)
        for e in range(1, degree):
            # z L_q = r L_q + h (c_q L_(q-1) + c_(q+1) L_(q+1)),  c_q = q / sqrt(4 q^2 - 1)
            low, high = e * (e + 1) // 2 - 1, (e + 1) * (e + 2) // 2 - 1
            for q in range(e + 2):
                new = r * A[low + q, j] if q <= e else 0.0
                if q > 0:
                    new += h * (q / np.sqrt(4.0 * q**2 - 1.0)) * A[low + q - 1, j]
                if q < e:
                    new += h * ((q + 1) / np.sqrt(4.0 * (q + 1) ** 2 - 1.0)) * A[low + q + 1, j]
                A[high + q, j] = new


@jit()
def fill_polynomial(
    X: Array, tails: Array, G: Array, H: Array, F: Array,
    XT: Array, tailsT: Array, GT: Array, HT: Array, FT: Array,
    steps: Array, degree: int, b: float, start: int, out: Array,
) -> None:  # fmt: skip
    """Fill out for polynomials g_s(x, z) = sum_gamma G_s,gamma(x) z^gamma.

    In products of Legendre polynomials of the box, E[g(x, z) g(y, z)] is the product of the
    coefficients. Row (to, from, k, e_j) of `steps` adds the part of z_k^e in L_j.
    """
    n, n_z, tile = X.shape[1], G.shape[2], 32
    A = np.empty((n, degree * (degree + 3) // 2, tile))
    c, d = np.empty((n_z, tile)), np.empty((n_z, tile))
    vol, total = np.empty(tile), np.empty(tile)
    for first in range(start, out.shape[1], tile):
        width = min(tile, out.shape[1] - first)
        v, t = vol[:width], total[:width]
        for i in range(out.shape[0]):
            for k in range(n):
                _legendre_table(X[i, k], XT[k, first : first + width], b, degree, A[k])
            t[:] = 0.0
            for s in range(G.shape[1]):
                for z in range(n_z):
                    c[z], d[z, :width] = G[i, s, z], GT[s, z, first : first + width]
                for step in range(steps.shape[0]):
                    to, source, k, entry = steps[step]
                    a, mine, other = A[k, entry], c[to], d[to]
                    if to == source:
                        for j in range(width):
                            mine[j] *= a[j]
                            other[j] *= a[j]
                    else:
                        more, others = c[source], d[source]
                        for j in range(width):
                            mine[j] += a[j] * more[j]
                            other[j] += a[j] * others[j]
                for z in range(n_z):
                    for j in range(width):
                        t[j] += c[z, j] * d[z, j]
            _volumes(tails[i], tailsT, first, v)
            t *= v
            _add_separable(H[i], F[i], HT, FT, first, t)
            out[i, first : first + width] = t


@jit()
def even_moments(X: Array, tails: Array, XT: Array, tailsT: Array, b: float, out: Array) -> None:
    """Write into out[e] the sums of V E[z^(2 gamma)] over all gamma of degree e, for every pair."""
    h, degree = np.empty(out.shape[0]), out.shape[0] - 1
    volume_rows(tails, tailsT, 0, out[0])
    for i in range(X.shape[0]):
        for j in range(XT.shape[1]):
            h[:], h[0] = 0.0, out[0, i, j]
            for k in range(X.shape[1]):
                p = max(X[i, k], XT[k, j])
                for e in range(degree, 0, -1):
                    for a in range(1, e + 1):
                        h[e] += h[e - a] * power_mean(p, b, 2 * a)
            out[:, i, j] = h


@jit()
def add_product(A: Array, B: Array, out: Array) -> None:
    """Add the entrywise product of A and B to out, in one pass."""
    for i in range(out.shape[0]):
        a, b, row = A[i], B[i], out[i]
        for j in range(row.size):
            row[j] += a[j] * b[j]


@jit()
def mirror(K: Array, first: int, last: int) -> None:
    """Copy the part of rows first .. last right of the diagonal block to the columns below it.

    Tiles are small enough for both sides to stay in the first-level cache.
    """
    for left in range(last, K.shape[0], 32):
        right = min(left + 32, K.shape[0])
        for top in range(first, last, 32):
            bottom = min(top + 32, last)
            for j in range(left, right):
                target = K[j]
                for i in range(top, bottom):
                    target[i] = K[i, j]


@jit()
def power_mean(p: float, b: float, e: int) -> float:
    """Return E[t^e] for t uniform on [p, b], without the cancellation of b^(e+1) - p^(e+1)."""
    total, power = 1.0, 1.0
    for _ in range(e):
        power *= b
        total = total * p + power
    return total / (e + 1.0)


@jit()
def moment_rows(
    X: Array, tails: Array, XT: Array, tailsT: Array, steps: Array, b: float, out: Array
) -> None:
    """Write the moments V E[z^zeta] on the boxes [max(x_i, x_j), b].

    Row (parent, k, e) of `steps` says that moment zeta is that of its parent times E[z_k^e]; moment
    0 is V itself.

    Parameters
    ----------
    X, tails : ndarray of shape (m, n)
    XT, tailsT : ndarray of shape (n, s)
    steps : ndarray of shape (n_moments, 3)
    b : float
    out : ndarray of shape (n_moments, m, s)
    """
    volume_rows(tails, tailsT, 0, out[0])
    for zeta in range(1, steps.shape[0]):
        parent, k, e = steps[zeta]
        for i in range(X.shape[0]):
            x, others, source, target = X[i, k], XT[k], out[parent, i], out[zeta, i]
            for j in range(XT.shape[1]):
                target[j] = source[j] * power_mean(max(x, others[j]), b, e)
