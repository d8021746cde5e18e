"""Data in blocks: solutions of blocks kept or gone on from, and the factor between blocks."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from kernelfit import DANKClassifier, DANKRegressor

X, y = make_moons(80, noise=0.3, random_state=0)
X_new = make_moons(40, noise=0.3, random_state=1)[0]
target = np.sin(2 * X[:, 0]) + 0.1 * X[:, 1]


def full_beta(model):
    beta = np.zeros(len(X))
    beta[model.support_] = model.dual_coef_[0]
    return beta


def linear(A, B):
    return A @ B.T


@pytest.mark.filterwarnings("ignore:.*not an optimum of the whole")
@pytest.mark.parametrize("combine", ["global", "concatenate"])
@pytest.mark.parametrize("cache_size", [200.0, 1e-2])
def test_psd_kernel_of_the_user_keeps_its_gap(combine, cache_size):
    options = {"partition": 2, "combine": combine, "random_state": 0, "cache_size": cache_size}
    options["tau"] = 0.01
    model = DANKClassifier(kernel=linear, **options).fit(X, y)
    named = DANKClassifier(kernel="linear", **options).fit(X, y)
    assert np.isclose(model.objective_, named.objective_, rtol=1e-6)
    assert np.isclose(model.dual_gap_, named.dual_gap_, rtol=1e-6, atol=1e-6)
    if combine == "global":
        again = DANKClassifier(kernel=linear, eta=1.0, tau=0.01, warm_start=True)
        again.fit(X, y).fit(X, y)
        assert again.dual_gap_ <= 1e-6 * again.objective_


@pytest.mark.filterwarnings("ignore:.*not an optimum of the whole")
def test_indefinite_only_between_blocks():
    """A kernel that is psd on either block alone is not taken for psd."""

    def distorted(A, B):
        far = np.abs(A[:, None, 0] - B[:, 0]) > 500
        return np.where(far, 2.0, 1.0)

    pair = np.vstack([X, X + 1e3])
    options = {"partition": 2, "combine": "concatenate", "random_state": 0}
    model = DANKClassifier(kernel=distorted, tau=0.01, **options)
    with pytest.warns(UserWarning, match="indefinite"):
        model.fit(pair, np.append(y, y))
    assert np.isnan(model.dual_gap_)


def test_global_combination_is_the_whole_problem():
    for tau in (0.0, 0.02):
        whole = DANKClassifier(C=5.0, eta=10.0, tau=tau).fit(X, y)
        parts = DANKClassifier(C=5.0, eta=10.0, tau=tau, partition=4, random_state=0).fit(X, y)
        assert np.allclose(
            whole.decision_function(X_new), parts.decision_function(X_new), atol=1e-6
        )


def test_blocks_predict_alone_or_together():
    options = {"C": 5.0, "eta": 10.0, "tau": 0.0, "gamma": 2.0, "random_state": 0}
    together = DANKClassifier(partition=3, combine="concatenate", **options)
    alone = DANKClassifier(partition=3, combine="nearest", **options)
    for model in (together, alone):
        with pytest.warns(ConvergenceWarning, match="not an optimum of the whole problem"):
            model.fit(X, y)
        assert not model.converged_ and model.dual_gap_ > 1e-6 * model.objective_
    centres = together.cluster_centers_
    home, new_home = (((A[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1) for A in (X, X_new))
    one_block = {name: value for name, value in options.items() if name != "random_state"}
    total = np.zeros(len(X_new))
    for block in range(3):
        rows = home == block
        machine = DANKClassifier(fit_intercept=False, **one_block).fit(X[rows], y[rows])
        values = machine.decision_function(X_new)
        mine = new_home == block
        assert np.allclose(alone.decision_function(X_new)[mine], values[mine], atol=1e-5)
        total += values
    assert np.allclose(together.decision_function(X_new), total, atol=1e-5)
    assert together.intercept_[0] == 0.0


@pytest.mark.filterwarnings("ignore:.*not an optimum of the whole")
@pytest.mark.parametrize("combine", ["concatenate", "nearest"])
def test_the_factor_is_one_between_blocks(combine):
    blocks = np.array(list("abc"))[np.arange(len(X)) % 3]
    same = blocks[:, None] == blocks
    options = {"C": 5.0, "eta": 0.5, "gamma": 2.0, "tau": 0.01, "partition": blocks}
    model = DANKClassifier(combine=combine, out_of_sample="nearest", **options).fit(X, y)
    K, beta = rbf_kernel(X, gamma=2.0), full_beta(model)
    F = 1.0 + np.outer(beta, beta) * K * same / (4.0 * 0.5)
    assert (F - 1.0).max() > 0.1
    assert np.allclose(model.adaptive_matrix_, F, atol=1e-12)
    assert model.rank_ == np.linalg.matrix_rank(F, tol=1e-10 * np.linalg.norm(F, 2))
    neighbour = ((X_new[:, None] - X) ** 2).sum(axis=2).argmin(axis=1)
    reach = same[neighbour] if combine == "nearest" else 1.0
    values = (F[neighbour] * rbf_kernel(X_new, X, gamma=2.0) * reach) @ beta
    assert np.allclose(model.decision_function(X_new), values, atol=1e-10)
    far = model.kernel_(X_new, X_new)
    reach = same[np.ix_(neighbour, neighbour)] if combine == "nearest" else 1.0
    expected = F[np.ix_(neighbour, neighbour)] * rbf_kernel(X_new, gamma=2.0) * reach
    assert np.allclose(far, expected, atol=1e-10)


@pytest.mark.filterwarnings("ignore:.*not an optimum of the whole")
@pytest.mark.parametrize("combine", ["global", "concatenate", "nearest"])
def test_given_blocks_are_those_of_the_rows(combine):
    options = {"C": 5.0, "eta": 10.0, "gamma": 2.0, "tau": 0.0, "combine": combine}
    means = DANKClassifier(partition=3, random_state=0, **options).fit(X, y)
    home = ((X[:, None] - means.cluster_centers_) ** 2).sum(axis=2).argmin(axis=1)
    given = DANKClassifier(partition=home, **options).fit(X, y)
    assert np.allclose(given.dual_coef_, means.dual_coef_, atol=1e-9)
    assert np.allclose(given.decision_function(X), means.decision_function(X), atol=1e-9)
    # Rows without weight are left out, with their blocks.
    weight = np.arange(len(X)) % 5 > 0
    some = DANKClassifier(partition=home[weight], **options).fit(X[weight], y[weight])
    given.fit(X, y, sample_weight=weight)
    assert np.allclose(given.decision_function(X), some.decision_function(X), atol=1e-9)
    kernel = DANKClassifier(kernel="precomputed", partition=home, **options)
    K = rbf_kernel(X, gamma=2.0)
    if combine == "nearest":
        with pytest.raises(ValueError, match="expected data for combine='nearest', got"):
            kernel.fit(K, y)
    else:
        values = kernel.fit(K, y).decision_function(K)
        assert np.allclose(values, means.decision_function(X), atol=1e-9)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        given.set_params(partition=home[1:]).fit(X, y)


@pytest.mark.parametrize(
    ("combine", "message"),
    [("concatenate", "predictions may be much worse"), ("nearest", "smaller sets of data")],
)
def test_kept_blocks_are_warned_of_by_what_predictions_lose(combine, message):
    with pytest.warns(ConvergenceWarning, match=message):
        DANKClassifier(C=5.0, partition=3, combine=combine, random_state=0).fit(X, y)


@pytest.mark.filterwarnings("ignore:.*not an optimum of the whole")
@pytest.mark.parametrize(("gamma", "overshoots"), [(0.3, True), (300.0, False)])
def test_concatenated_regression_overshoots_by_the_other_blocks(gamma, overshoots):
    """What spoils it is the kernel between blocks, not their intercepts; the gap tells."""
    options = {"C": 5.0, "gamma": gamma, "tau": 0.0, "partition": 4, "random_state": 0}
    alone = DANKRegressor(combine="nearest", **options).fit(X, target)
    together = DANKRegressor(combine="concatenate", **options).fit(X, target)
    home = ((X[:, None] - together.cluster_centers_) ** 2).sum(axis=2).argmin(axis=1)
    others = (rbf_kernel(X, gamma=gamma) * (home[:, None] != home)) @ full_beta(together)
    assert np.allclose(together.predict(X) - alone.predict(X), others, atol=1e-10)
    assert alone.score(X, target) > 0.9
    assert (together.score(X, target) < 0.0) == overshoots
    assert (together.dual_gap_ > together.objective_) == overshoots


def test_blocks_that_do_not_interact_are_an_optimum():
    far = np.vstack([X, X + 1e3])
    model = DANKClassifier(gamma=2.0, tau=0.0, partition=2, combine="concatenate", random_state=0)
    model.fit(far, np.append(y, y))
    assert model.converged_ and model.dual_gap_ <= 1e-6 * model.objective_


@pytest.mark.filterwarnings("ignore:.*not an optimum of the whole")
@pytest.mark.parametrize("combine", ["global", "concatenate", "nearest"])
def test_shifted_targets_with_a_partition(combine):
    model = DANKRegressor(C=5.0, tau=0.01, partition=3, combine=combine, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    values = model.fit(X, target, sample_weight=weight).predict(X_new)
    eta, objective = model.eta_, model.objective_
    shifted = model.fit(X, target + 100.0, sample_weight=weight).predict(X_new)
    assert np.allclose(shifted - 100.0, values, atol=1e-5)
    assert np.isclose(model.eta_, eta, rtol=1e-6)
    assert np.isclose(model.objective_, objective, rtol=1e-6)
