"""The family of docs/add_a_family.md: the page's own code, and what its tables say.

Weights ``theta >= 0`` of given kernels with the penalty ``mu/2 ||theta||^2``.
"""

import importlib
import re
from dataclasses import dataclass, replace
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelfit.kernels.gram import DenseGram
from kernelfit.kernels.standard import RBF, Linear
from kernelfit.solvers.saddle.frank_wolfe import FRANK_WOLFE
from kernelfit.solvers.saddle.gradient import GRADIENT_SOLVERS
from kernelfit.solvers.saddle.problem import SaddleProblem, solve_saddle
from kernelfit.solvers.saddle.progress import Progress
from kernelfit.tasks.losses import hinge
from tests.families.conformance import LOSSES, SOLVERS, FamilyConformance, make_task, solution
from tests.reference.kernel_learning import conic_value

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "add_a_family.md").read_text()
FAMILY, LEARN, PROVE = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
page = {"__name__": __name__}
exec(FAMILY + PROVE, page)
RidgeResponse, RidgeWeights = page["RidgeResponse"], page["RidgeWeights"]
MU = 2.0


class TestThePage(page["TestRidgeWeights"]):
    def energy(self, family, beta):
        return sum(sum(b @ K @ b for b in beta) ** 2 for K in family.matrices) / (8 * MU)


def test_the_page_learns(capsys):
    exec(LEARN, page)
    assert "True" in capsys.readouterr().out


def test_the_example_stays_short():
    assert FAMILY.count("\n") <= 45


def test_frank_wolfe_is_sound_with_a_penalty():
    """Its optimum is that of the cone programme, whether the penalty is weak or strong."""
    X = np.random.default_rng(0).standard_normal((30, 3))
    for mu in (0.1, 100.0):
        family = RidgeWeights((Linear(), RBF(0.1), RBF(1.0)), X, mu)
        for loss in LOSSES:
            tasks = tuple(make_task(loss, X, seed) for seed in range(2))
            result = solve_saddle(SaddleProblem(family, tasks), FRANK_WOLFE, tol=1e-6)
            optimum = conic_value(
                family.matrices, tasks, lambda d, mu=mu: cp.sum_squares(cp.hstack(d)) / (8 * mu)
            )
            assert result.converged
            assert_allclose(result.objective, optimum, rtol=1e-5)


@dataclass(frozen=True)
class FullResponse(RidgeResponse):
    """With the members for KERNEL_WEIGHTS."""

    beta: np.ndarray

    @property
    def forms(self):
        return 2 * self.q

    def forms_with(self, other):
        return np.einsum("mti,ti->m", self.values, other.beta)

    def curvature(self, root):
        return np.sqrt(2) * np.einsum("mti,mr->tir", self.values, root)

    def mix(self, other, t):
        values = (1 - t) * self.values + t * other.values
        beta = (1 - t) * self.beta + t * other.beta
        q = np.maximum(0.5 * np.einsum("mti,ti->m", values, beta), 0.0)
        return replace(self, values=values, q=q, beta=beta)


@dataclass(frozen=True)
class Smooth:
    """The energy ``||d||^2 / (8 mu)``."""

    mu: float

    def weights(self, d):
        return np.maximum(d, 0.0) / (2 * self.mu)

    def root(self, d):
        return np.eye(len(d)) / np.sqrt(2 * self.mu)


class FullWeights(RidgeWeights):
    """With the members for DAMPED, NEWTON and KERNEL_WEIGHTS."""

    def respond(self, beta):
        found = super().respond(beta)
        return FullResponse(found.values, found.q, found.mu, beta)

    def dense(self, response):
        return response.theta

    def penalty_slope(self, theta, direction):
        return self.mu * (theta @ direction)

    @property
    def metric(self):
        return np.ones(self.matrices.shape[1])

    def curvature(self, response, tight, damping, space):
        assert space is None  # without a source
        W = response.values[:, 0]
        K = np.tensordot(response.theta, self.matrices, 1)
        return DenseGram(K + W.T @ W / self.mu + np.diag(damping))

    def soften(self, centre, rho):
        return Smooth(self.mu)


class TestEveryMember(TestThePage):
    n_tasks = 1

    def make(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((30, 3))
        betas = [rng.standard_normal((self.n_tasks, 30)), X.T[: self.n_tasks]]
        return FullWeights((Linear(), RBF(0.5)), X, MU), X, betas

    def test_the_solvers_named_on_the_page_accept_it(self):
        for name in ("damped", "newton", "kernel_weights"):
            if name != "newton" or self.n_tasks == 1:
                assert solution(type(self), name, "hinge")[2].converged


class TestSeveralTasks(TestEveryMember):
    n_tasks = 2


class FourMethods:
    """What the certificate needs, and no more."""

    def __init__(self, family):
        self.respond, self.gram = family.respond, family.gram
        self.penalty, self.kernel = family.penalty, family.kernel


class Incomplete(FamilyConformance):
    def make(self):
        family, X, betas = TestThePage().make()
        return FourMethods(family), X, betas


def test_the_suite_says_why_no_solver_runs():
    with pytest.raises(AssertionError) as found:
        Incomplete().test_solvers_agree("hinge")
    assert str(found.value).startswith("no solver accepts the family:\n")
    for name in SOLVERS:
        assert re.search(rf"expected a family with .* for solver '{name}'", str(found.value))
    reason = "^expected a family with initial and mix for solver 'frank_wolfe', got FourMethods$"
    with pytest.raises(pytest.skip.Exception, match=reason):
        Incomplete().test_solver("frank_wolfe", "hinge")


def refuses_two_tasks(solver):
    """Return whether that is the first thing a solver finds wrong with no family at all."""
    task = hinge([-1.0, 1.0], 1.0)
    with pytest.raises((ValueError, AttributeError)) as found:
        next(solver.steps(SaddleProblem(None, (task, task)), Progress(1e-3), None))
    return found.type is ValueError


def test_the_table_of_solvers_is_true():
    """Every solver has a row, with its module, what it needs of a family and how many tasks."""
    section = PAGE.partition("\n## The solvers\n")[2].partition("\nThe members")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    named = set()
    for row in rows:
        name, module, *members = ([*re.findall(r"`(\w+)`", cell)] for cell in row[:4])
        found = getattr(importlib.import_module(f"kernelfit.solvers.saddle.{module[0]}"), name[0])
        for solver in found.values() if found is GRADIENT_SOLVERS else [found]:
            named.add(solver.name)
            assert sorted(members[0]) == sorted(solver.needs), solver.name
            assert row[4].strip() == ("one" if refuses_two_tasks(solver) else "any"), solver.name
        defined = PAGE.partition("\nThe members")[2]
        shared = {"initial", "mix", "D", "form", "contract", "broad", "directions"}
        for member in {m for cell in members for m in cell} - shared:
            assert re.search(rf"^\|.*`(response\.)?{member}\b", defined, re.M), member
    assert named == set(SOLVERS)
