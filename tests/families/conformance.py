r"""What every family of kernels must satisfy, to be inherited.

A test class that derives from `FamilyConformance` names its family by `make` and inherits checks of
the protocol in `kernelfit.solvers.saddle.problem`, and runs of every solver that accepts the
family, whose certificates are recomputed from dense matrices. Runs of the others are skipped, with
what they say as the reason.

    upper = R(theta) + sum over the tasks of  1/2 x'K_theta x + losses at (x, intercept)
    lower = kappa(witness) - E(witness)
"""

import functools
import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelfit.solvers.saddle.alternation import ADMM, ALTERNATING, DAMPED
from kernelfit.solvers.saddle.column_generation import COLUMN_GENERATION
from kernelfit.solvers.saddle.frank_wolfe import FRANK_WOLFE
from kernelfit.solvers.saddle.fully_corrective import FULLY_CORRECTIVE
from kernelfit.solvers.saddle.gradient import GRADIENT_SOLVERS
from kernelfit.solvers.saddle.kernel_weights import KERNEL_WEIGHTS
from kernelfit.solvers.saddle.newton import NEWTON
from kernelfit.solvers.saddle.primal_dual import APD, HYBRID
from kernelfit.solvers.saddle.problem import SaddleProblem, solve_saddle
from kernelfit.tasks.losses import hinge, tube
from kernelfit.tasks.task import Task

FAST = (COLUMN_GENERATION, FULLY_CORRECTIVE, HYBRID, KERNEL_WEIGHTS, NEWTON, DAMPED)
SLOW = (FRANK_WOLFE, APD, *GRADIENT_SOLVERS.values())  # sublinear
PLAIN = (ALTERNATING, ADMM)  # certified, though they need not converge
SOLVERS = {solver.name: solver for solver in (*FAST, *SLOW, *PLAIN)}
TOL = {solver: 1e-6 if solver in FAST else 1e-3 for solver in SOLVERS.values()}
LOSSES = ("hinge", "tube", "squared hinge")


def matrix(gram):
    """Return all rows of a Gram matrix, as a copy."""
    return np.array(gram.rows(np.arange(gram.n)), dtype=np.float64)


def make_task(loss, X, seed):
    """Return a task on the points."""
    rng = np.random.default_rng(seed)
    m = len(X)
    y = np.sin(3.0 * X[:, 0]) + X[:, -1] ** 2 + 0.3 * rng.standard_normal(m)
    if loss == "tube":
        return tube(y, 0.5, 0.1)
    sign = np.where(y > np.median(y), 1.0, -1.0)
    if loss == "hinge":
        return hinge(sign, 0.5)
    far = np.where(sign > 0.0, np.inf, -np.inf)
    return Task(sign, np.minimum(far, 0.0), np.maximum(far, 0.0), ridge=np.full(m, 1.0))


def losses(task, decision):
    """Return the sum of the primal losses at decision values with the intercept included.

    A loss is the largest ``s t - epsilon |s| - 1/2 ridge s^2`` over the box, t being the residual.
    """
    t = task.p - decision
    if task.ridge is None:
        above = task.upper * np.maximum(t - task.epsilon, 0.0)
        return float(np.sum(above - task.lower * np.maximum(-t - task.epsilon, 0.0)))
    s = np.clip(t / task.ridge, task.lower, task.upper)
    return float(np.sum(s * t - 0.5 * task.ridge * s**2))


class FamilyConformance:
    """The checks; a subclass names its family."""

    def make(self):
        """Return a new family on m points, the points, and some betas of shape (n_tasks, m).

        Not all betas may have the same best response, and the first two must differ in theirs.
        """
        raise NotImplementedError

    def energy(self, family, beta):
        """Return E(beta); override it by what does not use the family's own response."""
        theta = family.respond(beta).theta
        return self.value(family, theta, beta)

    @staticmethod
    def value(family, theta, beta):
        """Return 1/2 beta'K_theta beta - R(theta), from a dense matrix."""
        K = matrix(family.gram(theta))
        return 0.5 * sum(float(b @ K @ b) for b in beta) - family.penalty(theta)

    def thetas(self, family, betas):
        """Return best responses, and mixtures of them where the family mixes."""
        found = [family.respond(beta).theta for beta in betas]
        if hasattr(family, "mix"):
            found += [family.mix(found[0], theta, 0.3) for theta in found[1:]]
        return found

    def test_gram_is_symmetric_and_positive_semidefinite(self):
        family, _, betas = self.make()
        for theta in self.thetas(family, betas):
            K = matrix(family.gram(theta))
            assert_allclose(K, K.T, rtol=0, atol=1e-14 * abs(K).max())
            values = np.linalg.eigvalsh(K)
            assert values[0] >= -1e-12 * len(K) * values[-1] and values[-1] > 0.0
            assert_allclose(family.gram(theta).diagonal(), np.diag(K), rtol=1e-12)

    def test_decision_is_the_kernel_matrix_times_beta(self):
        family, _, betas = self.make()
        for theta in self.thetas(family, betas):
            K = matrix(family.gram(theta))
            for beta in betas:
                decision = family.respond(beta).decision(theta)
                assert decision.shape == beta.shape
                scale = (abs(beta) @ abs(K)).max()
                assert_allclose(decision, beta @ K, rtol=0, atol=1e-12 * scale)

    def test_energy_is_attained_by_the_best_response(self):
        family, _, betas = self.make()
        for beta in betas:
            response = family.respond(beta)
            assert response.energy > 0.0
            assert_allclose(response.energy, self.value(family, response.theta, beta), rtol=1e-9)
            assert_allclose(response.energy, self.energy(family, beta), rtol=1e-9)
        assert family.respond(np.zeros_like(betas[0])).energy == 0.0

    def test_no_other_theta_is_better(self):
        family, _, betas = self.make()
        thetas = self.thetas(family, betas)
        for k, beta in enumerate(betas):
            response = family.respond(beta)
            for j, theta in enumerate(thetas):
                value = self.value(family, theta, beta)
                assert family.penalty(theta) >= 0.0
                assert value <= response.energy * (1.0 + 1e-10)
                slack = 1e-9 * (response.energy + family.penalty(theta))
                excess = response.excess(theta)
                assert_allclose(excess, response.energy - value, rtol=0, atol=slack)
                assert excess >= -slack
                assert j != k or excess <= slack
            others = [response.excess(theta) for theta in thetas]
            assert max(others) > 1e-6 * response.energy  # or the check says nothing

    def test_energy_is_convex_with_the_decision_as_gradient(self):
        family, _, betas = self.make()
        rng = np.random.default_rng(7)
        for beta, other in zip(betas, betas[1:] + betas[:1], strict=True):
            direction = rng.standard_normal(beta.shape)
            response = family.respond(beta)
            h = 1e-5
            ends = [family.respond(beta + s * h * direction).energy for s in (1.0, -1.0)]
            slope = float(np.sum(response.decision(response.theta) * direction))
            assert_allclose((ends[0] - ends[1]) / (2.0 * h), slope, rtol=1e-5)
            middle = family.respond(0.5 * (beta + other)).energy
            chord = 0.5 * (response.energy + family.respond(other).energy)
            assert middle <= chord * (1.0 + 1e-10)

    def test_the_examples_can_tell(self):
        """Betas of one shape, which is that of (n_tasks, n) for as many points as there are."""
        family, X, betas = self.make()
        shapes = {np.shape(beta) for beta in betas}
        assert len(betas) > 1, "expected two betas or more"
        assert len(shapes) == 1, f"expected betas of one shape, got {shapes}"
        shape = shapes.pop()
        assert len(shape) == 2, f"expected betas of shape (n_tasks, n), got {shape}"
        assert shape[1] == len(X), f"expected betas on {len(X)} points, got {shape[1]}"
        gram = family.gram(family.respond(betas[0]).theta)
        assert hasattr(gram, "rows"), f"expected gram to return a Gram, got {type(gram).__name__}"

    def test_the_matrix_of_a_difference_is_that_of_the_matrices(self):
        family, _, betas = self.make()
        if not hasattr(family, "dense"):
            pytest.skip("the family has no dense")
        one, other = (family.dense(family.respond(beta)) for beta in betas[:2])
        matrices = [matrix(family.gram(theta)) for theta in (one, other, one - other)]
        scale = max(abs(K).max() for K in matrices)
        assert_allclose(matrices[2], matrices[0] - matrices[1], rtol=0, atol=1e-12 * scale)

    def test_mixtures_mix_the_kernels(self):
        family, _, betas = self.make()
        if not hasattr(family, "mix"):
            pytest.skip("the family has no mix")
        one, other = (family.respond(beta).theta for beta in betas[:2])
        assert abs(matrix(family.gram(one)) - matrix(family.gram(other))).max() > 1e-3
        mixed = matrix(family.gram(family.mix(one, other, 0.3)))
        expected = 0.7 * matrix(family.gram(one)) + 0.3 * matrix(family.gram(other))
        assert_allclose(mixed, expected, rtol=0, atol=1e-11 * abs(expected).max())

    def test_an_update_is_added_and_few_rows_are_the_same(self):
        family, X, betas = self.make()
        L = np.random.default_rng(8).standard_normal((len(X), 3))
        idx = np.random.default_rng(9).permutation(len(X))[: len(X) // 3]
        for theta in self.thetas(family, betas):
            K = matrix(family.gram(theta))
            scale = 1e-12 * abs(K + L @ L.T).max()
            for update, expected in ((None, K), (L, K + L @ L.T)):
                for few in (False, True):
                    gram = family.gram(theta, update, few)
                    assert_allclose(gram.rows(idx), expected[idx], rtol=0, atol=scale)
                    block = gram.block(idx, exact=True)
                    assert_allclose(block, expected[np.ix_(idx, idx)], rtol=0, atol=scale)
                    assert_allclose(gram.diagonal(), np.diag(expected), rtol=0, atol=scale)

    def test_the_kernel_pickles_and_is_that_of_the_training_points(self):
        family, X, betas = self.make()
        for beta in betas:
            theta = family.respond(beta).theta
            K = matrix(family.gram(theta))
            kernel = pickle.loads(pickle.dumps(family.kernel(theta)))
            assert_allclose(kernel(X, X), K, rtol=0, atol=1e-11 * abs(K).max())
            assert_allclose(kernel(X[3:9], X), K[3:9], rtol=0, atol=1e-11 * abs(K).max())
            new = kernel(X[:5] + 0.01, X)
            assert new.shape == (5, len(X)) and np.isfinite(new).all()

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("name", SOLVERS)
    def test_solver(self, name, loss):
        """It reaches its tolerance with a true certificate, or says why it does not run."""
        solver = SOLVERS[name]
        try:
            family, problem, result = solution(type(self), name, loss)
        except Refusal as refusal:
            pytest.skip(str(refusal))
        assert result.status == "proved" and result.n_iter == len(result.history)
        assert result.history[-1] == (result.objective, result.gap)
        if solver not in PLAIN:
            assert result.converged and result.ending == "tolerance"
        if result.converged:
            assert result.gap <= TOL[solver] * abs(result.objective)
        K, upper = matrix(family.gram(result.theta)), family.penalty(result.theta)
        lower = -self.energy(family, result.witness)
        for t, task in enumerate(problem.tasks):
            for b in (result.x[t], result.witness[t]):
                assert np.all((task.lower <= b) & (b <= task.upper))
                assert abs(b.sum()) <= 1e-12 * abs(b).sum()
            x, witness = result.x[t], result.witness[t]
            lower += task.p @ witness - task.epsilon * abs(witness).sum()
            if task.ridge is not None:
                lower -= 0.5 * float(witness @ (task.ridge * witness))
            f = K @ x
            # The norm of the function, and of its slacks where the loss is squared.
            upper += 0.5 * float(x @ f) + losses(task, f + result.intercept[t])
        assert_allclose(lower, result.objective, rtol=1e-9)
        assert_allclose(upper, result.objective + result.gap, rtol=1e-9)
        assert 0.0 < lower <= upper * (1.0 + 1e-12)

    @pytest.mark.parametrize("loss", LOSSES)
    def test_solvers_agree(self, loss):
        found, refusals = {}, []
        for name in SOLVERS:
            try:
                found[name] = solution(type(self), name, loss)[2]
            except Refusal as refusal:
                refusals.append(str(refusal))
        assert found, "\n".join(["no solver accepts the family:", *refusals])
        lower = max(result.objective for result in found.values())
        upper = min(result.objective + result.gap for result in found.values())
        assert lower <= upper * (1.0 + 1e-10)
        exact = [r.objective for name, r in found.items() if SOLVERS[name] in FAST]
        assert_allclose(exact, lower, rtol=2e-6)


class Refusal(Exception):
    """What a solver says of a family or of tasks for which it is not made."""


@functools.cache
def solution(cls, name, loss):
    """Return the family, the problem and the result of a solver, computed once a class.

    There are as many tasks as the betas have. A solver may refuse them or the family, in one
    sentence.
    """
    family, X, betas = cls().make()
    tasks = tuple(make_task(loss, X, seed) for seed in range(len(betas[0])))
    problem = SaddleProblem(family, tasks)
    solver = SOLVERS[name]
    rounds = 10 if solver in PLAIN else 20_000
    try:
        result = solve_saddle(problem, solver, tol=TOL[solver], max_iter=rounds)
    except ValueError as error:
        if re.fullmatch(rf"expected [\w ]+ for solver '{name}'(, got \w+)?", str(error)):
            raise Refusal(str(error)) from None
        raise
    return family, problem, result
