r"""The gradient methods of the DANK paper, for comparison.

Algorithms 1 and 2 of [1]_, Nesterov's method with the theoretical Lipschitz constant of the journal
version, its monotone variant, and projected gradient steps (Eq. (17) there). Corrected: the sign
of the accumulated gradient in line 7; the Euclidean projection in place of alternating projections;
in regression ``sum(beta) = 0`` and the gradient's sign for the second half of the variables.

Regression is solved in 2n variables, ``z = (alpha_hat, -alpha_check)`` and ``beta = z_1 + z_2``, as
printed; classification in ``z = beta``.

References
----------
.. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Learning Data-adaptive Non-parametric Kernels".
   Journal of Machine Learning Research 21, 2020. http://jmlr.org/papers/v21/19-900.html
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from kernelfit.families.hadamard import Response
from kernelfit.learners.saddle import SaddleProblem
from kernelfit.solvers.projections import project_box_plane
from kernelfit.solvers.result import FloatArray

Scheme = Literal["nesterov", "nesterov_monotone", "projected_gradient"]


def gradient_steps(problem: SaddleProblem, scheme: Scheme) -> Iterator[Response]:
    """Yield the responses to the iterates, from zero.

    Parameters
    ----------
    problem : SaddleProblem
        Its kernel matrix must be in memory.
    scheme : {"nesterov", "nesterov_monotone", "projected_gradient"}

    Yields
    ------
    Response
    """
    lifted = _Lifted(problem)
    step = lifted.step(scheme)
    z = np.zeros(lifted.lower.size)
    start = z
    accumulated = np.zeros(z.size)
    best = problem.respond(lifted.beta(z))
    best_z = z
    t = 0
    while True:
        response = problem.respond(lifted.beta(z))
        yield response
        gradient = lifted.gradient(response)
        forward = lifted.project(z + step * gradient)
        if scheme == "projected_gradient":
            z = forward
            continue
        if scheme == "nesterov_monotone":
            candidates = [(best_z, best), (z, response)]
            candidates.append((forward, problem.respond(lifted.beta(forward))))
            forward, best = max(candidates, key=lambda pair: problem.objective(pair[1]))
            best_z = forward
        accumulated += (t + 1) * gradient
        backward = lifted.project(start + 0.5 * step * accumulated)
        z = ((t + 1) * forward + 2.0 * backward) / (t + 3)
        t += 1


class _Lifted:
    """The variables z of the papers' algorithms."""

    def __init__(self, problem: SaddleProblem) -> None:
        self.problem = problem
        self.regression = problem.epsilon > 0.0
        lower, upper = problem.lower, problem.upper
        if self.regression:
            zero = np.zeros(lower.size)
            lower, upper = np.concatenate((zero, lower)), np.concatenate((upper, zero))
        self.lower, self.upper = lower, upper

    def beta(self, z: FloatArray) -> FloatArray:
        return z[: z.size // 2] + z[z.size // 2 :] if self.regression else z

    def gradient(self, response: Response) -> FloatArray:
        ascent = self.problem.p - response.decision
        if not self.regression:
            return ascent
        return np.concatenate((ascent - self.problem.epsilon, ascent + self.problem.epsilon))

    def project(self, z: FloatArray) -> FloatArray:
        if self.problem.fit_intercept:
            return project_box_plane(z, self.lower, self.upper)
        return np.clip(z, self.lower, self.upper)

    def step(self, scheme: Scheme) -> float:
        """Return the inverse of the Lipschitz constant, with weights counted as copies."""
        K = self.problem.gram.matrix
        if K is None:
            raise ValueError("expected a kernel matrix in memory for this solver; raise cache_size")
        weight, eta = self.problem.family.weight, self.problem.family.eta
        n = float(weight.sum())
        C = float((np.maximum(self.problem.upper, -self.problem.lower) / weight).max())
        if scheme == "projected_gradient":
            L = n + n * C**2 / (4.0 * eta) * float(np.linalg.eigvalsh(K)[-1])
        elif self.regression:
            L = 2.0 * (n + 9.0 * n * C**2 * float(np.linalg.norm(K)) / (4.0 * eta))
        else:
            L = n + 3.0 * n * C**2 * float(np.linalg.norm(K)) / (4.0 * eta)
        L *= float(np.abs(K).max()) / float(weight.min())
        return 0.5 / L if self.regression else 1.0 / L
