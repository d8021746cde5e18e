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

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelfit.families.psd.box_points import BoxFunctions, BoxPoints, IdentityFunctions
from kernelfit.families.psd.box_response import MOMENT_BYTES, BoxResponse
from kernelfit.kernels.monomials import (
    Array,
    IntArray,
    count,
    exponents,
    monomials,
    ordered_product,
)
from kernelfit.kernels.tessellated import (
    even_moments,
    fill_constant,
    fill_linear,
    fill_polynomial,
    fill_quadratic,
    mirror,
    moment_rows,
    volume_rows,
)

_SECONDS = 2e-9  # for one moment of one pair of points
_ROWS = 64  # of a Gram matrix computed before they are mirrored


@dataclass(frozen=True)
class TessellatedBasis:
    """The tessellated basis on the unit cube.

    Parameters
    ----------
    n : int
        Number of features.
    degree : int
        Of the monomials.
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
        with np.errstate(over="ignore"):
            return float(np.float64(1.0 + 2.0 * self.delta) ** self.n)

    @property
    def size(self) -> int:
        """The order n_P of the matrix P."""
        return 2 * count(self.n if self.variables == "x" else 2 * self.n, self.degree)

    def memory(self, m: int) -> int:
        """Return about how many bytes training on m points needs besides K and P."""
        degrees = range(self.z_degree + 1)
        # The rows of a BoxResponse, two of which are mixed into a third.
        members = [count(self.n, e) - count(self.n, e - 1) for e in degrees]
        members = members if self.z_degree else [count(self.n, self.degree)]
        both = sum(k * count(self.n, 2 * self.z_degree - e) for e, k in enumerate(members))
        return 8 * 3 * m * both

    def seconds(self, m: int) -> float:
        """Return about how long the response to a dual solution of m points takes."""
        return _SECONDS * m**2 * count(self.n, 2 * self.z_degree)

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

    def points(self, X: Array | BoxPoints) -> BoxPoints:
        """Return points with what functions and responses need of them, computed once."""
        if isinstance(X, BoxPoints):
            return X
        X = self.clip(X)
        return BoxPoints(X, self._tails(X), monomials(X, self._x_powers), self._point_moments(X))

    @cached_property
    def _legendre_steps(self) -> IntArray:
        """How the coefficients of a polynomial in z become those of Legendre polynomials.

        Coordinate by coordinate and in place: those of a low degree first, from which no others
        are made.
        """
        powers, steps = self._z_powers, []
        index = {tuple(power): i for i, power in enumerate(powers)}
        for k in range(self.n):
            for to in np.argsort(powers[:, k], kind="stable"):
                j = powers[to, k]
                for e in range(j, self.z_degree - powers[to].sum() + j + 1):
                    source = index[(*powers[to, :k], e, *powers[to, k + 1 :])]
                    if e:
                        steps.append((to, source, k, e * (e + 1) // 2 - 1 + j))
        return np.array(steps, dtype=np.intp).reshape(-1, 4)

    def _even_moments(self, rows: Array, columns: Array) -> Array:
        out = np.empty((self.z_degree + 1, len(rows), len(columns)))
        XT, tailsT = (np.ascontiguousarray(A.T) for A in (columns, self._tails(columns)))
        even_moments(rows, self._tails(rows), XT, tailsT, self.upper, out)
        return out

    def _identity(self, points: BoxPoints, factor: float) -> IdentityFunctions:
        corner = np.full((1, self.n), -self.delta)
        even = np.ascontiguousarray(self._even_moments(points.X, corner)[:, :, 0].T)
        return IdentityFunctions(points.X, points.tails, points.Z, even, factor)

    def _fill_identity(
        self, rows: IdentityFunctions, columns: IdentityFunctions, start: int, out: Array
    ) -> None:
        """Write sum_e T_e(x, y) S_(d-e)(x, y), S_k the sum of (x y)^delta of degree at most k.

        T_e is the integral of all z^(2 gamma) of degree e where z is above both points or neither.
        """
        columns = columns.take(slice(start, None))
        corner = np.full((1, self.n), -self.delta)
        both = self._even_moments(rows.X, columns.X)
        box = self._even_moments(corner, corner)[:, 0, 0]
        out[:, start:] = 0.0
        for e, T in enumerate(both):
            q = count(self.n, self.z_degree - e)
            T = 2.0 * T - rows.even[:, e, None] - columns.even[:, e] + box[e]
            out[:, start:] += rows.factor * T * (rows.Z[:, :q] @ columns.Z[:, :q].T)

    def functions(self, X: Array | BoxPoints, U: Array | float) -> BoxFunctions | IdentityFunctions:
        """Return the functions of a factor at some points.

        Parameters
        ----------
        X : ndarray of shape (m, n) or BoxPoints
        U : ndarray of shape (n_P, r) or float
            A number is that multiple of the identity.

        Returns
        -------
        BoxFunctions or IdentityFunctions
        """
        points = self.points(X)
        if isinstance(U, float):
            if self.z_degree:
                return self._identity(points, U**2)
            U = U * np.eye(self.size)
        m, r, n_z = len(points.X), U.shape[1], len(self._z_powers)
        q = len(self._monomials)
        delta, gamma = self._monomials.T
        # As polynomials in z, f and g have n_z coefficients that are polynomials in x.
        coefficients = np.zeros((2, len(self._x_powers), r, n_z))
        coefficients[0, delta, :, gamma] = U[q:]
        coefficients[1, delta, :, gamma] = U[:q] - U[q:]
        F, G = (
            ordered_product(points.Z, c.reshape(len(c), -1)).reshape(m, r, n_z)
            for c in coefficients
        )
        above, everywhere = points.moments, self._box_moments
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
        elif self.z_degree:
            slope = G
        return BoxFunctions(
            X=points.X,
            tails=points.tails,
            g=np.ascontiguousarray(G[:, :, 0]),
            slope=np.ascontiguousarray(slope),
            Q=Q,
            H=H.reshape(m, r * n_z),
            F=F.reshape(m, r * n_z),
        )

    def fill(self, rows: Any, columns: Any, start: int, out: Array) -> None:
        """Write the kernel between points, from the column `start` on, into out."""
        if isinstance(rows, IdentityFunctions):
            self._fill_identity(rows, columns, start, out)
            return
        XT, tailsT, gT, HT, FT = columns.columns
        if self.z_degree == 0:
            fill_constant(rows.tails, rows.g, rows.H, rows.F, tailsT, gT, HT, FT, start, out)
        elif self.z_degree == 1:
            fill_linear(
                rows.X, rows.tails, rows.g, rows.slope, rows.H, rows.F,
                XT, tailsT, gT, HT, FT, self.upper, start, out,
            )  # fmt: skip
        elif self.z_degree == 2:
            fill_quadratic(
                rows.X, rows.tails, rows.g, rows.slope, rows.Q, rows.H, rows.F,
                XT, tailsT, gT, columns.slope_columns, HT, FT, self.upper, start, out,
            )  # fmt: skip
        else:
            fill_polynomial(
                rows.X, rows.tails, rows.slope, rows.H, rows.F,
                XT, tailsT, columns.slope_columns, HT, FT,
                self._legendre_steps, self.z_degree, self.upper, start, out,
            )  # fmt: skip

    def identity_diagonal(self, X: Array) -> Array:
        """Return k(x, x) for P = I, the mean of Z(z, x)'Z(z, x) over the box."""
        X = self.clip(X)
        delta, gamma = self._monomials.T
        squares = monomials(X, 2 * self._x_powers)[:, delta]
        same = np.diagonal(self._moments[2])[gamma]
        return np.asarray(squares @ self._box_moments[same])

    @cached_property
    def _pair_moments(self) -> tuple[list[tuple[int, IntArray]], IntArray]:
        """Which moments are needed with which monomials of the second point, and where they are.

        For monomials of degree e in the second point the moments are needed up to degree 2d - e in
        z. The table says where those of a gamma (rows) with a monomial of Z (columns) are found.
        """
        _, degrees, table = self._moments
        x_degree = self._x_powers.sum(axis=1)
        top = 2 * self.z_degree
        delta, gamma = self._monomials.T
        groups, start = [], 0
        place = np.zeros((len(self._z_powers), len(delta)), dtype=np.intp)
        # Without z there is one moment, and one group will do.
        for e in range(self.z_degree + 1):
            members = np.flatnonzero((x_degree == e) | (top == 0))
            needed = int(np.count_nonzero(degrees <= top - e))
            groups.append((needed, members))
            columns = np.flatnonzero(np.isin(delta, members))
            rank = np.searchsorted(members, delta[columns])
            place[:, columns] = start + table[:, gamma[columns]] * len(members) + rank
            start += needed * len(members)
        return groups, place

    def volumes(self, X: Array) -> Array:
        """Return V between all points, the volumes of the boxes above two of them."""
        tails = self._tails(self.clip(X))
        tailsT = np.ascontiguousarray(tails.T)
        V = np.empty((len(X), len(X)))
        for first in range(0, len(X), _ROWS):
            last = min(first + _ROWS, len(X))
            volume_rows(tails[first:last], tailsT, first, V[first:last])
            mirror(V, first, last)
        return V

    def response(
        self,
        rows: Array | BoxPoints,
        X: Array | BoxPoints,
        beta: Array,
        volumes: Array | None = None,
    ) -> BoxResponse:
        """Return how the decision values at the rows depend on P, for the dual solution beta.

        Parameters
        ----------
        rows : ndarray of shape (m, n) or BoxPoints
        X : ndarray of shape (s, n) or BoxPoints
        beta : ndarray of shape (s,)
        volumes : ndarray of shape (s, m), default=None
            V between X and the rows, for monomials without z; computed when None.

        Returns
        -------
        BoxResponse
        """
        rows, X = self.points(rows), self.points(X)
        B = beta[:, None] * X.Z
        both = self._sums(rows, X, B) if volumes is None else (B.T @ volumes).T
        return BoxResponse(
            basis=self,
            Z=rows.Z,
            both=both,
            first=rows.moments,
            second=B.T @ X.moments,
            total=B.sum(axis=0),
        )

    def _sums(self, rows: BoxPoints, X: BoxPoints, B: Array) -> Array:
        """Return the sums over the second points of B times moments above both points."""
        groups, _ = self._pair_moments
        steps = self._moments[0]
        XT, tailsT = np.ascontiguousarray(X.X.T), np.ascontiguousarray(X.tails.T)
        m, s, n_moments = len(rows.X), len(X.X), len(steps)
        both = np.empty((m, sum(needed * len(members) for needed, members in groups)))
        size = min(m, max(1, MOMENT_BYTES // (8 * max(1, s) * n_moments)))
        room = np.empty(n_moments * size * s)
        for first in range(0, m, size):
            part = slice(first, min(first + size, m))
            shape = (n_moments, part.stop - first, s)
            T = room[: n_moments * shape[1] * s].reshape(shape)
            moment_rows(rows.X[part], rows.tails[part], XT, tailsT, steps, self.upper, T)
            start = 0
            for needed, members in groups:
                product = np.moveaxis(T[:needed] @ B[:, members], 0, 1)
                stop = start + needed * len(members)
                both[part, start:stop] = product.reshape(len(product), -1)
                start = stop
        return both

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
