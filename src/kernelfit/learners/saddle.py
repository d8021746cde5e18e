r"""The saddle problem of an entrywise kernel factor, and the certificate every method returns.

    max over beta   h(beta) = kappa(beta) - energy(beta),     lower <= beta <= upper,  sum(beta) = 0

with the energy of :mod:`kernelfit.families.hadamard`. At any feasible beta, h is at most as far
from its maximum as the SVM duality gap of beta with the learned kernel ``Theta*(beta) o K`` says:
with Theta fixed at the response, that machine's optimum plus the penalty is an upper bound, its
dual value at beta plus the same penalty is h(beta).

A method is a generator of responses; :func:`follow` certifies each and stops.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kernelfit.families.hadamard import HadamardFamily, Response
from kernelfit.solvers.block_rounds import MAX_POLISH_VARIABLES, is_free
from kernelfit.solvers.certificate import duality_gap, optimal_intercept
from kernelfit.solvers.gram import DenseGram, RowGram
from kernelfit.solvers.result import FloatArray, SvmDualResult
from kernelfit.solvers.svm_dual import Callback

Gram = DenseGram | RowGram

_POLISH_ROUNDS = 8


@dataclass(frozen=True)
class SaddleProblem:
    """A family on a kernel matrix and the box, linear term and tube of the task."""

    family: HadamardFamily
    gram: Gram
    p: FloatArray
    lower: FloatArray
    upper: FloatArray
    epsilon: float
    fit_intercept: bool

    def respond(self, beta: FloatArray) -> Response:
        """Return the response to beta."""
        return self.family.respond(self.gram, beta)

    def objective(self, response: Response) -> float:
        """Return ``h(beta)``."""
        beta = response.beta
        linear = float(self.p @ beta) - self.epsilon * float(np.abs(beta).sum())
        return linear - response.energy

    def gap(self, response: Response) -> tuple[float, float, float]:
        """Return the duality gap, the intercept and the gap's resolution."""
        gap, _, intercept, resolution = duality_gap(
            response.decision - self.p,
            self.p,
            response.beta,
            self.lower,
            self.upper,
            self.epsilon,
            self.fit_intercept,
        )
        return gap, intercept, resolution


@dataclass(frozen=True)
class SaddleResult(SvmDualResult):
    """A solution of the saddle problem.

    Attributes
    ----------
    response : Response
        The learned factor.
    neutral : float
        The factor without adaptation, for points not trained on.
    neutral_intercept : float
        The intercept that suits the kernel K times that, for predictions with it.
    """

    response: Response
    neutral: float
    neutral_intercept: float


def neutral_intercept(problem: SaddleProblem, kernel_decision: FloatArray) -> float:
    """Return the intercept that minimises the losses with the neutral factor, given K beta."""
    if not problem.fit_intercept:
        return 0.0
    g = problem.family.neutral * kernel_decision - problem.p
    return float(optimal_intercept(g, problem.lower, problem.upper, problem.epsilon))


def follow(
    problem: SaddleProblem,
    responses: Iterator[Response],
    *,
    certified: bool,
    tol: float,
    max_iter: int,
    polish: bool = False,
    callback: Callback | None = None,
) -> SaddleResult:
    """Run a method until its certificate meets the tolerance.

    Parameters
    ----------
    problem : SaddleProblem
    responses : iterator of Response
        The method's points; the first is the start and counts as no round.
    certified : bool
        Whether K is known or has been found to be positive semidefinite.
    tol : float
        Relative duality gap.
    max_iter : int
        Largest number of rounds.
    polish : bool, default=False
        Go on for a few rounds after that, as long as each at least halves the gap, where few
        variables are free.
    callback : callable, optional
        Called as ``callback(n_iter, objective, gap)`` after every round.

    Returns
    -------
    SaddleResult
    """
    history: list[tuple[float, float]] = []
    met_at, previous = -1, np.inf
    for rounds, response in enumerate(responses):
        gap, intercept, resolution = problem.gap(response)
        objective = problem.objective(response)
        at_zero = gap <= resolution and not response.beta.any()
        converged = gap <= tol * abs(objective) or at_zero
        if rounds > 0 or max_iter == 0:
            history.append((objective, gap))
            if callback is not None:
                callback(rounds, objective, gap)
        if converged and met_at < 0:
            met_at = rounds
        elif converged and gap > 0.5 * previous:
            break
        previous = gap
        free = is_free(response.beta, problem.lower, problem.upper, problem.epsilon)
        n_free = int(np.count_nonzero(free))
        enough = not polish or rounds >= met_at + _POLISH_ROUNDS or n_free > MAX_POLISH_VARIABLES
        if (converged and enough) or gap <= resolution or rounds >= max_iter:
            break
    return SaddleResult(
        x=response.beta,
        objective=objective,
        gap=gap if certified else np.nan,
        n_iter=len(history),
        converged=bool(converged),
        history=tuple(history) or ((objective, gap),),
        intercept=intercept,
        decision=response.decision,
        certified=certified,
        response=response,
        neutral=problem.family.neutral,
        neutral_intercept=neutral_intercept(problem, problem.gram.exact_decision(response.beta)),
    )


def falling_root(
    slope: Callable[[float], float], start: float, accuracy: float = 0.1, max_steps: int = 20
) -> None:
    """Find where a falling function on [0, 1] vanishes, or stop at 1 where it is still positive.

    Regula falsi with the Illinois rule, until the slope is at most `accuracy` times that at 0;
    after `max_steps` the last place where it is positive.

    Parameters
    ----------
    slope : callable
        Evaluates the function; its last call was at the returned place.
    start : float
        Its value at 0, positive.
    """
    low, high = 0.0, 1.0
    at_low, at_high = start, slope(1.0)
    value = at_high
    last_side = 0
    for _ in range(max_steps):
        if value >= 0.0 and high == 1.0 and last_side == 0:
            return
        if abs(value) <= accuracy * start:
            return
        t = (low * at_high - high * at_low) / (at_high - at_low)
        value = slope(t)
        if value > 0.0:
            low, at_low = t, value
            at_high *= 0.5 if last_side == 1 else 1.0
            last_side = 1
        else:
            high, at_high = t, value
            at_low *= 0.5 if last_side == -1 else 1.0
            last_side = -1
    if value < 0.0 and low > 0.0:
        slope(low)  # on the near side of a sudden fall, where the integral is still rising
