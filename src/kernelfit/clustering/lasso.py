"""Every point as a sparse combination of atoms with an l1 penalty: the lasso, to its optimum.

Coordinate descent stalls where few columns make the Gram matrix of the atoms ill-conditioned. Here
the signs of the coefficients are searched: given them, the coefficients solve linear equations.

References
----------
.. [1] H. Lee, A. Battle, R. Raina, A. Y. Ng. "Efficient sparse coding algorithms". Advances in
   Neural Information Processing Systems 19 (2007).
"""

import math

import numpy as np
from numpy.typing import NDArray

from kernelfit.clustering.self_representation import unit_rows
from kernelfit.kernels.distances import Array
from kernelfit.utils.jit import inner, jit

_NOTHING = 1e-13  # correlations of unit vectors below it are rounding: such points are orthogonal
_TOL = 1e-10  # of the optimality conditions, as a share of lambda
_ROUNDING = 1e-15  # of products of unit vectors, where lambda is so small that it counts
_TIE = 1e-10  # correlations that differ by less may differ by rounding alone: the first counts
_RIDGE = 1e-12  # keeps the normal equations of dependent atoms regular
_BATCH = 8  # with that many active atoms two may join at a time, with twice as many three
_ROUNDS = 50  # for an atom that can be active, where four are enough as a rule


def lasso_representation(
    X: Array,
    atoms: Array,
    ratio: float,
    *,
    exclude_self: bool,
    penalty: float | None = None,
    errors: bool = False,
) -> Array:
    r"""Represent the rows of X by the atoms with an l1 penalty, by feature-sign search.

    .. math:: \min_c \tfrac12 \|x - \sum_j c_j a_j\|^2 + \lambda_x \|c\|_1, \qquad
        \lambda_x = \mathrm{ratio} \cdot \max_j |x'a_j|

    for points and atoms of unit length, up to rounding. The Gram matrix of the atoms is held in
    memory. Of parallel atoms the first is used.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    atoms : ndarray of shape (n, d)
    ratio : float
        In (0, 1): the larger, the sparser; at 1 every coefficient is zero.
    exclude_self : bool
        Whether X is `atoms` and no point may represent itself.
    penalty : float, default=None
        Lambda of all points, instead of the ratio.
    errors : bool, default=False
        Whether the unit vectors are atoms, too, whose coefficients are the errors of single
        features. They are left out of the result.

    Returns
    -------
    ndarray of shape (m, n)

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.clustering.lasso import lasso_representation
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0.6, 0.8, 0], [0, 0, 1]])
    >>> lasso_representation(X, X, 0.1, exclude_self=True)[2].round(6)
    array([0.52, 0.72, 0.  , 0.  ])
    """
    X, atoms = unit_rows(X), unit_rows(atoms)
    n = len(atoms)
    if errors:
        atoms = np.concatenate((atoms, np.eye(X.shape[1])))
    gram = atoms @ atoms.T
    correlations = gram[:n] if exclude_self else X @ atoms.T
    coefs = np.zeros(correlations.shape)
    # More active atoms than dimensions are dependent: some leave at once, but for rounding.
    most_active = min(len(atoms), 2 * X.shape[1] + 2)
    given = 0.0 if penalty is None else penalty
    _search_signs(gram, correlations, coefs, ratio, given, exclude_self, most_active)
    return coefs[:, :n]


@jit(fastmath={"reassoc", "nsz"})  # sums in any order
def _search_signs(
    gram: Array,
    correlations: Array,
    coefs: Array,
    ratio: float,
    penalty: float,
    exclude_self: bool,
    most_active: int,
) -> None:
    """Find the signs of one point after the other, and with them its coefficients.

    In every round the atom joins whose correlation with what is left of the point exceeds lambda
    most; where many are active, some others with it. The coefficients then move to the optimum for
    their signs. The first one on the way that would change its sign leaves, and the others move
    on: the objective falls all the way, so no signs come back. At the end no correlation exceeds
    lambda.
    """
    m, n = correlations.shape
    left = np.empty(n)  # a_j'(x - sum of c_k a_k)
    active = np.empty(n, dtype=np.intp)
    signs, slope, move = np.empty(n), np.empty(n), np.empty(n)
    L = np.empty((most_active, most_active))  # the Cholesky factor of the active atoms' Gram matrix
    for i in range(m):
        c = coefs[i]
        a = 0
        threshold = penalty
        for _ in range(_ROUNDS * most_active):
            for j in range(n):
                left[j] = correlations[i, j]
            for k in range(a):
                weight, row = c[active[k]], gram[active[k]]
                for j in range(n):
                    left[j] -= weight * row[j]
            if exclude_self:
                left[i] = 0.0
            gap = 0.0  # of the conditions |left| = threshold for active atoms
            for k in range(a):
                slope[k] = left[active[k]] - threshold * signs[k]
                gap = max(gap, abs(slope[k]))
                left[active[k]] = 0.0
            worst = 0.0
            for j in range(n):
                if abs(left[j]) > worst:
                    worst = abs(left[j])
            if threshold == 0.0:
                threshold = ratio * worst
                if worst <= _NOTHING:
                    break
            tol = _TOL * threshold + _ROUNDING
            known = a
            if worst > threshold + 10.0 * tol:
                first = 0
                while abs(left[first]) < worst * (1.0 - _TIE):
                    first += 1
                enough = 0.5 * (threshold + worst)
                room = min(most_active, a + 1 + a // _BATCH)
                for k in range(-1, n):
                    if a == room:
                        break
                    j = first if k < 0 else k
                    if abs(left[j]) >= enough and not _is_parallel(gram[j], active, known, a):
                        active[a], signs[a] = j, math.copysign(1.0, left[j])
                        slope[a] = left[j] - threshold * signs[a]
                        a += 1
            if a > known:
                _append(gram, active, known, a, L)
            elif gap <= tol:
                break
            a = _move(active, signs, slope, move, c, L, a)


@inner(forceinline=True)
def _is_parallel(row: Array, active: NDArray[np.intp], start: int, a: int) -> bool:
    """Tell whether an atom, given by its row of the Gram matrix, is parallel to one that joins."""
    for k in range(start, a):
        if abs(row[active[k]]) > 1.0 - _TIE:
            return True
    return False


@inner(forceinline=True)
def _move(
    active: NDArray[np.intp],
    signs: Array,
    slope: Array,
    move: Array,
    c: Array,
    L: Array,
    a: int,
) -> int:
    """Move to the optimum for the signs, without those that would change; return how many stay."""
    while a > 0:
        for k in range(a):
            total = slope[k]
            for p in range(k):
                total -= L[k, p] * move[p]
            move[k] = total / L[k, k]
        for k in range(a - 1, -1, -1):
            move[k] /= L[k, k]
            for p in range(k):
                move[p] -= L[k, p] * move[k]
        part, first = 1.0, -1  # of the move up to the first change of a sign
        for k in range(a):
            room = abs(c[active[k]])
            if signs[k] * move[k] < 0.0 and part * abs(move[k]) >= room:
                part, first = room / abs(move[k]), k
        for k in range(a):
            step = part * move[k]
            c[active[k]] += step
            slope[k] = (1.0 - part) * slope[k] + _RIDGE * step  # the ridge is in L alone
        if first < 0:
            break
        c[active[first]] = 0.0
        a -= 1
        for k in range(first, a):
            active[k], signs[k], slope[k] = active[k + 1], signs[k + 1], slope[k + 1]
        _drop(L, first, a)
    return a


@inner(forceinline=True)
def _append(gram: Array, active: NDArray[np.intp], start: int, a: int, L: Array) -> None:
    """Compute the rows of the factor from `start` on."""
    for k in range(start, a):
        row = gram[active[k]]
        for p in range(k + 1):
            total = row[active[p]]
            for q in range(p):
                total -= L[k, q] * L[p, q]
            if p < k:
                L[k, p] = total / L[p, p]
            else:
                L[k, k] = math.sqrt(max(total, 0.0) + _RIDGE)


@inner(forceinline=True)
def _drop(L: Array, first: int, a: int) -> None:
    """Take one atom out of the factor of a + 1, in place."""
    for k in range(first, a):
        for p in range(k + 2):
            L[k, p] = L[k + 1, p]
    # Each later row has an entry right of the diagonal. A rotation of two columns makes it vanish.
    for k in range(first, a):
        x, y = L[k, k], L[k, k + 1]
        size = math.sqrt(x * x + y * y)
        x, y = x / size, y / size
        for p in range(k, a):
            here, beside = L[p, k], L[p, k + 1]
            L[p, k] = x * here + y * beside
            L[p, k + 1] = x * beside - y * here
