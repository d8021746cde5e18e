"""The methods of the TKL paper against its algorithms, written out naively."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelfit.families.psd.family import PositiveMatrixFamily
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.solvers.saddle.frank_wolfe import FRANK_WOLFE
from kernelfit.solvers.saddle.primal_dual import apd, hybrid
from kernelfit.solvers.saddle.problem import SaddleProblem, assess, solve_saddle
from kernelfit.solvers.saddle.progress import Progress
from kernelfit.tasks.losses import tube
from tests.reference.saddle_methods import accelerated_primal_dual, form, kernel_matrix
from tests.reference.tessellated import closed_table

X = np.random.default_rng(0).uniform(size=(20, 2))
Y = np.sin(5.0 * X[:, 0]) + 2.0 * abs(X[:, 1] - 0.5)
G = closed_table(X, 1, "x", 0.5)
SIZE, C, EPSILON = 6, 3.0, 0.1


def problem():
    family = PositiveMatrixFamily(TessellatedBasis(2, 1, 0.5, "x"), X, 1.0)
    return SaddleProblem(family, (tube(Y, C, EPSILON),))


class Exact(Progress):
    """Asks for machines that are solved to the end."""

    machine_tol = model_tol = 1e-13


def iterates(solver, start, count):
    """Return beta, P and the upper bound of the first pairs."""
    mine, progress, found = problem(), Exact(1e-14), []
    for pair in solver.steps(mine, progress, start):
        progress.add(assess(mine, pair))
        found.append((pair.beta[0], pair.theta @ pair.theta.T, progress.latest.upper))
        if len(found) == count:
            return found


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("large", [True, False])
def test_apd_takes_the_steps_of_algorithm_4(mu, large):
    """From a large start as printed; from a small one sigma is lowered."""
    mine = problem()
    optimum = solve_saddle(mine, apd(), tol=1e-9)
    U = mine.family.mix(optimum.theta, np.eye(SIZE), 0.2)
    beta = mine.project(optimum.x * (1.5 if large else 0.8))
    expected, lowered = accelerated_primal_dual(
        G, Y, C, EPSILON, beta[0], U @ U.T, kernel_matrix(G, np.eye(SIZE)),
        tau=2.0 / SIZE, mu=mu, n_iter=12,
    )  # fmt: skip
    assert lowered is not large
    found = iterates(apd(mu), (beta, U), 13)
    for (b, P, _), (reference, matrix) in zip(found, expected, strict=True):
        assert_allclose(b, reference, rtol=0, atol=1e-8)
        assert_allclose(P, matrix, rtol=0, atol=1e-8)
    assert abs(found[-1][1] - found[0][1]).max() > 0.2  # or the check says nothing


def test_mu_changes_the_steps():
    ends = [iterates(apd(mu), None, 10)[-1][1] for mu in (0.0, 0.5)]
    assert abs(ends[0] - ends[1]).max() > 1e-3


def test_apd_starts_over_where_the_start_was_far():
    """Steps that fit a far start would take forever."""
    mine = problem()
    optimum = solve_saddle(mine, apd(), tol=1e-6)
    far = mine.project(100.0 * np.sign(optimum.x) + 10.0 * optimum.x)
    again = solve_saddle(mine, apd(), tol=1e-6, start=(far, optimum.theta))
    assert again.converged and again.n_iter <= optimum.n_iter + 50


def test_an_iteration_of_frank_wolfe_is_one_line_search():
    """From P = I, as Algorithm 2, every pair lies between the last one and its best response."""
    found = iterates(FRANK_WOLFE, (None, np.eye(SIZE)), 6)
    assert_allclose(found[0][1], np.eye(SIZE))
    for (beta, P, upper), (_, P_next, upper_next) in pairwise(found):
        atom = SIZE * np.outer(v := np.linalg.eigh(form(G, beta))[1][:, -1], v)
        step, way = P_next - P, atom - P
        t = np.sum(step * way) / np.sum(way**2)
        assert 0.0 < t <= 1.0
        assert_allclose(step, t * way, rtol=0, atol=1e-7)
        assert upper_next < upper


def test_a_start_with_theta_alone_is_trained():
    (beta, P, _), *_ = iterates(apd(), (None, np.eye(SIZE)), 1)
    K = kernel_matrix(G, P)
    assert_allclose(beta, problem().train(np.eye(SIZE), None, 1e-13)[0], atol=1e-9)
    assert_allclose(K, kernel_matrix(G, np.eye(SIZE)))


@pytest.mark.parametrize("handover, patience", [(1e-2, 20), (1e-5, 20), (0.0, 3)])
def test_the_hybrid_hands_over_where_it_is_told_to(handover, patience):
    alone = solve_saddle(problem(), FRANK_WOLFE, tol=1e-8, max_iter=50).history
    gaps = np.array([gap / abs(lower) for lower, gap in alone])
    at = min(int(np.argmax(gaps <= handover)) + 1 if handover else 50, patience)
    both = solve_saddle(problem(), hybrid(handover, patience), tol=1e-8, max_iter=50).history
    assert both[:at] == alone[:at] and both[at : at + 3] != alone[at : at + 3]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: apd(-1.0), "expected a finite mu >= 0, got -1.0"),
        (lambda: hybrid(-0.1), "expected handover >= 0 and patience >= 1, got -0.1, 20"),
        (lambda: hybrid(patience=0), "expected handover >= 0 and patience >= 1, got 0.01, 0"),
    ],
)
def test_what_makes_no_method_is_refused(make, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        make()
