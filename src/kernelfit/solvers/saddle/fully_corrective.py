r"""The fully corrective saddle-point solver.

Directions v_1 .. v_k are collected, each the top eigenvector of D for some dual solution, and P is
optimised over all of their span, P = V S V' with S positive semidefinite of trace n; that includes
the mixtures of the rank-one atoms n v v'. The span grows where its best response is not the best of
all. Small problems start with all directions.

Over the span this is a proximal method of multipliers in S with Newton steps in beta. For a centre
M and a weight rho, the proximal problem has the smooth dual

    max over beta   kappa(beta) - psi(V'D(beta)V),
    psi(G) = max over S   1/2 <G, S> - rho/2 ||S - M||^2,

where the maximiser S is the projection of A = M + G / (2 rho): its eigenvalues a, with eigenvectors
q, are shifted and cut at 0, which leaves r positive ones. The second-order model in beta adds to
the kernel matrix K_S one of low rank: with w_jl the vector of all q_j'W_i q_l and Omega_jl the
divided differences of the cut,

    1/rho [ sum_jl Omega_jl w_jl w_jl'  -  1/r (sum_j w_jj) (sum_j w_jj)' ],

the last sums over the positive ones alone. So the model is again the dual problem of a support
vector machine. Its solution gives the direction of an exact line search, along which D is
quadratic and costs nothing.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from kernelfit.linalg.symmetric import SymmetricMatrix, project_simplex, spectral_factor
from kernelfit.solvers.result import FloatArray
from kernelfit.solvers.saddle.line_search import falling_root, follow
from kernelfit.solvers.saddle.problem import Array, SaddleProblem, SaddleSolver, first_pair
from kernelfit.solvers.saddle.progress import Pair, Progress

# Up to this many directions are added at a time.
_NEW_DIRECTIONS = 4
# rho as a fraction of lambda_max(D) / (2 n): at first, at most and at least. The smaller, the fewer
# steps; but several tasks are coupled by 1 / rho, and are trained one after the other.
_WEIGHT, _MAX_WEIGHT, _MIN_WEIGHT, _MIN_COUPLED = 0.7, 2.0, 3e-3, 0.5
_FULL_STEP, _SHORT_STEP = 0.9, 0.3
_FLAT = 1e-13  # of the objective: what a slope is off by rounding


def fully_corrective_steps(
    problem: SaddleProblem, progress: Progress, start: tuple[Array, Any] | None
) -> Iterator[Pair]:
    """Yield the pairs of Newton steps over the span of collected directions.

    Parameters
    ----------
    problem : SaddleProblem
    progress : Progress
    start : (beta, U) or None

    Yields
    ------
    Pair
    """
    family: Any = problem.family
    pair = first_pair(problem, progress, start, lambda response: response.broad)
    yield pair
    beta, U, response = pair.beta, pair.theta, pair.response
    n, V = family.size, response.directions
    if V.shape[1] < n:
        V = np.linalg.qr(np.hstack([U, _beyond(U, V)]))[0]
    centre = (V.T @ U) @ (U.T @ V)
    weight, least = _WEIGHT, _MIN_WEIGHT if len(beta) == 1 else _MIN_COUPLED
    while True:
        G = response.D.restrict(V)
        top = float(np.linalg.eigvalsh(G)[-1])
        if top <= 0.0:
            return
        model = _Proximal(centre, 0.5 * weight * top / n)
        cut = model.cut(G)
        theta, update = model.quadratic(response, V, cut)
        direction = problem.train(theta, beta, progress.model_tol, update=update)
        other = family.respond(direction)
        ends = G, response.form(direction).restrict(V), other.D.restrict(V)
        t, cut = _line_search(problem, model, beta, direction, ends, cut)
        beta = (1.0 - t) * beta + t * direction
        response = other if t == 1.0 else response.mix(other, t)
        if t >= _FULL_STEP:
            centre, weight = (cut.vectors * cut.kept) @ cut.vectors.T, max(0.4 * weight, least)
        elif t <= _SHORT_STEP:
            weight = min(2.0 * weight, _MAX_WEIGHT)
        yield Pair(beta, spectral_factor(cut.kept, V @ cut.vectors), response)
        if V.shape[1] < n:
            V, centre = _grow(V, centre, response.D, 0.1 * progress.gap)


class _Cut(NamedTuple):
    """A, by its eigenvalues a and eigenvectors q, and the eigenvalues of S, its projection."""

    values: FloatArray
    vectors: FloatArray
    kept: FloatArray


class _Proximal:
    """psi for one centre and weight; see the module's head."""

    def __init__(self, centre: Array, rho: float) -> None:
        self.centre, self.rho, self.trace = centre, rho, float(np.trace(centre))

    def cut(self, G: Array) -> _Cut:
        """Return A and S."""
        a, Q = np.linalg.eigh(self.centre + G / (2.0 * self.rho))
        return _Cut(a, Q, project_simplex(a, self.trace))

    def quadratic(self, response: Any, V: Array, cut: _Cut) -> tuple[FloatArray, FloatArray | None]:
        """Return the second-order model at beta: the root of its kernel, and what it adds to that.

        For `SaddleProblem.train`.
        """
        a, Q, s = cut
        positive = np.flatnonzero(s > 0.0)
        w = response.contract(V @ Q, V @ Q[:, positive])
        # Eigenvalues ascend: i below j, positive or not.
        i, place = np.nonzero(np.arange(len(s))[:, None] < positive)
        j = positive[place]
        rise = a[j] - a[i]
        omega = np.divide(s[j] - s[i], rise, out=np.ones_like(rise), where=rise > 0.0)
        columns = np.sqrt(2.0 * omega) * w[..., i, place]
        if len(positive) > 1:
            diagonal = w[..., positive, np.arange(len(positive))]
            centred = diagonal - diagonal.mean(axis=-1, keepdims=True)
            columns = np.concatenate([columns, centred], axis=-1)
        update = np.sqrt(1.0 / self.rho) * columns if columns.shape[-1] else None
        return V @ (Q[:, positive] * np.sqrt(s[positive])), update


def _line_search(
    problem: SaddleProblem,
    model: _Proximal,
    beta: Array,
    direction: Array,
    ends: tuple[Array, Array, Array],
    cut: _Cut,
) -> tuple[float, _Cut]:
    """Maximise the proximal dual on the segment, where D is quadratic in the position t.

    Return t and the cut there; `cut` is that at 0.
    """
    first, middle, last = ends
    move = direction - beta
    cuts = {0.0: cut}

    def cut_at(t: float) -> _Cut:
        if t not in cuts:
            G = (1.0 - t) ** 2 * first + 2.0 * t * (1.0 - t) * middle + t**2 * last
            cuts[t] = model.cut(G)
        return cuts[t]

    def slope(t: float) -> float:
        _, vectors, kept = cut_at(t)
        change = -2.0 * (1.0 - t) * first + (2.0 - 4.0 * t) * middle + 2.0 * t * last
        energy = 0.5 * float(np.sum(((vectors * kept) @ vectors.T) * change))
        here = beta + t * move
        pairs = zip(problem.tasks, here, move, strict=True)
        return sum(task.kappa_slope(b, m) for task, b, m in pairs) - energy

    rate = slope(0.0)
    if rate > 0.0:
        t = follow(falling_root(rate), slope)
    else:
        # Near the optimum the slope is rounding error of either sign, and the model knows better.
        t = 1.0 if rate >= -_FLAT * abs(problem.kappa(beta)) else 0.0
    return t, cut_at(t)


def _grow(V: Array, centre: Array, D: SymmetricMatrix, allowed: float) -> tuple[Array, Array]:
    """Add the top eigenvectors of D to the span where it loses more than allowed of the bound."""
    best = float(np.linalg.eigvalsh(D.restrict(V))[-1])
    values, vectors = D.leading(_NEW_DIRECTIONS)
    if 0.5 * len(V) * (values[0] - best) <= allowed:
        return V, centre
    Q = _beyond(V, vectors)
    k = V.shape[1]
    larger = np.zeros((k + Q.shape[1],) * 2)
    larger[:k, :k] = centre
    return np.hstack([V, Q]), larger


def _beyond(V: Array, new: Array) -> Array:
    """Return an orthonormal basis of what the new directions add to the span of V."""
    V = np.linalg.qr(V)[0]
    Q, sizes, _ = np.linalg.svd(new - V @ (V.T @ new), full_matrices=False)
    Q = Q[:, sizes > 1e-6]
    return np.asarray(np.linalg.qr(Q - V @ (V.T @ Q))[0])


FULLY_CORRECTIVE = SaddleSolver(
    "fully_corrective", fully_corrective_steps, needs=("initial", "size")
)
