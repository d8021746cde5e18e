r"""Majorised Newton steps for the saddle problem of an entrywise kernel factor.

The energy's Hessian at beta is majorised by a matrix Q: the Hessian itself for KNPL and for DANK
without a nuclear norm, nearly that with one
(:meth:`kernelfit.families.adaptive.LowRankResponse.curvature`), and for large problems
``(Theta + Gamma) o K + diag(D)``, whose rows can be computed on demand. The quadratic model with Q
is an SVM dual, solved from beta; the step goes to the maximum of h on the segment towards its
solution.
"""

from collections.abc import Iterator

import numpy as np

from kernelfit.families.hadamard import Indices, Response
from kernelfit.learners.saddle import SaddleProblem, falling_root
from kernelfit.solvers.gram import DenseGram, RowGram
from kernelfit.solvers.result import FloatArray
from kernelfit.solvers.svm_dual import solve_svm_dual

# The model is solved to this fraction of the present gap.
_INNER_ACCURACY = 0.01
# A full step that leaves at most this fraction of the gap is taken as it is.
_ENOUGH = 0.8
# Up to this order the tighter bound on the Hessian, some products of n x n matrices, pays.
_MAX_TIGHT = 3000
_CACHE_BYTES = 2**28


def newton_steps(problem: SaddleProblem, beta: FloatArray) -> Iterator[Response]:
    """Yield the responses to beta and to the points of the Newton steps from it."""
    response = problem.respond(beta)
    while True:
        yield response
        beta = response.beta
        gap = problem.gap(response)[0]
        Q = _curvature(problem, response)
        linear = problem.p - response.decision + Q.exact_decision(beta)
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
            warm_start=beta,
            assume_psd=True,
        )
        full = problem.respond(model.x)
        if problem.gap(full)[0] <= _ENOUGH * gap:
            response = full
        else:
            response = _line_search(problem, response, full)
            if response.beta is beta:  # rounding hides what is left to gain
                return


def _curvature(problem: SaddleProblem, response: Response) -> DenseGram | RowGram:
    gram = problem.gram
    ridge = response.ridge(gram)
    if gram.n <= _MAX_TIGHT:
        K = gram.block(np.arange(gram.n)) if gram.matrix is None else gram.matrix
        return DenseGram(response.curvature(K, ridge))
    if gram.matrix is not None:
        everything = np.arange(gram.n)
        return DenseGram(response.curvature_rows(everything, gram.matrix, ridge))

    def rows(idx: Indices) -> FloatArray:
        K = np.empty((len(idx), gram.n))
        for positions, source, places in gram.parts(idx, exact=True):
            K[positions] = source[places]
        return response.curvature_rows(idx, K, ridge)

    diagonal = response.curvature_diagonal(gram.diagonal(), ridge)
    return RowGram(rows, diagonal, _CACHE_BYTES, np.float64)


def _line_search(problem: SaddleProblem, start: Response, end: Response) -> Response:
    """Return the response at the maximum of h between two points, or the start."""
    direction = end.beta - start.beta
    current = start

    def slope(t: float) -> float:
        nonlocal current
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
    return current
