"""Machines on weighted sums of kernels: the bank, its weights, certificates and complaints."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR

from kernelfit import (
    KernelSVC,
    KernelSVR,
    KernelUnionClassifier,
    MKLClassifier,
    MKLClassifierCV,
    MKLRegressor,
    MKLRegressorCV,
    TKLClassifier,
)
from kernelfit.estimators import bank as bank_module
from kernelfit.estimators.multiple import COMBINATIONS
from kernelfit.inspection import audit
from kernelfit.kernels.standard import RBF
from tests.reference import multiple_kernels as reference

WIDTHS = [{"kernel": "rbf", "gamma": [0.01, 0.1, 1.0, 10.0]}, "linear"]


def moons(n=120):
    X, y = make_moons(n, noise=0.25, random_state=0)
    noise = np.random.default_rng(0).standard_normal((n, 2))
    return np.hstack([scale(X), noise]), y


def friedman(n=100):
    X, y = make_friedman1(n, 5, noise=0.5, random_state=0)
    return scale(X), scale(y)


def not_symmetric(X, Y):
    return X[:, :1] + 2.0 * Y[:, 0]


def with_nan(X, Y):
    return np.full((len(X), len(Y)), np.nan)


def zero(X, Y):
    return np.zeros((len(X), len(Y)))


def indefinite(X, Y):
    return 0.1 - X @ Y.T


def test_default_bank_is_that_of_the_papers():
    X, y = moons()
    model = MKLClassifier(C=10.0).fit(X, y)
    assert len(model.bank_) == len(model.weights_) == 13 * (X.shape[1] + 1)
    groups = [member.features for member in model.bank_]
    assert [groups.count(g) for g in (None, (0,), (1,), (2,), (3,))] == [13] * 5
    X[:, 1] = 3.0  # a constant feature has no kernels of its own
    assert len(MKLClassifier().fit(X, y).bank_) == 13 * 4


@pytest.mark.parametrize("combination", ["simple", "lp", "average"])
def test_bounds_follow_from_the_fitted_attributes(combination):
    X, y = moons()
    model = MKLClassifier(C=10.0, combination=combination, p=1.5).fit(X, y)
    assert model.converged_ and model.status_ == "proved"
    assert 0 <= model.dual_gap_ <= 1e-3 * model.objective_
    K = model.kernel_(model.support_vectors_)
    signs = np.where(y == 1, 1.0, -1.0)
    hinge = np.maximum(1 - signs * model.decision_function(X), 0).sum()
    beta = model.dual_coef_[0]
    assert_allclose(0.5 * beta @ K @ beta + 10 * hinge, model.objective_ + model.dual_gap_)
    assert np.all(model.weights_ >= 0.0)
    if combination == "simple":
        assert_allclose(model.weights_.sum(), 1.0, rtol=1e-12)
        assert np.count_nonzero(model.weights_) < len(model.bank_) / 3
    elif combination == "average":
        assert_array_equal(model.weights_, 1 / len(model.bank_))
    else:
        assert_allclose(np.mean((len(model.bank_) * model.weights_) ** 1.5), 1.0, rtol=1e-3)
    assert_array_equal(model.history_[-1], [model.objective_, model.dual_gap_])


def test_simple_finds_the_features_that_matter():
    X, y = moons(300)
    bank = [{"kernel": "rbf", "gamma": 0.5, "features": "each"}]
    model = MKLClassifier(C=10.0, kernels=bank).fit(X, y)
    assert model.weights_[:2].sum() > 0.8


@pytest.mark.parametrize("combination", ["simple", "lp", "average"])
def test_one_kernel_is_the_plain_machine(combination):
    X, y = load_iris(return_X_y=True)
    model = MKLClassifier(
        C=3.0, kernels=[{"kernel": "rbf", "gamma": 2.0}], combination=combination
    ).fit(X, y)
    plain = KernelSVC(C=3.0, gamma=2.0, multi_class="ovr").fit(X, y)
    assert_array_equal(model.weights_, [1.0])
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-9)
    assert_allclose(model.objective_, plain.objective_.sum(), rtol=1e-12)
    X, y = friedman()
    model = MKLRegressor(kernels=["rbf"], combination=combination).fit(X, y)
    assert_allclose(model.predict(X), KernelSVR().fit(X, y).predict(X), atol=1e-9)


def test_average_is_a_machine_on_the_average():
    X, y = moons()
    kernels = [lambda A, B: rbf_kernel(A, B, 0.5), lambda A, B: polynomial_kernel(A, B, 2)]
    model = MKLClassifier(C=2.0, kernels=kernels, combination="average").fit(X, y)

    def average(A, B):
        scale = np.mean(np.diag(polynomial_kernel(X, X, 2)))
        return 0.5 * (rbf_kernel(A, B, 0.5) + polynomial_kernel(A, B, 2) / scale)

    other = SVC(C=2.0, kernel=average, tol=1e-8).fit(X, y)
    assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-5)
    assert_allclose(model.kernel_(X[:5], X), average(X[:5], X), rtol=1e-12)


def test_learned_kernel_works_in_other_machines():
    X, y = moons()
    model = MKLClassifier(C=2.0, tol=1e-7).fit(X, y)
    kernel = pickle.loads(pickle.dumps(model.kernel_))
    other = SVC(C=2.0, kernel=kernel, tol=1e-8).fit(X, y)
    assert_allclose(model.decision_function(X), other.decision_function(X), atol=2e-3)
    X, y = friedman()
    model = MKLRegressor(C=2.0, tol=1e-7).fit(X, y)
    other = SVR(C=2.0, kernel=model.kernel_, tol=1e-8).fit(X, y)
    assert_allclose(model.predict(X), other.predict(X), atol=2e-3)


def test_kernels_learned_elsewhere_join_the_bank():
    X, y = moons()
    tessellated = TKLClassifier(C=2.0).fit(X, y)
    alone = MKLClassifier(C=2.0, kernels=["linear"]).fit(X, y)
    both = MKLClassifier(C=2.0, kernels=["linear", tessellated.kernel_]).fit(X, y)
    assert both.objective_ <= alone.objective_ + alone.dual_gap_
    assert both.weights_[-1] > 0.0
    assert audit(both, X, y).confirmed


@pytest.mark.parametrize("combination", ["simple", "lp", "average"])
@pytest.mark.parametrize("sharing", ["joint", "separate"])
def test_classes_share_weights_or_do_not(combination, sharing):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = MKLClassifier(
        C=5.0, kernels=WIDTHS, combination=combination, kernel_sharing=sharing
    ).fit(X, y, sample_weight=weight)
    assert model.score(X, y) > 0.9
    assert model.weights_.shape == ((5,) if sharing == "joint" else (3, 5))
    assert hasattr(model, "kernel_") == (sharing == "joint")
    for found in np.atleast_1d(np.array(audit(model, X, y, weight), dtype=object)):
        assert found.confirmed, found


def test_weights_of_both_signs_are_marked_as_uncertified():
    X, y = moons()
    sign = 2.0 * (y == y.max()) - 1.0
    model = MKLClassifier(C=1.0, kernels=WIDTHS, combination="alignf_signed")
    with pytest.warns(UserWarning, match="without proof of optimality"):
        model.fit(X, y)
    assert model.weights_.min() < 0.0 and np.linalg.eigvalsh(model.kernel_(X))[0] < -1e-3
    assert model.status_ == "stationary" and np.isnan(model.dual_gap_)
    matrices = [kernel(X) for kernel in model.bank_]
    best = reference.signed_alignment(matrices, np.outer(sign, sign))
    found = reference.centred(model.kernel_(X))
    assert_allclose(found / np.linalg.norm(found), best / np.linalg.norm(best), atol=1e-7)
    # A stationary point: values of free points are their labels, others are on the right side.
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    slack = sign * model.decision_function(X) - 1.0
    size = np.abs(beta)
    assert np.all(slack[size < 1.0] > -1e-2) and np.all(slack[size > 0.0] < 1e-2)
    assert_allclose(beta.sum(), 0.0, atol=1e-9)


def test_the_audit_says_no_to_other_weights():
    X, y = moons()
    model = MKLClassifier(C=5.0, kernels=WIDTHS).fit(X, y)
    assert audit(model, X, y).confirmed
    model._thetas = [np.roll(model.weights_, 1)]
    assert not audit(model, X, y).confirmed


def test_regressors_are_confirmed():
    X, y = friedman()
    for combination in ("simple", "lp", "average"):
        assert audit(MKLRegressor(combination=combination).fit(X, y), X, y).confirmed


def stack(X, Y):
    kernels = [rbf_kernel(X, Y, g) for g in (0.1, 1.0)] + [polynomial_kernel(X, Y, 2)]
    return np.stack(kernels, axis=-1)


@pytest.mark.parametrize("sharing", ["joint", "separate"])
def test_given_matrices_are_the_kernels_that_made_them(sharing):
    X, y = load_iris(return_X_y=True)
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    K, K_test = stack(X[train], X[train]), stack(X[test], X[train])
    gamma = 1 / X.shape[1]
    bank = [
        {"kernel": "rbf", "gamma": [0.1, 1.0]},
        {"kernel": "poly", "degree": 2, "coef0": 1, "gamma": gamma},
    ]
    options = {"C": 5.0, "tol": 1e-7, "kernel_sharing": sharing}
    known = MKLClassifier(kernels=bank, **options).fit(X[train], y[train])
    given = MKLClassifier(kernels="precomputed", **options).fit(K, y[train])
    assert given.kernel_ is None and not hasattr(given, "bank_")
    assert_allclose(given.weights_, known.weights_, atol=1e-3)
    assert_allclose(given.decision_function(K_test), known.decision_function(X[test]), atol=1e-3)
    assert np.all(np.atleast_1d([a.confirmed for a in np.atleast_1d(audit(given, K, y[train]))]))


def test_given_matrices_are_split_by_scikit_learn():
    X, y = moons()
    K = stack(X, X)
    model = MKLClassifier(kernels="precomputed", C=5.0)
    assert cross_val_score(model, K, y).mean() > 0.85
    grid = GridSearchCV(model, {"C": [0.1, 1.0], "combination": ["simple", "lp"]}).fit(K, y)
    assert grid.best_score_ > 0.8
    weight = np.arange(len(y)) % 3 > 0
    fitted = clone(model).fit(K, y, sample_weight=weight)
    kept = np.flatnonzero(weight)
    fewer = clone(model).fit(K[np.ix_(kept, kept)], y[kept])
    assert_allclose(fitted.decision_function(K), fewer.decision_function(K[:, kept]), atol=1e-6)


def test_features_by_number_mask_and_name():
    pandas = pytest.importorskip("pandas")
    X, y = moons()
    entries = [[1, 3], np.array([False, True, False, True]), ["b", "d"]]
    frame = pandas.DataFrame(X, columns=list("abcd"))
    found = []
    for features in entries:
        bank = [{"kernel": "rbf", "gamma": "0.5*scale", "features": features}]
        model = MKLClassifier(kernels=bank).fit(frame, y)
        assert model.bank_[0].features == (1, 3)
        found.append(model.decision_function(frame))
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])
    expected = KernelSVC(gamma=0.25 / X[:, [1, 3]].var()).fit(X[:, [1, 3]], y)
    assert_allclose(found[0], expected.decision_function(X[:, [1, 3]]), atol=1e-9)


def test_weights_are_repetitions():
    X, y = moons()
    repeats = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = MKLClassifier(C=2.0).fit(X, y, sample_weight=repeats)
    repeated = MKLClassifier(C=2.0).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    assert_array_equal(weighted.weights_, repeated.weights_)
    assert_array_equal(weighted.decision_function(X), repeated.decision_function(X))


@pytest.mark.parametrize("machine", [MKLClassifier, MKLRegressor])
def test_proportional_weights_of_given_matrices_depend_on_values_alone(machine):
    X, y = moons()
    rng = np.random.default_rng(0)
    repeats, order = rng.integers(0, 3, len(y)), rng.permutation(len(y))
    model = machine(kernels="precomputed", combination="pwmk")
    K = stack(X, X)
    rows = np.repeat(np.arange(len(y)), repeats)
    weighted = model.fit(K, y, sample_weight=repeats).weights_
    assert_allclose(model.fit(K[np.ix_(rows, rows)], y[rows]).weights_, weighted, rtol=1e-9)
    plain = model.fit(K, y).weights_
    assert_allclose(model.fit(K[np.ix_(order, order)], y[order]).weights_, plain, rtol=1e-9)


def test_proportional_weights_of_few_different_rows_are_equal():
    X, y = moons()
    alone = np.zeros(len(y))
    alone[[np.argmin(y), np.argmax(y)]] = 1, 2
    cases = [
        (MKLClassifier, y[:, None], y, None),  # one different row a class
        (MKLClassifierCV, y[:, None], y, None),
        (MKLClassifier, np.ones((len(y), 1)), y, None),
        (MKLClassifier, X[[0, 1]], [0, 1], None),
        (MKLClassifier, X, y, alone),
        (MKLRegressor, X[:1], [1.0], None),
        (MKLRegressor, np.ones((5, 1)), np.ones(5), None),
    ]
    for machine, points, targets, weight in cases:
        model = machine(kernels=["linear", {"kernel": "poly", "coef0": 1.0}], combination="pwmk")
        model.fit(points, targets, sample_weight=weight)
        fitted = getattr(model, "best_estimator_", model)
        assert_array_equal(fitted.weights_, [0.5, 0.5])


def test_warm_start_takes_fewer_steps_and_ends_alike():
    X, y = moons()
    model = MKLClassifier(C=2.0, kernels=WIDTHS, warm_start=True, tol=1e-6).fit(X, y)
    cold, objective = model.n_iter_, model.objective_
    assert model.fit(X, y).n_iter_ < cold
    assert_allclose(model.objective_, objective, rtol=1e-5)
    model.set_params(C=0.5).fit(X, y)  # an earlier solution need not fit into the box
    assert audit(model, X, y).confirmed
    model.set_params(kernels=WIDTHS[:1]).fit(X, y)
    assert len(model.weights_) == 4 and audit(model, X, y).confirmed


SMALL_BANK = [
    {"kernel": "rbf", "gamma": [0.1, 1.0, 10.0]},
    {"kernel": "poly", "degree": [1, 2], "coef0": 1.0},
    {"kernel": "laplacian", "gamma": 0.5},
    {"kernel": "rbf", "gamma": [0.2, 0.5], "features": "each"},
]
COMBINED = [
    *((MKLClassifier, name, 2) for name in sorted(COMBINATIONS - {"bayes"} | {"easy"})),
    *((MKLClassifier, name, 3) for name in ("lp", "align", "easy")),
    *((MKLRegressor, name, 0) for name in ("simple", "average", "alignf", "pwmk")),
]


@pytest.mark.filterwarnings("ignore:.*indefinite kernel matrix")
@pytest.mark.parametrize(("machine", "combination", "n_classes"), COMBINED)
def test_matrices_beyond_memory_give_the_same_machine(machine, combination, n_classes, monkeypatch):
    """A matrix takes 1.9 MB; all but factors of 0.5 MB are computed when needed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(500)
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    weight = rng.integers(1, 3, 500)
    banks = []
    make = bank_module.make_bank
    monkeypatch.setattr(bank_module, "make_bank", lambda *a: banks.append(make(*a)) or banks[-1])
    options = {"kernels": SMALL_BANK, "combination": combination, "C": 3.0, "tol": 1e-6}
    whole, by_rows = (
        machine(**options, cache_size=size).fit(X, y, sample_weight=weight) for size in (1000, 1.0)
    )
    assert not banks[0].on_demand and len(banks[1].on_demand) > 3 and len(banks[1].factors)
    # A rule may count a row of value zero on either side: "pwmk" in steps of a row's share.
    close = {"rtol": 0, "atol": 2e-3 if combination == "pwmk" else 1e-5}
    assert_allclose(by_rows.weights_, whole.weights_, **close)
    assert_allclose(
        by_rows.objective_, whole.objective_, rtol=1e-3 if close["atol"] > 1e-4 else 3e-6
    )
    values = "decision_function" if n_classes else "predict"
    assert_allclose(getattr(by_rows, values)(X), getattr(whole, values)(X), atol=10 * close["atol"])
    if combination != "alignf_signed":
        assert np.all(by_rows.dual_gap_ <= 1e-6 * by_rows.objective_)
        if machine is MKLRegressor or n_classes == 2:
            assert audit(by_rows, X, y, sample_weight=weight).confirmed


def test_search_and_report_beyond_memory(caplog):
    X, y = moons(200)
    options = {"Cs": [1.0, 10.0], "kernels": SMALL_BANK[:2], "cv": 2, "search_tol": 1e-5}
    searches = [MKLClassifierCV(**options, cache_size=size).fit(X, y) for size in (1000, 0.1)]
    scores = [search.cv_results_["mean_test_score"] for search in searches]
    assert_allclose(scores[1], scores[0], atol=0.011)
    with caplog.at_level("INFO", logger="kernelfit"):
        MKLClassifier(kernels=SMALL_BANK[:1], cache_size=0.1, verbose=1).fit(X, y)
    assert "3 of 3 kernel matrices of 200 rows are beyond cache_size=0.1 MB" in caplog.text


def test_what_needs_matrices_in_memory_is_refused_beyond():
    X, y = moons(200)
    for combination in ("bayes", "deep"):
        model = MKLClassifier(kernels=SMALL_BANK[:1], combination=combination, cache_size=0.5)
        message = rf"all in memory for combination='{combination}', take at most cache_size=0.5 MB"
        with pytest.raises(ValueError, match=message + r", got 0\.61 MB for 2 of them"):
            model.fit(X, y)
    with pytest.raises(ValueError, match=r"known as positive semidefinite.*, got 200 rows"):
        MKLClassifier(kernels=[lambda X, Y: X @ Y.T], cache_size=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"at most cache_size=0.5 MB, got 0\.61 MB for 2 of them"):
        K = np.stack([RBF(gamma)(X) for gamma in (10.0, 20.0)], axis=2)
        MKLClassifier(kernels="precomputed", cache_size=0.5).fit(K, y)


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ([], "expected at least one kernel in kernels, got an empty bank"),
        ([with_nan], r"in kernel 0 of the bank \(.*\): expected the kernel to return finite"),
        ({"kernel": "rbf"}, "expected a list of kernels, got a dict"),
        (
            [{"kernel": "rbf", "gamma": ()}],
            r"in kernels\[0\]: .* at least one gamma, got \(\)",
        ),
        ([{"kernel": "rbf", "features": 0}], "expected features to be a list of columns, got 0"),
        ([zero], r"expected kernel 0 of the bank \(.*\) to be a kernel that is not zero"),
        (["rbf", indefinite], r"expected kernel 1 of the bank \(.*\) to be positive semidefinite"),
        ([{"kernel": "poly", "degree": 3, "coef0": -9.0}], "to be positive semidefinite"),
        ([not_symmetric], "to be symmetric"),
        ([{"kernel": "rbf", "features": []}], r"in kernels\[0\]: .* name at least one feature"),
        ([{"kernel": "rbf", "features": [1, 1]}], r"in kernels\[0\]: .* name each feature once"),
        (
            ["rbf", {"kernel": "rbf", "features": [4]}],
            r"in kernels\[1\]: .* from 0 to 3, got \[4\]",
        ),
        ([{"kernel": "rbf", "features": [-1]}], "from 0 to 3"),
        ([{"kernel": "rbf", "features": "all"}], "features to be None, 'each' or a list"),
        ([{"kernel": "rbf", "features": ["x"]}], "columns from 0 to 3"),
        ([{"kernel": "rbf", "gamma": -1.0}], "gamma to be a positive number"),
        ([{"kernel": "rbf", "gamma": "wide"}], "got 'wide'"),
        ([{"kernel": "poly", "degree": 1.5}], "degree to be an integer"),
        ([{"kernel": "poly", "coef0": "a"}], "coef0 to be a number"),
        (["sigmoid"], "'sigmoid'"),
        ([{"gamma": 1.0}], "a dict with 'kernel'"),
        ([{"kernel": "rbf", "width": 1.0}], "a dict with 'kernel'"),
        ([3], "a dict with 'kernel'"),
        ([{"kernel": zero, "gamma": 1.0}], "no 'gamma' for a callable"),
    ],
)
def test_complaints_of_a_bank(kernels, message):
    X, y = moons()
    model = MKLClassifier(kernels=kernels)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(("scale", "gamma"), [(1e200, "0.0"), (1e-200, "inf")])
def test_features_of_extreme_scale_are_named_as_the_trouble(scale, gamma):
    X, y = moons()
    message = f"expected features of moderate scale, got gamma={gamma} from their variance$"
    with pytest.raises(ValueError, match=f"^{message}"):
        MKLClassifier().fit(X * scale, y)
    with pytest.raises(ValueError, match=rf"^in kernels\[0\]: {message}"):
        MKLClassifier(kernels=["rbf"]).fit(X * scale, y)


def test_complaints_of_given_matrices():
    X, y = moons()
    model = MKLClassifier(kernels="precomputed")
    K = stack(X, X)
    with pytest.raises(ValueError, match=r"of shape \(n_samples, n_samples, n_kernels\)"):
        model.fit(K[:, :50], y)
    with pytest.raises(ValueError, match="at least one precomputed kernel matrix"):
        model.fit(K[:, :, :0], y)
    bad = K.copy()
    bad[3, 4, 1] = np.nan
    with pytest.raises(ValueError, match=r"precomputed matrix 1 to be finite, got nan at \(3, 4\)"):
        model.fit(bad, y)
    with pytest.raises(ValueError, match="precomputed matrix 2 to be positive semidefinite"):
        model.fit(np.concatenate([K[..., :2], -K[..., :1]], axis=-1), y)
    with pytest.raises(ValueError, match=r"precomputed matrix 0 .* not zero"):
        model.fit(0 * K, y)
    with pytest.raises(
        ValueError, match=r"has 2 kernels, .* expecting 3: .*\(n_test, 120, 3\), got"
    ):
        model.fit(K, y).predict(K[:, :, :2])


def single(X, Y):
    return (X @ Y.T).astype(np.float32)


def wide(X, Y):
    return rbf_kernel(X, Y, gamma=1e-3).astype(np.float32)


@pytest.mark.parametrize("combination", ["average", "simple", "lp", "alignf", "pwmk"])
@pytest.mark.parametrize("machine", [MKLClassifier, MKLRegressor])
def test_matrices_in_single_precision_are_judged_by_its_rounding(machine, combination):
    X, y = moons()
    K = np.stack([single(X, X), wide(X, X)], axis=2)
    assert min(np.linalg.eigvalsh(K[:, :, m].astype(float))[0] for m in (0, 1)) < -1e-9 * 120
    model = machine(C=10.0, kernels="precomputed", combination=combination, p=2.0).fit(K, y)
    assert model.status_ == "proved" and audit(model, K, y).confirmed
    with pytest.raises(ValueError, match=r"matrix [01] to be positive semidefinite, got negative"):
        machine(kernels="precomputed", combination=combination).fit(K.astype(np.float64), y)
    K[:, :, 1] -= 1e-3 * np.eye(len(K), dtype=np.float32)
    with pytest.raises(ValueError, match="precomputed matrix 1 to be positive semidefinite"):
        machine(kernels="precomputed", combination=combination).fit(K, y)


def test_one_matrix_in_single_precision_is_that_of_the_plain_machine():
    X, y = moons()
    K = wide(X, X)
    plain = KernelSVC(C=1e4, kernel="precomputed").fit(K, y)
    model = MKLClassifier(C=1e4, kernels="precomputed").fit(K, y)
    assert plain.status_ == model.status_ == "proved"
    assert_allclose(model.objective_, plain.objective_, rtol=1e-9)
    assert_allclose(model.decision_function(K), plain.decision_function(K), atol=1e-5)


@pytest.mark.parametrize("search", [MKLClassifierCV, MKLRegressorCV])
def test_searches_take_matrices_in_single_precision(search):
    X, y = moons(60)
    K = np.stack([single(X, X), wide(X, X)], axis=2)
    model = search(Cs=[1.0, 10.0], kernels="precomputed").fit(K, y)
    assert model.best_estimator_.status_ == "proved" and audit(model, K, y).confirmed


@pytest.mark.parametrize("machine", [KernelUnionClassifier, MKLClassifier])
def test_callables_in_single_precision_are_judged_by_its_rounding(machine):
    X, y = moons()
    options = {"families": []} if machine is KernelUnionClassifier else {}
    model = machine(C=1e3, kernels=[single, wide], **options).fit(X, y)
    assert model.status_ == "proved" and audit(model, X, y).confirmed
    plain = KernelSVC(C=1e3, kernel=wide).fit(X, y)
    assert plain.status_ == "proved" and audit(plain, X, y).confirmed


def test_noise_above_the_linear_term_ends_without_warnings_of_numpy():
    X = np.random.default_rng(0).standard_normal((100, 2))
    K = [rbf_kernel(X, gamma=gamma) for gamma in (1e-6, 3e-6)] + [X @ X.T]
    K = np.stack(K, axis=2).astype(np.float32)
    model = MKLRegressor(C=1e6, epsilon=0.01, kernels="precomputed")
    with pytest.warns(ConvergenceWarning, match="rounding prevents more"):
        model.fit(K, np.sin(X[:, 0]))


def test_a_learned_kernel_names_the_features_that_it_needs():
    X, y = moons()
    kernel = MKLClassifier(kernels=[{"kernel": "rbf", "features": "each"}]).fit(X, y).kernel_
    with pytest.raises(ValueError, match="points with more than 1 features, got 1"):
        kernel(X[:, :1], X[:, :1])


def test_overflow_is_named():
    X, y = moons()
    with pytest.raises(ValueError, match="overflow in kernel 0"):
        MKLClassifier(kernels=[{"kernel": "poly", "gamma": 1e200, "degree": 2}]).fit(X, y)
