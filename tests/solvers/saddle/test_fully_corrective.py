"""The proximal model of the fully corrective solver, against finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelfit.families.psd.family import PositiveMatrixFamily
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.solvers.saddle import fully_corrective
from kernelfit.solvers.saddle.fully_corrective import FULLY_CORRECTIVE, _beyond, _Proximal
from kernelfit.solvers.saddle.problem import SaddleProblem, solve_saddle
from kernelfit.tasks.losses import tube


def tessellated(n=2, m=20):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(m, n))
    family = PositiveMatrixFamily(TessellatedBasis(n, 1, 0.5, "x"), X, 1.0)
    return SaddleProblem(family, (tube(np.sin(5 * X[:, 0]) + X[:, 1], 1.0, 0.1),))


def random_matrix(rng, size, rank):
    """Return a positive semidefinite matrix of trace `size`."""
    U = rng.standard_normal((size, rank))
    return size / np.sum(U**2) * U @ U.T


def psi(model, G):
    """Return psi(G), and the matrix that attains it."""
    _, vectors, values = model.cut(G)
    S = (vectors * values) @ vectors.T
    return 0.5 * np.sum(G * S) - 0.5 * model.rho * np.sum((S - model.centre) ** 2), S


def test_the_maximiser_is_the_best_matrix_and_half_of_it_the_gradient():
    rng = np.random.default_rng(1)
    model = _Proximal(random_matrix(rng, 6, 2), 0.7)
    G, H = (random_matrix(rng, 6, 6) for _ in range(2))

    value, S = psi(model, G)
    assert_allclose(np.trace(S), 6.0, rtol=1e-12)
    eigenvalues = model.cut(G).kept
    assert 1 < np.count_nonzero(eigenvalues) < 6 and eigenvalues.min() == 0.0
    for rank in (1, 2, 6):
        other = 0.9 * S + 0.1 * random_matrix(rng, 6, rank)
        assert value > 0.5 * np.sum(G * other) - 0.35 * np.sum((other - model.centre) ** 2)
    h = 1e-6
    slope = (psi(model, G + h * H)[0] - psi(model, G - h * H)[0]) / (2 * h)
    assert_allclose(slope, 0.5 * np.sum(S * H), rtol=1e-7)


@pytest.mark.parametrize("whole", [True, False])
def test_the_model_has_the_curvature_of_the_proximal_energy(whole):
    """The kernel matrix of the maximiser plus L L' is the Hessian of psi(V'D(beta)V)."""
    problem = tessellated()
    family, rng = problem.family, np.random.default_rng(3)
    V = np.eye(6) if whole else np.linalg.qr(rng.standard_normal((6, 4)))[0]
    size = V.shape[1]
    beta = 0.3 * rng.standard_normal((1, 20))
    model = _Proximal(6 / size * random_matrix(rng, size, 2), 0.5)
    response = family.respond(beta)
    cut = model.cut(response.D.restrict(V))
    U, L = model.quadratic(response, V, cut)
    assert 1 < U.shape[1] < size  # some eigenvalues are cut, and some are not
    level = (cut.values - cut.kept)[cut.kept > 0.0].mean()
    assert np.abs(cut.values - level).min() > 0.1  # far from the kink: no difference meets it
    K = family.gram(U).whole + L[0] @ L[0].T

    h, steps = 1e-4, rng.standard_normal((5, 1, 20))
    for d in steps:
        forms = [family.respond(beta + t * h * d).D.restrict(V) for t in (-1.0, 0.0, 1.0)]
        values = [psi(model, G)[0] for G in forms]
        second = (values[0] - 2.0 * values[1] + values[2]) / h**2
        assert_allclose(second, d[0] @ K @ d[0], rtol=1e-5)


def test_what_new_directions_add_is_orthonormal():
    rng = np.random.default_rng(3)
    V = np.linalg.qr(rng.standard_normal((8, 3)))[0]
    new = np.column_stack([V @ rng.standard_normal(3), rng.standard_normal((8, 2))])
    Q = _beyond(V, new)
    assert_allclose(Q.T @ Q, np.eye(2), atol=1e-12)
    assert_allclose(V.T @ Q, 0.0, atol=1e-12)
    both = np.hstack([V, Q])
    assert_allclose(both @ (both.T @ new), new, atol=1e-12)


def test_a_span_that_grows_reaches_the_optimum_over_all_directions(monkeypatch):
    problem = tessellated(n=4)
    best = solve_saddle(problem, FULLY_CORRECTIVE, tol=1e-8)
    monkeypatch.setattr("kernelfit.families.psd.spectral._ALL_DIRECTIONS", 2)
    monkeypatch.setattr("kernelfit.families.psd.spectral._FIRST_DIRECTIONS", 1)
    spans = []
    grow = fully_corrective._grow

    def note(V, *args):
        spans.append(V.shape[1])
        return grow(V, *args)

    monkeypatch.setattr(fully_corrective, "_grow", note)
    result = solve_saddle(problem, FULLY_CORRECTIVE, tol=1e-8)
    assert spans[0] == 1 and 1 < spans[-1] < 10
    assert result.converged
    assert_allclose(result.objective, best.objective, rtol=2e-8)
