import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from kernelfit import DANKClassifier, DANKRegressor, KernelRidgeClassifier, KNPLClassifier
from kernelfit.inspection import diagnose_factor, diagnose_partition

X, y = make_moons(60, noise=0.3, random_state=0)


@pytest.mark.parametrize("estimator", [DANKClassifier, KNPLClassifier])
def test_factor(estimator):
    model = estimator(C=10.0, gamma=1.0, eta="0.1*auto").fit(X, y)
    found = diagnose_factor(model, X)
    F, K = model.adaptive_matrix_, rbf_kernel(X, gamma=1.0)
    assert found.rank == model.rank_
    assert found.factor_range == (F.min(), F.max())
    assert np.allclose(np.sort(np.linalg.eigvalsh(F * K)), found.learned_spectrum[::-1])
    assert np.isclose(found.kernel_spectrum.sum(), 60) and found.margin_after > 0
    given = estimator(C=10.0, kernel="precomputed", eta="0.1*auto").fit(K, y)
    assert np.allclose(diagnose_factor(given, K).ridge, found.ridge, atol=1e-6)


def test_ridge_without_nuclear_norm():
    model = DANKClassifier(C=10.0, gamma=1.0, tau=0.0).fit(X, y)
    found = diagnose_factor(model, X)
    K = rbf_kernel(X, gamma=1.0)
    beta = np.zeros(60)
    beta[model.support_] = model.dual_coef_[0]
    expected = (K * K) @ beta**2 / (4 * model.eta_)
    assert np.allclose(found.ridge[model.support_], expected[model.support_])
    assert found.margin_after < found.margin_before  # the ridge adds to the norm


def test_one_of_several_problems():
    data, labels = load_iris(return_X_y=True)
    model = DANKClassifier(tau=0.0).fit(data, labels)
    for k in range(3):
        assert diagnose_factor(model, data, k).rank == model.rank_[k]


@pytest.mark.filterwarnings("ignore:.*not an optimum of the whole")
def test_partition():
    model = DANKClassifier(
        tau=0.0, eta=5.0, gamma=2.0, partition=3, combine="concatenate", random_state=0
    ).fit(X, y)
    best = DANKClassifier(tau=0.0, eta=5.0, gamma=2.0, fit_intercept=False).fit(X, y)
    bound, between = diagnose_partition(model, X)
    assert 0 <= best.objective_ - model.objective_ <= min(bound, model.dual_gap_) + 1e-9
    assert 0 < between < 60 * 60


@pytest.mark.filterwarnings("ignore:.*not an optimum of the whole")
@pytest.mark.parametrize("kind", ["samples", "classes", "ovo", "ovr"])
def test_bound_with_weights_and_classes(kind):
    """The blocks are worse than the optimum, by less than the bound of the same problem."""
    rng = np.random.default_rng(0)
    labels, weight, options = y, None, {"C": 0.01, "gamma": 2.0, "tau": 0.0, "eta": 5.0}
    if kind == "samples":
        weight = rng.integers(0, 200, len(X)).astype(float)
    elif kind == "classes":
        options["class_weight"] = {0: 90.0, 1: 110.0}
    else:
        labels, options["multi_class"] = np.arange(len(X)) % 3, kind
    model = DANKClassifier(partition=3, combine="concatenate", random_state=0, **options)
    model.fit(X, labels, sample_weight=weight)
    best = DANKClassifier(fit_intercept=False, **options).fit(X, labels, sample_weight=weight)
    lost = np.atleast_1d(best.objective_ - model.objective_)
    bounds = [diagnose_partition(model, sparse.csr_array(X), k)[0] for k in range(len(lost))]
    assert np.all((lost >= -1e-9) & (lost <= bounds))


@pytest.mark.parametrize("diagnose", [diagnose_factor, diagnose_partition])
def test_bad_input(diagnose):
    options = {"partition": 2, "random_state": 0}
    model = DANKClassifier(**options).fit(X, y)
    with pytest.raises(NotFittedError):
        diagnose(DANKRegressor(), X)
    ridge = KernelRidgeClassifier().fit(X, y)
    for other, got in ((ridge, "KernelRidgeClassifier"), ("model", "'model'")):
        with pytest.raises(ValueError, match=f"expected a DANK or KNPL estimator.*, got {got}"):
            diagnose(other, X)
    for data, message in (
        (X[:-1], "expected the training data, 60 rows, got 59"),
        (X[:, :1], "X has 1 features, but DANKClassifier is expecting 2"),
        (np.where(X > 0, X, np.nan), "Input X contains NaN"),
        (X[::-1], "expected the training data, got X with other support vectors"),
    ):
        with pytest.raises(ValueError, match=message):
            diagnose(model, data)
    for problem in (1, -1, 0.0):
        with pytest.raises(
            ValueError, match=f"expected problem to be one of 0 .. 0, got {problem}"
        ):
            diagnose(model, X, problem)


def test_bad_kernel_matrix_and_no_partition():
    K = rbf_kernel(X)
    model = DANKClassifier(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="got X with other support vectors"):
        diagnose_factor(model, K[::-1])
    with pytest.raises(ValueError, match="expected DANKClassifier to be fitted with a partition"):
        diagnose_partition(model, K)
