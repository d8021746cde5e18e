"""One round of a small problem, compiled in one piece.

Searches and one-vs-one machines solve thousands of problems of some hundred points each. There the
steps take less time than the calls between them.
"""

from kernelfit.solvers.dual.pair_steps import one_sided_rates, pair_steps
from kernelfit.solvers.result import FloatArray
from kernelfit.utils.jit import jit

MOST_POINTS = 512
# Pair steps beyond one a variable, times the number of points: they take about as long as the calls
# of a Newton step, which comes next.
_MORE_STEPS = 200_000


@jit()
def small_round(
    K: FloatArray,
    diagonal: FloatArray,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    total: float,
    beta: FloatArray,
    g: FloatArray,
    decision: FloatArray,
    reduction: float,
    roundoff: float,
) -> tuple[bool, bool, float]:
    """Take pair steps until the violation is down to a fraction of what it is at the start.

    Then the rounding errors of the steps are taken out of `beta`,
    `g = K beta - p` and `decision = K beta`, which are changed in place.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    diagonal, p, lower, upper, epsilon, total
        Of K and of the task, which has an intercept and no ridge.
    beta, g, decision : ndarray of shape (n,)
    reduction : float
        The fraction.
    roundoff : float
        A violation of this times the largest ``|g|`` may be out of reach.

    Returns
    -------
    enough : bool
        Whether the steps sufficed.
    changed : bool
        Whether any was taken.
    curvature : float
        As `pair_steps` returns it.
    """
    _, _, highest, lowest, size = one_sided_rates(g, beta, lower, upper, epsilon)
    target = max((highest - lowest) * reduction, roundoff * size)
    steps, violation, curvature = pair_steps(
        K, diagonal, g, beta, lower, upper, epsilon, target, g.size + _MORE_STEPS // g.size
    )
    renew(K, p, lower, upper, total, beta, g, decision)
    return violation <= target, steps > 0, curvature


@jit()
def renew(
    K: FloatArray,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    total: float,
    beta: FloatArray,
    g: FloatArray,
    decision: FloatArray,
) -> None:
    """Take the rounding errors of many steps out of `beta`, `g` and `decision`."""
    error = -total
    for i in range(beta.size):
        error += beta[i]
        decision[i] = 0.0
    shift_sum(beta, lower, upper, error)
    for i in range(beta.size):
        if beta[i] != 0.0:
            row, value = K[i], beta[i]
            for j in range(beta.size):
                decision[j] += value * row[j]
    for i in range(beta.size):
        g[i] = decision[i] - p[i]


@jit()
def shift_sum(beta: FloatArray, lower: FloatArray, upper: FloatArray, error: float) -> None:
    """Take an error out of the sum, at the variable with most room to both sides.

    In regression a variable at 0 must stay there: it has none.
    """
    roomiest, most = 0, -1.0
    for i in range(beta.size):
        room = min(upper[i] - beta[i], beta[i] - lower[i], abs(beta[i]))
        if room > most:
            roomiest, most = i, room
    if abs(error) <= most:
        value = beta[roomiest] - error
        beta[roomiest] = min(max(value, lower[roomiest]), upper[roomiest])
