"""Grids of the searches: in units of the data, extended where the best is at their edge."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, StratifiedKFold

import kernelfit
from kernelfit import (
    DANKRegressorCV,
    GPKClassifierCV,
    GPKRegressorCV,
    KernelRidgeRegressorCV,
    KernelSVCCV,
    KernelSVRCV,
    KNPLRegressorCV,
    MKLRegressorCV,
    TKLClassifierCV,
    TKLRegressorCV,
)

SEARCHES = [name for name in kernelfit.__all__ if name.endswith("CV")]


def regression():
    X, y = load_diabetes(return_X_y=True)
    return X[:120, 2:], y[:120]


@pytest.mark.parametrize(
    "search",
    [
        KernelSVRCV(),
        KernelSVRCV(kernel="linear"),
        KernelSVRCV(loss="squared_tube"),
        KernelRidgeRegressorCV(),
        DANKRegressorCV(gammas=["scale"], etas=[np.inf, 0.1]),
        KNPLRegressorCV(gammas=["scale"], etas=[0.1]),
        TKLRegressorCV(deltas=[0.5], search_tol=1e-3),  # of which scores differ by less than 1e-3
        GPKRegressorCV(degrees=[1]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_the_unit_of_the_targets_does_not_matter(search, unit):
    X, y = regression()
    search = clone(search).set_params(cv=KFold(3, shuffle=True, random_state=0))
    one, other = clone(search).fit(X, y), clone(search).fit(X, unit * y)
    assert_allclose(other.best_score_, one.best_score_, rtol=1e-3)
    assert one.best_score_ > 0.1
    for name, value in one.best_params_.items():
        squared = one.best_estimator_.loss.startswith("squared")
        with_unit = ("epsilon",) if squared else ("C", "epsilon")
        factor = unit if name in with_unit else 1.0
        if isinstance(value, str):
            assert other.best_params_[name] == value
        else:
            assert_allclose(other.best_params_[name], factor * value, rtol=1e-9)
    assert_allclose(other.predict(X), unit * one.predict(X), rtol=1e-2, atol=1e-2 * unit * y.std())


def waves():
    X = np.random.default_rng(0).standard_normal((40, 3))
    return X, np.sin(X[:, 0])


@pytest.mark.parametrize(
    "search",
    [
        MKLRegressorCV(kernels=["rbf", "linear"], cv=2),
        KernelSVRCV(gammas=["scale"], cv=2),
        TKLRegressorCV(deltas=[0.5], cv=2),
        DANKRegressorCV(gammas=["scale"], cv=2),
    ],
    ids=repr,
)
def test_costs_that_nobody_gave_are_named_by_their_unit(search):
    X, y = waves()
    message = r"^expected a moderate spread of the targets, .* got 7.31e\+148, .*: .* or give Cs$"
    if isinstance(search, DANKRegressorCV):  # fourth powers of the targets have to be finite
        message = r"^expected targets up to 1e\+70, got 1e\+149$"
    with pytest.raises(ValueError, match=message):
        clone(search).fit(X, 1e149 * y)
    search = clone(search).set_params(Cs=[1e200])
    with pytest.raises(ValueError, match=r"products of C and the weights, up to 1e\+"):
        search.fit(X, y)
    with pytest.raises(ValueError, match=r"targets with a spread of at least 1e-152, .* got 7.3"):
        clone(search).set_params(Cs=None).fit(X, 1e-200 * y)
    with pytest.raises(ValueError, match=r"targets with a spread of at least 1e-152, .* got 7.3"):
        KernelRidgeRegressorCV().fit(X, np.stack([y, 1e-200 * y], axis=1))


@pytest.mark.parametrize("scale", [1e-80, 1e-170])
def test_the_unit_of_the_linear_kernel_is_named(scale):
    X, y = waves()
    message = "^expected a moderate inverse variance of the features, the unit of the default Cs"
    with pytest.raises(ValueError, match=message):
        KernelSVCCV(kernel="linear").fit(scale * X, y > 0)


def test_grids_are_not_extended_beyond_what_costs_may_be():
    X, y = waves()
    search = GPKRegressorCV(cv=2).fit(X, 1e147 * y)
    assert search.best_score_ > 0.9
    assert max(search.cv_results_["param_C"]) <= 1e150


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_the_unit_of_the_features_does_not_matter(kernel):
    X, y = make_moons(90, noise=0.3, random_state=0)
    unit = 1000.0
    options = {"kernel": kernel, "cv": StratifiedKFold(3)}
    one = KernelSVCCV(**options).fit(X, y)
    other = KernelSVCCV(**options).fit(unit * X, y)
    assert_allclose(other.best_score_, one.best_score_, rtol=1e-9)
    if kernel == "linear":
        assert_allclose(other.best_params_["C"], one.best_params_["C"] / unit**2, rtol=1e-9)
    else:
        assert_allclose(other.best_params_["gamma"], one.best_params_["gamma"] / unit**2, rtol=1e-9)
        assert other.best_params_["C"] == one.best_params_["C"]
    assert_array_equal(other.predict(unit * X), one.predict(X))


def test_raw_data():
    """The case that failed with grids in absolute numbers."""
    X, y = load_diabetes(return_X_y=True)
    search = KernelSVRCV(cv=3).fit(X, 1000.0 * y)
    assert search.best_score_ > 0.4


def test_scale_among_the_gammas():
    X, y = make_moons(60, noise=0.3, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    search = KernelSVCCV(["scale", 3.0], [1.0]).fit(X, y, sample_weight=weight)
    machine = kernelfit.KernelSVC().fit(X, y, sample_weight=weight)
    gammas = [params["gamma"] for params in search.cv_results_["params"]]
    assert_allclose(gammas, [machine.gamma_, 3.0], rtol=1e-12)
    assert KernelSVCCV(("scale",), [1.0]).fit(X, y).best_params_["gamma"] > 0
    assert KernelSVCCV(np.array(["scale"]), [1.0]).fit(X, y).best_params_["gamma"] > 0
    for wrong in (["auto"], ["wide", 1.0], [None], "scale"):
        with pytest.raises(ValueError, match="gammas"):
            KernelSVCCV(wrong, [1.0]).fit(X, y)


def flatness(machine, X, y):
    """Score flat decision functions: while all coefficients are at their bounds, each
    division of C by 4 gains log(4), in every fold."""
    return -float(np.log(np.std(machine.decision_function(X))))


def steepness(machine, X, y):
    return -flatness(machine, X, y)


def values_of(search, name):
    return np.unique([params[name] for params in search.cv_results_["params"]])


def test_edges_of_default_grids_are_extended_three_times():
    X, y = make_moons(40, noise=0.3, random_state=0)
    default = 4.0 ** np.arange(-3, 6)
    search = KernelSVCCV(["scale"], scoring=flatness, cv=2).fit(X, y)
    assert_allclose(values_of(search, "C"), 4.0 ** np.arange(-9, 6), rtol=1e-12)
    assert search.best_params_["C"] == 4.0**-9
    # Small kernel values make all of the default costs small.
    K = 1e-9 * rbf_kernel(X)
    search = KernelSVCCV(kernel="precomputed", scoring=steepness, cv=2).fit(K, y)
    assert_allclose(values_of(search, "C"), 4.0 ** np.arange(-3, 12), rtol=1e-12)
    assert search.best_params_["C"] == 4.0**11
    scale = kernelfit.KernelSVC().fit(X, y).gamma_
    search = KernelSVCCV(Cs=[1e-6], scoring=flatness, cv=2).fit(X, y)
    assert_allclose(values_of(search, "gamma"), scale * 4.0 ** np.arange(-10, 4), rtol=1e-12)
    assert_array_equal(values_of(search, "C"), [1e-6])
    # Both at their edges: three steps in all.
    search = KernelSVCCV(scoring=flatness, cv=2).fit(X, y)
    sizes = len(values_of(search, "C")) - len(default), len(values_of(search, "gamma")) - 8
    assert sum(sizes) == 6
    for search in (TKLClassifierCV([0.5]), GPKClassifierCV([1])):
        search.set_params(scoring=flatness, cv=2).fit(X, y)
        assert_allclose(values_of(search, "C"), 10.0 ** np.arange(-7, 3), rtol=1e-12)


def test_every_candidate_is_tried_once():
    X, y = make_moons(40, noise=0.3, random_state=0)
    search = KernelSVCCV(scoring=flatness, cv=2).fit(X, y)
    params = [tuple(sorted(p.items())) for p in search.cv_results_["params"]]
    assert len(set(params)) == len(params)
    assert len(params) == len(values_of(search, "C")) * len(values_of(search, "gamma"))
    for name, column in search.cv_results_.items():
        assert len(column) == len(params), name
    assert search.cv_results_["rank_test_score"].min() == 1
    assert search.best_index_ == np.argmax(search.cv_results_["mean_test_score"])


def test_grids_of_the_user_are_not_extended():
    X, y = make_moons(40, noise=0.3, random_state=0)
    search = KernelSVCCV([1.0, 2.0], [1e-3, 1e-2], scoring=flatness, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_params_["C"] == 1e-3
    search = TKLClassifierCV([0.5, 0.7], [1e-3, 1e-2], scoring=flatness, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 4


def test_a_gain_that_the_folds_cannot_see_extends_nothing():
    X = np.r_[np.zeros((10, 1)), np.ones((10, 1))]  # every machine is right
    search = KernelSVCCV().fit(X, np.repeat([0, 1], 10))
    assert len(search.cv_results_["params"]) == 9 * 8
    calls = []

    def noise(machine, X, y):
        """Fall with the cost, but by less than the fall differs between the folds."""
        calls.append(None)
        rate = 1e-3 + (1e-2 if y[0] else -1e-2)  # a fold has one class
        return -rate * np.log(np.std(machine.decision_function(X)))

    X, y = make_moons(40, noise=0.3, random_state=0)
    folds = [(np.arange(20), np.flatnonzero(y[20:] == c) + 20) for c in (0, 1)]
    search = KernelSVCCV(["scale"], scoring=noise, cv=folds).fit(X, y)
    assert len(search.cv_results_["params"]) == 9
    assert len(calls) == 2 * 9


def test_averaged_machines_come_from_the_extended_grid():
    X, y = make_moons(40, noise=0.3, random_state=0)
    search = KernelSVCCV(["scale"], scoring=flatness, cv=2, n_average=5).fit(X, y)
    assert search.best_estimator_.C == search.best_params_["C"] == 4.0**-9


@pytest.mark.parametrize("name", SEARCHES)
def test_machine_and_search_have_the_same_defaults(name):
    """What both have is called and set alike; a grid's name is that of its parameter and an s."""
    search, machine = (
        inspect.signature(getattr(kernelfit, cls)).parameters for cls in (name, name[:-2])
    )
    shared = search.keys() & machine.keys()
    assert {"cache_size", "fit_intercept", "verbose"} <= shared
    iterates = not name.startswith("KernelRidge")
    assert ({"tol", "max_iter"} <= shared) == iterates
    for parameter in shared:
        assert search[parameter].default == machine[parameter].default, parameter
    order = [parameter for parameter in machine if parameter in shared]
    assert [parameter for parameter in search if parameter in shared] == order
    own = search.keys() - machine.keys()
    grids = {"gammas", "Cs", "etas", "epsilons", "deltas", "degrees", "scalings", "ps"}
    grids |= {"tessellated_degrees", "bases"}
    extra = {"cv", "n_average", "scoring", "n_jobs", "checkpoint"}
    extra |= {"search_tol"} if iterates else set()
    assert own - grids == extra - machine.keys()
    for grid in own & grids:
        single = "basis" if grid == "bases" else grid[:-1]
        assert single in machine and search[grid].default is None
    assert search["cv"].default == (5 if iterates else None)


@pytest.mark.parametrize("name", SEARCHES)
def test_default_grids_contain_what_they_say(name):
    """Every search takes its first steps on its default grid."""
    X, y = load_iris(return_X_y=True)
    cls = getattr(kernelfit, name)
    search = cls(cv=2)
    y = (y > 0) if is_classifier(search) else X[:, 2]
    search._validate_params()
    grid = search._grid(X[:, :2], np.asarray(y, dtype=float), np.ones(len(y)))
    params = grid.params()
    assert len({tuple(sorted(p.items(), key=str)) for p in params}) == len(params)
    assert {p["C"] for p in params} == set(grid.Cs)
    squared = name.startswith("KernelRidge")  # whose C has no unit
    assert ("epsilon" in params[0]) == (is_regressor(search) and not squared)
    if is_regressor(search) and not squared:
        assert max(grid.epsilons) == pytest.approx(0.1 * np.std(y))
        scaled = search._grid(X[:, :2], 1000.0 * y, np.ones(len(y)))
        assert_allclose(scaled.Cs, 1000.0 * np.array(grid.Cs), rtol=1e-9)
