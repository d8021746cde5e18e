"""Paths of growing costs: each machine is what a fit of its own would give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import minmax_scale

from kernelfit import (
    DANKClassifier,
    DANKRegressor,
    GPKClassifier,
    GPKRegressor,
    KernelOneClass,
    KernelRidgeRegressor,
    KernelSVC,
    KernelSVCCV,
    KernelSVR,
    KNPLClassifier,
    KNPLRegressor,
    TKLClassifier,
    TKLRegressor,
    path,
)
from kernelfit.inspection import audit
from kernelfit.learners import fixed
from kernelfit.learners.adaptive import AdaptiveLearner, Extension
from kernelfit.learners.fixed import FixedLearner
from kernelfit.learners.hadamard import Penalty
from kernelfit.learners.training import TrainingGram
from tests.reference import dank
from tests.reference.svm import duality_gap, svc_problem, svr_problem

CS = [0.1, 2.0, 40.0, 1000.0]


def classification():
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:150]
    return minmax_scale(X[rows]), y[rows]


def three_classes():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2]


def regression():
    X, y = load_diabetes(return_X_y=True)
    return minmax_scale(X[:150]), (y[:150] - y.mean()) / y.std()


MACHINES = [
    KernelSVC(),
    KernelSVC(multi_class="ovr", kernel="poly", coef0=1.0, degree=2),
    KernelSVC(kernel="linear", class_weight="balanced", fit_intercept=False),
    KernelSVC(cache_size=0.01),
    KernelSVR(),
    KernelSVR(epsilon=0.0, kernel="laplacian"),
    DANKClassifier(),
    DANKClassifier(tau=0.1, eta="0.1*auto", out_of_sample="knn"),
    DANKRegressor(eta=10.0),
    KNPLClassifier(eta="0.5*auto"),
    KNPLRegressor(),
    TKLClassifier(),
    TKLClassifier(kernel_sharing="joint"),
    TKLRegressor(basis="xz"),
    GPKClassifier(),
    GPKRegressor(degree=1),
]


def diagonal(model, X):
    """Return k(x, x) at the points, of all learned kernels."""
    kernels = getattr(model, "kernels_", None) or [model.kernel_]
    return np.array([[kernel(x[None], x[None])[0, 0] for x in X] for kernel in kernels])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_machines_are_those_of_single_fits(machine, weighted):
    """The bounds of both on one optimum overlap, and decision values agree as these allow."""
    X, y = three_classes() if is_classifier(machine) else (a[:60] for a in regression())
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], len(y)) if weighted else None
    Cs = [5.0, 0.1, 50.0, 5.0]
    machine = clone(machine).set_params(tol=1e-8)
    before = dict(vars(machine))
    found = path(machine, X, y, Cs, sample_weight=weight)
    assert vars(machine) == before
    assert [model.C for model in found] == Cs
    for model in found:
        single = clone(model).fit(X, y, sample_weight=weight)
        assert type(model) is type(machine) and np.all(model.converged_)
        assert vars(model).keys() == vars(single).keys()
        assert np.all(model.dual_gap_ >= 0) and np.all(single.dual_gap_ >= 0)
        assert np.all(model.dual_gap_ <= model.tol * model.objective_)
        rounding = 1e-12 * np.abs(single.objective_)
        if not isinstance(getattr(machine, "eta", None), str):  # which follows another machine
            assert np.all(model.objective_ <= single.objective_ + single.dual_gap_ + rounding)
            assert np.all(single.objective_ <= model.objective_ + model.dual_gap_ + rounding)
        else:
            assert_allclose(model.eta_, single.eta_, rtol=1e-4)
            assert_allclose(model.objective_, single.objective_, rtol=1e-4)
        method = "decision_function" if is_classifier(model) else "predict"
        values, expected = getattr(model, method)(X), getattr(single, method)(X)
        # Of a machine, sqrt(2 gap k(x, x)); twice for both, and as much for their intercepts.
        radius = np.sqrt(2e-8 * np.max(single.objective_) * np.max(diagonal(single, X)))
        assert_allclose(values, expected, atol=4 * radius)


def test_equal_costs_give_equal_machines():
    X, y = classification()
    one, two, _ = path(KernelSVC(), X, y, [1.0, 1.0, 10.0])
    assert_allclose(one.dual_coef_, two.dual_coef_, rtol=1e-9)
    assert one is not two


def test_precomputed_and_named_features():
    pandas = pytest.importorskip("pandas")
    X, y = classification()
    K = rbf_kernel(X)
    for model in path(KernelSVC(kernel="precomputed"), K, y, [1.0, 10.0]):
        expected = KernelSVC(model.C, kernel="precomputed").fit(K, y).decision_function(K)
        assert_allclose(model.decision_function(K), expected, atol=1e-3)
    frame = pandas.DataFrame(X[:, :2], columns=["a", "b"])
    for model in path(KernelSVC(), frame, y, [1.0, 10.0]):
        assert list(model.feature_names_in_) == ["a", "b"]


@pytest.mark.parametrize(
    ("estimator", "Cs", "message"),
    [
        (
            LogisticRegression(),
            [1.0],
            r"expected a kernel machine such as KernelSVC\(\), got Logis",
        ),
        (KernelSVCCV(), [1.0], "expected a kernel machine such as"),
        (KernelSVC, [1.0], "expected a kernel machine such as"),
        (KernelSVC(), [], "expected Cs to be a list of positive numbers"),
        (KernelSVC(), [1.0, 0.0], "expected Cs to be a list of positive numbers"),
        (KernelSVC(), 1.0, "expected Cs to be a list of positive numbers"),
        (KernelSVC(), [1.0, 1e200], r"products of C and the weights, up to 1e\+150, got 1e\+200"),
        (KernelSVC(tol=0.0), [1.0], "'tol' parameter"),
        (KernelOneClass(), [1.0], "expected a machine with a cost C, got KernelOneClass"),
    ],
)
def test_bad_arguments(estimator, Cs, message):
    X, y = classification()
    with pytest.raises(ValueError, match=message):
        path(estimator, X, y, Cs)


def test_machines_that_miss_the_tolerance_say_so():
    X, y = classification()
    with pytest.warns(ConvergenceWarning, match="KernelSVC stopped at a relative duality gap"):
        path(KernelSVC(max_iter=1, tol=1e-14), X, y, [1e4])


def task_problem(task, K, y, C):
    if task == "regression":
        return svr_problem(K, y, C, 0.1)
    return svc_problem(K, np.where(y > 0, 1.0, -1.0), C)


def learner(kind, K, weight, tol):
    gram = TrainingGram(None, K, np.inf, matrix=K)
    if kind == "fixed":
        return FixedLearner(gram, None, True, tol, 1000, polish=False)
    penalty = Penalty("dank", 1.0, True)
    extension = Extension("neutral", 1, None, weight)
    etas = {"plain": [np.inf], "adaptive": [1.0]}[kind]
    return AdaptiveLearner(
        gram, None, weight, penalty, extension, True, tol, 1000, polish=False, etas=etas
    )


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("gamma", [0.01, 1.0, 30.0])
def test_path_equals_separate_solves(task, gamma):
    X, y = classification() if task == "classification" else regression()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    K = rbf_kernel(X, gamma=gamma)
    machine = learner("fixed", K, weight, 1e-9)
    problems = {C: task_problem(task, K, y, C * weight) for C in CS}
    everything = slice(None)
    found = list(machine.path(everything, lambda C: (problems[C].task,), CS))
    for C, result in zip(CS, found, strict=True):
        assert result.converged
        single = fixed.solve_dual(K, problems[C].task, tol=1e-9)
        radius = 2.0 * np.sqrt(2e-9 * single.objective)
        assert_allclose(K @ result.x[0], single.decision, atol=radius)
        beta = np.abs(result.x[0])
        if np.any((beta > 0) & (beta < C * weight)):
            assert abs(result.intercept[0] - single.intercept) <= 2 * radius


@pytest.mark.parametrize("kind", ["fixed", "plain"])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("Cs", [2.0 ** np.arange(-5, 5.01, 0.25), 10.0 ** np.arange(-3, 4)])
def test_every_solution_of_a_path_meets_the_tolerance(kind, task, Cs):
    """Scaled by a ratio that rounding makes smaller, coefficients at their bounds look free."""
    X, y = classification() if task == "classification" else regression()
    for gamma in (0.001, 0.03, 1.0):
        K = rbf_kernel(X, gamma=gamma)
        problems = {C: task_problem(task, K, y, C) for C in Cs}
        machine = learner(kind, K, np.ones(len(y)), 1e-4)
        found = machine.path(slice(None), lambda C: (problems[C].task,), Cs)  # noqa: B023
        for C, result in zip(Cs, found, strict=True):
            problem, beta = problems[C], result.x[0]
            value = problem.p @ beta - 0.5 * beta @ K @ beta - problem.epsilon * np.abs(beta).sum()
            gap = duality_gap(problem, beta, result.intercept[0])
            assert gap <= 1.01e-4 * value
            assert_allclose([result.objective, result.gap], [value, gap], atol=1e-9 * value)


def test_every_adaptive_solution_of_a_path_meets_the_tolerance():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    K, Cs = rbf_kernel(X, gamma=30.0), 10.0 ** np.arange(-2, 6)
    problems = {C: svr_problem(K, y, C, 0.05) for C in Cs}
    plain, found = (
        learner(kind, K, np.ones(60), 1e-4).path(slice(None), lambda C: (problems[C].task,), Cs)
        for kind in ("fixed", "adaptive")
    )
    for C, result, start in zip(Cs, found, plain, strict=True):
        beta, eta = result.x[0], float(start.x[0] @ start.x[0])
        machine = dank.saddle_problem(problems[C], beta, eta, 0.0, "dank")
        value = dank.objective(problems[C], beta, eta, 0.0, "dank")
        assert duality_gap(machine, beta) <= 1.01e-4 * value


def test_solution_inside_its_bounds_serves_larger_costs(monkeypatch):
    X, y = classification()
    costs, solve = [], fixed.solve_dual

    def counting(gram, task, **options):
        costs.append(task.upper.max())
        return solve(gram, task, **options)

    monkeypatch.setattr(fixed, "solver_for", lambda gram: counting)
    Cs = 10.0 ** np.arange(-2, 7)
    K = rbf_kernel(X, gamma=100.0)
    problems = {C: svc_problem(K, np.where(y > 0, 1.0, -1.0), C) for C in Cs}
    machine = learner("fixed", K, np.ones(len(y)), 1e-3)
    coef = np.stack([r.x[0] for r in machine.path(slice(None), lambda C: (problems[C].task,), Cs)])
    assert len(costs) < len(Cs)
    skipped = [k for k in range(1, len(Cs)) if np.array_equal(coef[k], coef[k - 1])]
    assert len(skipped) == len(Cs) - len(costs)
    assert np.all(np.abs(coef[skipped]) < Cs[skipped, None])


def test_the_gram_matrix_of_a_path_is_computed_once():
    calls = []

    def kernel(A, B):
        calls.append(len(A))
        return rbf_kernel(A, B)

    X, y = classification()
    path(KernelSVC(kernel=kernel), X, y, CS)
    assert calls == [len(X)]


@pytest.mark.parametrize(
    "machine",
    [
        KernelRidgeRegressor(),
        KernelSVC(loss="squared_hinge"),
        KernelSVR(loss="squared_tube"),
        KernelSVR(),
    ],
)
def test_weights_that_only_costs_make_noticeable(machine):
    """What limits the costs of squared losses belongs to C times the weight."""
    X, y = classification() if is_classifier(machine) else regression()
    weight = np.full(len(y), 1e-155)
    for found in path(machine, X, y, [1e155, 1e156], sample_weight=weight):
        alone = clone(machine).set_params(C=found.C).fit(X, y, weight)
        assert_allclose(found.objective_, alone.objective_, rtol=1e-5)
        assert audit(found, X, y, sample_weight=weight).confirmed
