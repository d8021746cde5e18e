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
from functools import partial
from typing import Any, Literal

import numpy as np

from kernelfit.solvers.result import FloatArray
from kernelfit.solvers.saddle.problem import SaddleProblem, SaddleSolver
from kernelfit.solvers.saddle.progress import Pair, Progress
from kernelfit.tasks.task import Task

Scheme = Literal["nesterov", "nesterov_monotone", "projected_gradient"]


def gradient_steps(
    problem: SaddleProblem, progress: Progress, start: Any, *, scheme: Scheme
) -> Iterator[Pair]:
    """Yield the responses to the iterates, from zero.

    Parameters
    ----------
    problem : SaddleProblem
        Of one task, without ridge.
    progress : Progress
    start : object
        Not used: the papers' methods start from zero, here from the feasible point next to it.
    scheme : {"nesterov", "nesterov_monotone", "projected_gradient"}

    Yields
    ------
    Pair
    """
    family: Any = problem.family
    if len(problem.tasks) != 1:
        raise ValueError(f"expected one task for solver {scheme!r}, got {len(problem.tasks)}")
    (task,) = problem.tasks
    if task.ridge is not None:
        raise ValueError(f"expected a task without ridge for solver {scheme!r}")
    lifted = _Lifted(task)
    step = 1.0 / family.lipschitz(task, projected=scheme == "projected_gradient")
    if lifted.regression:
        step *= 0.5
    z = lifted.task.project(np.zeros(lifted.task.n))
    start_z = z
    accumulated = np.zeros(z.size)

    def visit(z: FloatArray) -> Pair:
        beta = lifted.beta(z)[None]
        response = family.respond(beta)
        return Pair(beta, response.theta, response)

    def value(found: tuple[FloatArray, Pair]) -> float:
        return task.kappa(found[1].beta[0]) - float(found[1].response.energy)

    best = z, visit(z)
    t = 0
    while True:
        pair = visit(z)
        yield pair
        gradient = lifted.gradient(pair.response.decision(pair.theta)[0])
        forward = lifted.task.project(z + step * gradient)
        if scheme == "projected_gradient":
            z = forward
            continue
        if scheme == "nesterov_monotone":
            best = max((best, (z, pair), (forward, visit(forward))), key=value)
            forward = best[0]
        accumulated += (t + 1) * gradient
        backward = lifted.task.project(start_z + 0.5 * step * accumulated)
        z = ((t + 1) * forward + 2.0 * backward) / (t + 3)
        t += 1


class _Lifted:
    """The variables z of the papers' algorithms: the task in n or 2n of them."""

    def __init__(self, task: Task) -> None:
        self.p, self.epsilon = task.p, task.epsilon
        self.regression = task.epsilon > 0.0
        self.task = task
        if self.regression:
            zero = np.zeros(task.n)
            p = np.concatenate((task.p, task.p))
            lower, upper = np.concatenate((zero, task.lower)), np.concatenate((task.upper, zero))
            self.task = Task(p, lower, upper, total=task.total)

    def beta(self, z: FloatArray) -> FloatArray:
        return z[: z.size // 2] + z[z.size // 2 :] if self.regression else z

    def gradient(self, decision: FloatArray) -> FloatArray:
        ascent = self.p - decision
        if not self.regression:
            return ascent
        return np.concatenate((ascent - self.epsilon, ascent + self.epsilon))


GRADIENT_SOLVERS = {
    scheme: SaddleSolver(scheme, partial(gradient_steps, scheme=scheme), needs=("lipschitz",))
    for scheme in ("nesterov", "nesterov_monotone", "projected_gradient")
}
