import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics.pairwise import rbf_kernel

from kernelfit import DANKClassifier, KNPLClassifier
from kernelfit.inspection.adaptive import diagnose_factor, diagnose_partition

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
