"""Blocks solved alone, and the bound on what that costs."""

import numpy as np

from kernelfit.kernels.gram import DenseGram
from kernelfit.learners.hadamard import Penalty
from kernelfit.learners.partition import learn_blocks, partition_bound
from tests.reference import dank
from tests.reference.examples import example
from tests.reference.factors import learn
from tests.reference.svm import duality_gap


def blocks_of(problem, blocks, weight=None, *, eta, relative, **options):
    weight = np.ones(problem.n) if weight is None else weight
    gram, penalty = DenseGram(problem.K), Penalty("dank", eta, relative)
    return learn_blocks(gram, problem.task, blocks, penalty, weight=weight, tol=1e-9, **options)


def test_exact_where_the_kernel_vanishes_between_blocks():
    problem = example("svr", fit_intercept=False, n=40)
    blocks = np.arange(40) % 3
    problem = problem.replace(K=problem.K * (blocks[:, None] == blocks))
    result = blocks_of(problem, blocks, eta=2.0, relative=False)
    assert result.converged and result.gap <= 1e-8 * result.objective


def test_bound_holds_and_gap_is_true():
    for eta in (0.5, 20.0):
        problem = example("svc", fit_intercept=False, n=40)
        weight = np.random.default_rng(0).uniform(0.5, 2.0, 40)
        problem = problem.replace(lower=problem.lower * weight, upper=problem.upper * weight)
        blocks = (problem.K[0] > np.median(problem.K[0])).astype(int)
        result = blocks_of(problem, blocks, weight, eta=eta, relative=False)
        best = learn(problem, eta, weight=weight)
        bound, between = partition_bound(DenseGram(problem.K), problem.bound, weight, blocks, eta)
        lost = best.objective - result.objective
        assert -1e-9 <= lost <= min(bound, result.gap)
        off = problem.K * (blocks[:, None] != blocks)
        assert np.isclose(between, off.sum())
    unweighted = example("svc", fit_intercept=False, n=40)
    result = blocks_of(unweighted, blocks, eta=3.0, relative=False)
    machine = dank.saddle_problem(unweighted, result.x[0], 3.0, 0.0, "dank")
    assert np.isclose(result.gap, duality_gap(machine, result.x[0]), rtol=1e-9)


def test_block_of_one_class():
    problem = example("svc", fit_intercept=False, n=30)
    blocks = (problem.p > 0).astype(int)
    result = blocks_of(problem, blocks, eta=1.0, relative=True, n_jobs=2)
    assert not result.converged and result.gap > 1e-9 * result.objective
    assert result.status == "proved" and result.ending == "max_iter"
    assert np.all(result.x[0] * problem.p >= 0)
