r"""Majorised Newton steps for the saddle problem of an entrywise kernel factor.

The energy's Hessian at beta is majorised by a matrix Q: first ``(Theta + Gamma) o K + diag(D)``,
which is the Hessian for DANK without a nuclear norm and whose rows can be computed on demand; where
steps with it gain too little, a dearer matrix that is the Hessian for KNPL and nearly so with the
nuclear norm (:meth:`kernelfit.families.adaptive.LowRankResponse.curvature`). The quadratic model
with Q is an SVM dual, solved from beta; the step goes to the maximum of h on the segment towards
its solution.

The energy is quartic in beta: where K has low rank or the nuclear norm leaves no factor, Q says
nothing of the curvature that a long step meets. As much as a step met beyond Q is added to the
diagonal of the next Q, in the metric ``diag(K) / w``, and taken back by full steps.
"""

from collections.abc import Iterator

import numpy as np

from kernelfit.families.hadamard import Indices, Response
from kernelfit.learners.saddle import SaddleProblem, falling_root
from kernelfit.solvers.gram import DenseGram, RowGram
from kernelfit.solvers.quartic_dual import solve_quartic_dual
from kernelfit.solvers.result import FloatArray
from kernelfit.solvers.svm_dual import solve_svm_dual

# The model is solved to this fraction of the present gap, unless rounding prevents it.
_INNER_ACCURACY = 0.01
_INNER_ROUNDS = 30
# A full step that leaves at most this fraction of the gap is taken as it is.
_ENOUGH = 0.8
# Objectives that differ by this fraction count as equal.
_ROUNDOFF = 1e-11
# What a full step leaves of the damping.
_RELAXATION = 0.1
# Steps that leave more than this fraction of the gap call for the tighter bound on the Hessian.
_SLOW = 0.4
# Up to this order the tighter bound, some products of n x n matrices, pays.
_MAX_TIGHT = 5000
_CACHE_BYTES = 2**28
_CHUNK = 64
_START_ACCURACY = 1e-3


def newton_steps(problem: SaddleProblem, beta: FloatArray) -> Iterator[Response]:
    """Yield the responses to a point not worse than beta and to those of the Newton steps from it.

    Parameters
    ----------
    problem : SaddleProblem
    beta : ndarray of shape (n,)
        A feasible point, such as the solution of the machine with kernel K.

    Yields
    ------
    Response
    """
    response = _start(problem, beta)
    metric = problem.gram.diagonal() / problem.family.weight
    previous, tight, damping, space = np.inf, False, 0.0, None
    while True:
        yield response
        beta = response.beta
        gap = problem.gap(response)[0]
        tight = tight or gap > _SLOW * previous
        previous = gap
        if space is None and problem.gram.matrix is not None:
            space = np.empty((len(beta), len(beta)))  # once: its pages are costly at first touch
        Q = _curvature(problem, response, tight, damping * metric, space)
        linear = problem.p - response.decision + Q.exact_decision(beta)
        if not np.isfinite(linear).all():  # overflow where eta is tiny
            return
        value = float(linear @ beta) - problem.epsilon * float(np.abs(beta).sum())
        value -= 0.5 * float(beta @ Q.exact_decision(beta))
        model = solve_svm_dual(
            Q,
            linear,
            problem.lower,
            problem.upper,
            epsilon=problem.epsilon,
            fit_intercept=problem.fit_intercept,
            tol=min(max(_INNER_ACCURACY * gap / max(abs(value), gap), 1e-15), 1e-2),
            max_iter=_INNER_ROUNDS,
            warm_start=beta,
            assume_psd=True,
        )
        full = problem.respond(model.x)
        objective = problem.objective(response)
        rises = problem.objective(full) >= objective - _ROUNDOFF * abs(objective)
        if rises and problem.gap(full)[0] <= _ENOUGH * gap:
            response, length = full, 1.0
        else:
            rate, length, response = _line_search(problem, response, full)
        if length == 0.0:  # rounding hides what is left to gain
            return
        if length == 1.0:
            damping *= _RELAXATION
        else:  # the mean curvature that the search met, beyond that of the model
            move = model.x - beta
            damping += (1.0 / length - 1.0) * rate / float(move @ (metric * move))


def _start(problem: SaddleProblem, beta: FloatArray) -> Response:
    """Return the response to beta, or to the solution of DANK with tau = 0 where its gap is less.

    The quartic solver finds that at about the cost of a plain machine. It saves most of the steps,
    unless tau is so large that no adaptation is left.
    """
    given = problem.respond(beta)
    gap = problem.gap(given)[0]
    if gap <= _START_ACCURACY * abs(problem.objective(given)):
        return given
    smooth = solve_quartic_dual(
        problem.gram,
        problem.p,
        problem.lower,
        problem.upper,
        problem.family.eta,
        weight=problem.family.weight,
        epsilon=problem.epsilon,
        fit_intercept=problem.fit_intercept,
        tol=_START_ACCURACY,
        warm_start=beta,
        assume_psd=True,
    )
    other = problem.respond(smooth.x)
    return other if problem.gap(other)[0] < gap else given


def _curvature(
    problem: SaddleProblem,
    response: Response,
    tight: bool,
    damping: FloatArray,
    space: FloatArray | None,
) -> DenseGram | RowGram:
    """Return Q, damped on its diagonal; rows on demand unless there is space for all of it."""
    gram = problem.gram
    ridge = response.ridge(gram)
    if tight and gram.n <= _MAX_TIGHT:
        K = gram.block(np.arange(gram.n), exact=True) if gram.matrix is None else gram.matrix
        Q = response.curvature(K, ridge)
        Q[np.diag_indices_from(Q)] += damping
        return DenseGram(Q)
    ridge += damping
    if gram.matrix is not None and space is not None:
        for first in range(0, gram.n, _CHUNK):  # so that what is passing stays in cache
            idx = np.arange(first, min(first + _CHUNK, gram.n))
            space[idx] = response.curvature_rows(idx, gram.matrix[idx], ridge)
        return DenseGram(space)

    def rows(idx: Indices) -> FloatArray:
        K = np.empty((len(idx), gram.n))
        for positions, source, places in gram.parts(idx, exact=True):
            K[positions] = source[places]
        return response.curvature_rows(idx, K, ridge)

    diagonal = response.curvature_diagonal(gram.diagonal(), ridge)
    return RowGram(rows, diagonal, _CACHE_BYTES, np.float64)


def _line_search(
    problem: SaddleProblem, start: Response, end: Response
) -> tuple[float, float, Response]:
    """Return the rate at which h rises at the start, and where on the segment it is largest.

    Returns
    -------
    rate : float
    length : float
        Of the way to the end; 0 where h does not rise.
    response : Response
    """
    direction = end.beta - start.beta
    length, current = 0.0, start

    def slope(t: float) -> float:
        nonlocal length, current
        length = t
        if t == 1.0:
            current = end
        elif t > 0.0:
            current = problem.respond(start.beta + t * direction)
        rate = float((problem.p - current.decision) @ direction)
        if problem.epsilon > 0.0:
            sign = np.where(current.beta != 0.0, np.sign(current.beta), np.sign(direction))
            rate -= problem.epsilon * float(sign @ direction)
        return rate

    rate = slope(0.0)
    if rate > 0.0:
        falling_root(slope, rate)
    return rate, length, current
