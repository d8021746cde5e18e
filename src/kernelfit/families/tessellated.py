r"""The tessellated basis: integrals over boxes whose corners are the data.

.. math::

    k(x, y) = \frac{1}{(b-a)^n} \int_{[a,b]^n} N(z, x)^\top P\, N(z, y)\, dz, \qquad
    N(z, x) = \begin{bmatrix} Z(z, x)\, 1(z \ge x) \\ Z(z, x)\, (1 - 1(z \ge x)) \end{bmatrix}

(Eqs. (11) and (12) of [1]_ up to the factor), with :math:`[a, b] = [-\delta, 1 + \delta]` and Z the
monomials of degree at most d in x alone (``variables="x"``) or in x and z together ("xz").

Symbols: a monomial of Z is ``x^delta z^gamma``; there are q of them, ``n_P = 2 q`` in all, of which
n_x have different delta and n_z different gamma. For a column u = (u1, u2) of a factor U, P = U U',
and ``f = u2'Z``, ``g = (u1 - u2)'Z``, the kernel of u u' is a sum of integrals over four boxes,

    g(x) g(y) over [max(x, y), b]  +  g(x) f(y) over [x, b]  +  f(x) g(y) over [y, b]  +  f(x) f(y)

of which the last three are separable: H(x)'F(y) + F(x)'H(y), with F the n_z coefficients of f as a
polynomial in z. The first is left to :mod:`kernelfit.kernels.tessellated`.

References
----------
.. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
   learning", Journal of Machine Learning Research 25 (2024).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kernelfit.kernels.monomials import Array, IntArray, exponents, monomials, ordered_product
from kernelfit.kernels.tessellated import (
    fill_constant,
    fill_linear,
    fill_quadratic,
    moment_rows,
)

_MOMENT_BYTES = 2**24  # of moments held at a time when D is computed


@dataclass(frozen=True)
class BoxFunctions:
    """The functions of a factor U at some points; see the module's head.

    Attributes
    ----------
    X, tails : ndarray of shape (m, n)
        The points, and what is left of the box above them in each coordinate.
    g : ndarray of shape (m, r)
        The part of g that is constant in z.
    slope : ndarray of shape (m, r, n)
        Its linear part, for degree 2; of shape (r, n) for degree 1.
    Q : ndarray of shape (r, n, n)
        Its quadratic part.
    H, F : ndarray of shape (m, r * n_z)
    """

    X: Array
    tails: Array
    g: Array
    slope: Array
    Q: Array
    H: Array
    F: Array

    def __len__(self) -> int:
        return len(self.X)

    def take(self, rows: IntArray | slice) -> "BoxFunctions":
        """Return the functions at some of the points."""
        return replace(
            self,
            X=self.X[rows],
            tails=self.tails[rows],
            g=self.g[rows],
            slope=self.slope[rows] if self.slope.ndim == 3 else self.slope,
            H=self.H[rows],
            F=self.F[rows],
        )

    @cached_property
    def columns(self) -> tuple[Array, ...]:
        """X, tails, g, H and F with the points in columns."""
        arrays = (self.X, self.tails, self.g, self.H, self.F)
        return tuple(np.ascontiguousarray(array.T) for array in arrays)

    @cached_property
    def slope_columns(self) -> Array:
        """The slopes of degree 2 with the points in columns."""
        return np.ascontiguousarray(np.moveaxis(self.slope, 0, -1))


@dataclass(frozen=True)
class TessellatedBasis:
    """The tessellated basis on the unit cube.

    Parameters
    ----------
    n : int
        Number of features.
    degree : int
        Of the monomials; at most 2 for "xz".
    delta : float
        How far the box extends beyond the unit cube; points outside are moved to it.
    variables : {"x", "xz"}
        What the monomials are made of.
    """

    n: int
    degree: int
    delta: float
    variables: str

    @property
    def upper(self) -> float:
        """The upper end b of every side of the box."""
        return 1.0 + self.delta

    @property
    def volume(self) -> float:
        """The volume of the box, the unit in which the integrals are measured."""
        return float((1.0 + 2.0 * self.delta) ** self.n)

    @property
    def size(self) -> int:
        """The order n_P of the matrix P."""
        return 2 * len(self._monomials)

    @property
    def z_degree(self) -> int:
        """The largest degree of a monomial in z."""
        return self.degree if self.variables == "xz" else 0

    @cached_property
    def _x_powers(self) -> IntArray:
        return exponents(self.n, self.degree)

    @cached_property
    def _z_powers(self) -> IntArray:
        return exponents(self.n, self.z_degree)

    @cached_property
    def _monomials(self) -> IntArray:
        """For each monomial of Z the indices of its delta and gamma."""
        pairs = [
            (i, k)
            for k, gamma in enumerate(self._z_powers)
            for i, delta in enumerate(self._x_powers)
            if delta.sum() + gamma.sum() <= self.degree
        ]
        return np.array(pairs, dtype=np.intp)

    @cached_property
    def _moments(self) -> tuple[IntArray, IntArray, IntArray]:
        """How moments are computed, their degrees, and which moment two z-monomials make."""
        powers = exponents(self.n, 2 * self.z_degree)
        index = {tuple(power): i for i, power in enumerate(powers)}
        steps = np.zeros((len(powers), 3), dtype=np.intp)
        for i, power in enumerate(powers[1:], start=1):
            k = int(np.flatnonzero(power)[-1])
            steps[i] = index[(*power[:k], 0, *power[k + 1 :])], k, power[k]
        gammas = self._z_powers
        table = [[index[tuple(gamma + other)] for other in gammas] for gamma in gammas]
        return steps, powers.sum(axis=1), np.array(table, dtype=np.intp)

    def clip(self, X: Array) -> Array:
        """Return the points of the box closest to those given."""
        return np.ascontiguousarray(np.clip(X, -self.delta, self.upper))

    def functions(self, X: Array, U: Array) -> BoxFunctions:
        """Return the functions of a factor at some points.

        Parameters
        ----------
        X : ndarray of shape (m, n)
        U : ndarray of shape (n_P, r)

        Returns
        -------
        BoxFunctions
        """
        X = self.clip(X)
        m, r, n_z = len(X), U.shape[1], len(self._z_powers)
        q = len(self._monomials)
        delta, gamma = self._monomials.T
        # As polynomials in z, f and g have n_z coefficients that are polynomials in x.
        coefficients = np.zeros((2, len(self._x_powers), r, n_z))
        coefficients[0, delta, :, gamma] = U[q:]
        coefficients[1, delta, :, gamma] = U[:q] - U[q:]
        Z = monomials(X, self._x_powers)
        F, G = (ordered_product(Z, c.reshape(len(c), -1)).reshape(m, r, n_z) for c in coefficients)

        above, everywhere = self._point_moments(X), self._box_moments
        table = self._moments[2]
        H = np.zeros((m, r, n_z))
        for k in range(n_z):
            H += G[:, :, k, None] * above[:, None, table[k]]
            H += 0.5 * F[:, :, k, None] * everywhere[table[k]]

        n = self.n if self.z_degree else 0
        slope, Q = G[:, :, 1 : 1 + n], np.zeros((r, n, n))
        if self.z_degree == 1:
            slope = coefficients[1, 0, :, 1:]
        elif self.z_degree == 2:
            for k in range(1 + n, n_z):
                i, j = np.repeat(np.arange(n), self._z_powers[k])
                Q[:, i, j] = Q[:, j, i] = coefficients[1, 0, :, k] * (1.0 if i == j else 0.5)
        return BoxFunctions(
            X=X,
            tails=self._tails(X),
            g=np.ascontiguousarray(G[:, :, 0]),
            slope=np.ascontiguousarray(slope),
            Q=Q,
            H=H.reshape(m, -1),
            F=F.reshape(m, -1),
        )

    def fill(self, rows: BoxFunctions, columns: BoxFunctions, start: int, out: Array) -> None:
        """Write the kernel between points, from the column `start` on, into out."""
        XT, tailsT, gT, HT, FT = columns.columns
        if self.z_degree == 0:
            fill_constant(rows.tails, rows.g, rows.H, rows.F, tailsT, gT, HT, FT, start, out)
        elif self.z_degree == 1:
            fill_linear(
                rows.X, rows.tails, rows.g, rows.slope, rows.H, rows.F,
                XT, tailsT, gT, HT, FT, self.upper, start, out,
            )  # fmt: skip
        else:
            fill_quadratic(
                rows.X, rows.tails, rows.g, rows.slope, rows.Q, rows.H, rows.F,
                XT, tailsT, gT, columns.slope_columns, HT, FT, self.upper, start, out,
            )  # fmt: skip

    def identity_diagonal(self, X: Array) -> Array:
        """Return k(x, x) for P = I, the mean of Z(z, x)'Z(z, x) over the box."""
        X = self.clip(X)
        delta, gamma = self._monomials.T
        squares = monomials(X, 2 * self._x_powers)[:, delta]
        same = np.diagonal(self._moments[2])[gamma]
        return np.asarray(squares @ self._box_moments[same])

    def response_matrix(self, X: Array, beta: Array) -> Array:
        """Return D(beta), with <D(beta), P> = beta'K_P beta (Eq. (10) of [1]_ in signed beta).

        Parameters
        ----------
        X : ndarray of shape (m, n)
        beta : ndarray of shape (m,)

        Returns
        -------
        ndarray of shape (n_P, n_P)
        """
        support = np.flatnonzero(beta)
        X, beta = self.clip(X[support]), beta[support]
        B = beta[:, None] * monomials(X, self._x_powers)
        delta, gamma = self._monomials.T
        zeta = self._moments[2][np.ix_(gamma, gamma)]
        total = B.sum(axis=0)
        above = B.T @ self._point_moments(X)
        M_box = np.outer(total[delta], total[delta]) * self._box_moments[zeta]
        M_one = above[delta[:, None], zeta] * total[delta]
        M_both = self._pair_moments(X, B)
        off = M_one - M_both
        return np.block([[M_both, off], [off.T, M_box - M_one - off.T]])

    def _pair_moments(self, X: Array, B: Array) -> Array:
        """Return sum_ij beta_i beta_j of the integral of Z(z, x_i) Z(z, x_j)' over [max, b].

        Moments whose monomials have degrees e and e' in the two points are needed up to degree
        2d - e - e' in z; they are kept in blocks by (e, e').
        """
        steps, degrees, table = self._moments
        s, n_moments = len(X), len(steps)
        x_degree = self._x_powers.sum(axis=1)
        groups = [np.flatnonzero(x_degree == e) for e in range(self.degree + 1)]
        top = 2 * self.z_degree
        n_up_to = [int(np.count_nonzero(degrees <= e)) for e in range(top + 1)]
        needed = {
            (e, f): n_up_to[max(top - e - f, 0)]
            for e in range(self.degree + 1)
            for f in range(self.degree + 1)
        }
        blocks = {
            (e, f): np.zeros((count, len(groups[e]), len(groups[f])))
            for (e, f), count in needed.items()
        }
        tails = self._tails(X)
        XT, tailsT = np.ascontiguousarray(X.T), np.ascontiguousarray(tails.T)
        step = max(1, _MOMENT_BYTES // (8 * max(1, s) * n_moments))
        for first in range(0, s, step):
            part = slice(first, min(first + step, s))
            T = np.empty((n_moments, part.stop - first, s))
            moment_rows(X[part], tails[part], XT, tailsT, steps, self.upper, T)
            for f, columns in enumerate(groups):
                right = T[: needed[0, f]] @ B[:, columns]
                for e, rows in enumerate(groups):
                    blocks[e, f] += B[part, rows].T @ right[: needed[e, f]]

        delta, gamma = self._monomials.T
        place = np.concatenate([np.arange(len(group)) for group in groups])
        M = np.empty((len(delta), len(delta)))
        for (e, f), block in blocks.items():
            i = np.flatnonzero(x_degree[delta] == e)
            j = np.flatnonzero(x_degree[delta] == f)
            M[np.ix_(i, j)] = block[
                table[np.ix_(gamma[i], gamma[j])], place[delta[i], None], place[delta[j]]
            ]
        return 0.5 * (M + M.T)

    def _tails(self, X: Array) -> Array:
        return np.clip((self.upper - X) / (1.0 + 2.0 * self.delta), 0.0, 1.0)

    def _point_moments(self, X: Array) -> Array:
        """Return the moments on the boxes [x, b], one row a point."""
        steps = self._moments[0]
        out = np.ones((len(X), len(steps)))
        for tail in self._tails(X).T:
            out[:, 0] *= tail
        for zeta, (parent, k, e) in enumerate(steps[1:], start=1):
            total = np.ones(len(X))  # as in kernelfit.kernels.tessellated.power_mean
            for power in range(1, e + 1):
                total = total * X[:, k] + self.upper**power
            out[:, zeta] = out[:, parent] * total / (e + 1.0)
        return out

    @cached_property
    def _box_moments(self) -> Array:
        """The moments on the whole box."""
        return np.asarray(self._point_moments(np.full((1, self.n), -self.delta))[0])
