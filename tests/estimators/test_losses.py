"""The losses that the machines take: optima of cvxpy, limit cases, and audits."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC, LinearSVR

import kernelfit
from kernelfit import (
    DANKClassifierCV,
    DANKRegressorCV,
    GPKClassifier,
    GPKRegressor,
    KernelQuantileRegressor,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    KernelSVC,
    KernelSVCCV,
    KernelSVR,
    KernelSVRCV,
    KNPLClassifierCV,
    KNPLRegressorCV,
    MKLClassifierCV,
    MKLRegressorCV,
    TKLClassifier,
    TKLClassifierCV,
    TKLRegressor,
    TKLRegressorCV,
)
from kernelfit.inspection import audit
from kernelfit.kernels.standard import RBF
from kernelfit.tasks import losses
from tests.reference.losses import (
    EPSILON,
    LEVEL,
    NU,
    LossProblem,
    cvxpy_dual,
    cvxpy_primal,
    loss_problem,
)

SOLVERS = ("frank_wolfe", "fully_corrective", "apd", "hybrid")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=40), rng.uniform(0.2, 3.0, size=40)


def machines(fit_intercept):
    """Yield the name of a loss in the reference, and a machine."""
    options = {"gamma": 0.3, "fit_intercept": fit_intercept, "tol": 1e-10}
    yield "squared hinge", KernelSVC(1.7, loss="squared_hinge", **options)
    yield "squared", KernelSVC(1.7, loss="squared", **options)
    yield "squared", KernelSVR(1.7, loss="squared", **options)
    yield "pinball", KernelQuantileRegressor(LEVEL, 1.7, **options)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("place", range(4))
def test_bounds_meet_at_the_optimum_of_cvxpy(data, place, fit_intercept):
    X, y, weight = data
    name, machine = list(machines(fit_intercept))[place]
    y = np.where(y > 0.0, 1.0, -1.0) if isinstance(machine, KernelSVC) else y
    machine.fit(X, y, sample_weight=weight)
    K = RBF(0.3)(X)
    dual = cvxpy_dual(loss_problem(name, K, y, 1.7 * weight, fit_intercept))
    primal = cvxpy_primal(name, K, y, 1.7 * weight, fit_intercept)
    assert machine.objective_ == pytest.approx(dual, rel=1e-8)
    assert machine.objective_ + machine.dual_gap_ == pytest.approx(primal, rel=1e-8)
    assert audit(machine, X, y, weight).confirmed


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_squared_tube_meets_cvxpy(data, fit_intercept):
    X, y, weight = data
    machine = KernelSVR(
        1.7, epsilon=0.2, loss="squared_tube", gamma=0.3, fit_intercept=fit_intercept
    ).fit(X, y, sample_weight=weight)
    free, total = np.full(40, np.inf), 0.0 if fit_intercept else None
    problem = LossProblem(RBF(0.3)(X), y, -free, free, 0.2, 0.5 / (1.7 * weight), total)
    assert machine.objective_ == pytest.approx(cvxpy_dual(problem), rel=1e-8)
    assert audit(machine, X, y, weight).confirmed


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("squared hinge", losses.squared_hinge),
        ("squared", losses.squared),
        ("pinball", lambda y, C: losses.pinball(y, C, LEVEL)),
        ("tube", lambda y, C: losses.tube(y, C, EPSILON)),
        ("one-class", lambda y, C: losses.one_class(C, NU)),
    ],
)
def test_tasks_are_those_of_the_table(name, make):
    """The reference has the table of losses in its own words; here for equal costs."""
    y = np.array([1.0, -1.0, 1.0, -1.0])
    C = 1.0 if name == "one-class" else 2.5
    task = make(y, np.full(4, C))
    for field, value in loss_problem(name, np.eye(4), y, C).task_terms.items():
        if value is None or field == "total":
            assert getattr(task, field) == value
        else:
            np.testing.assert_allclose(getattr(task, field), value, rtol=1e-15)


def test_squared_losses_are_those_of_liblinear(data):
    """On centred features without an intercept both solve the same problem."""
    X, y, weight = data
    labels = np.where(y > 0.0, 1, -1)
    ours = KernelSVC(0.8, loss="squared_hinge", kernel="linear", fit_intercept=False)
    theirs = LinearSVC(C=0.8, fit_intercept=False, tol=1e-12, max_iter=10**6)
    for model in (ours, theirs):
        model.fit(X, labels, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
    ours = KernelSVR(
        0.8, epsilon=0.2, loss="squared_tube", kernel="linear", fit_intercept=False
    ).fit(X, y)
    theirs = LinearSVR(
        C=0.8,
        epsilon=0.2,
        loss="squared_epsilon_insensitive",
        fit_intercept=False,
        tol=1e-12,
        max_iter=10**6,
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_[0], theirs.coef_, rtol=1e-6)


def test_least_squares_are_kernel_ridge(data):
    X, y, weight = data
    options = {"loss": "squared", "tol": 1e-12}
    labels = np.digitize(y, [-0.4, 0.4])
    pairs = [
        (KernelSVC(2.0, multi_class="ovr", **options), KernelRidgeClassifier(2.0), labels),
        (KernelSVR(2.0, **options), KernelRidgeRegressor(2.0), y),
        (KernelSVR(2.0, loss="squared_tube", epsilon=0.0), KernelRidgeRegressor(2.0), y),
    ]
    for ours, ridge, targets in pairs:
        function = "predict" if targets is y else "decision_function"
        values = [getattr(m.fit(X, targets, weight), function)(X) for m in (ours, ridge)]
        np.testing.assert_allclose(*values, atol=1e-6)
        assert np.sum(ours.objective_) == pytest.approx(ridge.objective_, rel=1e-9)


@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
@pytest.mark.parametrize("cls", [TKLClassifier, GPKClassifier])
def test_learned_kernels_under_squared_losses(data, cls, loss):
    X, y, weight = data
    labels = np.digitize(y, [-0.4, 0.4])
    for options in ({}, {"kernel_sharing": "joint"}):
        machine = cls(2.0, loss=loss, tol=1e-4, **options).fit(X, labels, weight)
        found = audit(machine, X, labels, weight)
        assert all(bounds.confirmed for bounds in np.atleast_1d(found))
        assert np.all(machine.dual_gap_ <= 1e-4 * machine.objective_)


@pytest.mark.parametrize("loss", ["squared", "squared_tube"])
@pytest.mark.parametrize("cls", [TKLRegressor, GPKRegressor])
@pytest.mark.parametrize("solver", SOLVERS)
def test_learned_kernels_of_regression(data, cls, loss, solver):
    X, y, weight = data
    machine = cls(2.0, loss=loss, solver=solver, tol=1e-2).fit(X, y, weight)
    assert audit(machine, X, y, weight).confirmed
    assert machine.dual_gap_ <= 1e-2 * machine.objective_
    exact = cls(2.0, loss=loss, tol=1e-6).fit(X, y, weight)
    upper = machine.objective_ + machine.dual_gap_
    assert machine.objective_ <= exact.objective_ + exact.dual_gap_ <= upper * (1.0 + 1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "squared", "squared_tube"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("DANK", {}),
        ("DANK", {"tau": 0.02}),
        ("DANK", {"solver": "damped"}),
        ("KNPL", {}),
        ("KNPL", {"solver": "alternating"}),
        ("MKL", {"tol": 1e-4}),
        ("MKL", {"combination": "lp"}),
        ("MKL", {"combination": "average"}),
        ("MKL", {"combination": "alignf"}),
        ("KernelUnion", {"families": ["gaussian", "tessellated"]}),
    ],
)
def test_factors_and_weights_of_kernels_under_squared_losses(data, name, options, loss):
    X, y, weight = data
    kinds = {"squared_hinge": ["Classifier"], "squared_tube": ["Regressor"]}
    for kind in kinds.get(loss, ["Classifier", "Regressor"]):
        machine = getattr(kernelfit, name + kind)(2.0, loss=loss, **options)
        targets = (y > 0.0).astype(int) if kind == "Classifier" else y
        machine.fit(X, targets, weight)
        assert audit(machine, X, targets, weight).confirmed
        assert machine.dual_gap_ <= 1e-3 * machine.objective_


def test_one_kernel_is_the_machine_alone(data):
    """An infinite penalty of the factor, or a bank of one, leaves the given kernel."""
    X, y, _ = data
    ridge = KernelRidgeRegressor(2.0, gamma=0.3).fit(X, y)
    bank = [{"kernel": "rbf", "gamma": 0.3}]
    for machine in (
        kernelfit.DANKRegressor(2.0, loss="squared", eta=np.inf, gamma=0.3),
        kernelfit.KNPLRegressor(2.0, loss="squared", eta=np.inf, gamma=0.3),
        kernelfit.MKLRegressor(2.0, loss="squared", kernels=bank, normalize=False, tol=1e-9),
    ):
        np.testing.assert_allclose(machine.fit(X, y).predict(X), ridge.predict(X), atol=1e-5)


def test_what_does_not_take_squares(data):
    X, y, _ = data
    for options in ({"solver": "quartic"}, {"solver": "nesterov"}):
        machine = kernelfit.DANKRegressor(loss="squared", **options)
        with pytest.raises(ValueError, match="expected solver 'auto', 'newton' or 'damped'"):
            machine.fit(X, y)
    with pytest.raises(ValueError, match="expected a loss that is not squared for a partition"):
        kernelfit.DANKRegressor(loss="squared", partition=2).fit(X, y)


def test_the_learned_kernel_is_the_best_of_its_family_for_ridge(data):
    """Kernel ridge on the learned kernel attains the bound, and on another one does not."""
    X, y, _ = data
    machine = TKLRegressor(2.0, loss="squared", tol=1e-6).fit(X, y)
    ridge = KernelRidgeRegressor(2.0, kernel=machine.kernel_).fit(X, y)
    assert ridge.objective_ == pytest.approx(machine.objective_, rel=1e-5)
    other = TKLRegressor(2.0, loss="squared", tol=1e-6).fit(X, X[:, 2] ** 2)
    worse = KernelRidgeRegressor(2.0, kernel=other.kernel_).fit(X, y)
    assert worse.objective_ > machine.objective_ * (1.0 + 1e-4)


def test_searches_take_the_loss(data):
    X, y, _ = data
    labels = (y > 0.0).astype(int)
    for search, targets in [
        (KernelSVCCV([0.1], [0.5, 4.0], loss="squared_hinge", cv=2), labels),
        (KernelSVRCV([0.1], [0.5, 4.0], [0.1], loss="squared_tube", cv=2), y),
        (KernelSVRCV([0.1], [0.5, 4.0], loss="squared", cv=2), y),
        (TKLClassifierCV([0.5], [0.5, 4.0], loss="squared_hinge", cv=2), labels),
        (TKLRegressorCV([0.5], [0.5, 4.0], loss="squared", cv=2), y),
        (DANKClassifierCV([0.1], [0.5, 4.0], loss="squared_hinge", cv=2), labels),
        (DANKRegressorCV([0.1], [0.5, 4.0], loss="squared", cv=2), y),
        (KNPLClassifierCV([0.1], [0.5, 4.0], loss="squared", cv=2), labels),
        (KNPLRegressorCV([0.1], [0.5, 4.0], loss="squared_tube", cv=2), y),
        (MKLClassifierCV([0.5, 4.0], loss="squared_hinge", cv=2), labels),
        (MKLRegressorCV([0.5, 4.0], loss="squared_tube", cv=2), y),
    ]:
        search.fit(X, targets)
        assert search.best_estimator_.loss == search.loss
        assert ("epsilon" in search.best_params_) == (search.loss == "squared_tube")
        assert audit(search, X, targets).confirmed
    with pytest.raises(ValueError, match="expected epsilons=None for loss='squared'"):
        KernelSVRCV(epsilons=[0.1], loss="squared").fit(X, y)


def test_default_costs_of_squared_losses_have_no_unit(data):
    X, y, _ = data
    found = [
        KernelSVRCV([0.1], epsilons=None, loss="squared_tube", cv=2).fit(X, factor * y)
        for factor in (1.0, 1000.0)
    ]
    assert found[0].best_params_["C"] == found[1].best_params_["C"]
    ratio = found[1].best_params_["epsilon"] / found[0].best_params_["epsilon"]
    assert ratio == pytest.approx(1000.0)


def test_default_epsilons_do_not_depend_on_the_scale_of_features(data):
    X, y, _ = data
    a, b = (
        KernelSVRCV(kernel="linear", cv=2).fit(factor * X, y).cv_results_["param_epsilon"]
        for factor in (1.0, 1e-4)
    )
    assert set(a) == set(b) and max(a) == pytest.approx(0.1 * y.std())
