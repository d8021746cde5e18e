"""Bayesian multiple kernel learning: its bound, its moments and what it predicts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid
from scipy.special import gammaln, psi
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_friedman1
from sklearn.preprocessing import scale

from kernelfit import MKLClassifier, MKLRegressor, MKLRegressorCV
from kernelfit.families.multiple.bank import from_matrix, make_bank
from kernelfit.kernels.standard import RBF, Linear, Polynomial
from kernelfit.learners.multiple.bayes import _Gamma, _Posterior, fit_bayes
from kernelfit.tasks.multiclass import problem_coef

X = np.random.default_rng(0).standard_normal((40, 3))
TARGET = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
SIGN = np.where(TARGET > 0, 1.0, -1.0)
MATRICES = [RBF(1.0)(X), Linear()(X[:, :1]), RBF(0.2)(X[:, :1]), Polynomial(2, 0.3, 1.0)(X)]
PROBLEMS = [
    (SIGN[None], True),
    (TARGET[None], False),
    (np.stack([SIGN, np.sign(X[:, 2])]), True),
    (np.stack([TARGET, X[:, 2]]), False),
]


def bank():
    return make_bank(len(X), map(from_matrix, MATRICES), np.inf)


@pytest.mark.parametrize(("targets", "classify"), PROBLEMS)
def test_the_bound_never_falls(targets, classify):
    result = fit_bayes(bank(), targets, classify, tol=1e-9, max_iter=150)
    rises = np.diff(result.bounds)
    assert np.all(rises >= -1e-10 * abs(result.bounds[-1]))
    assert rises[0] > 1.0


def test_gamma_divergence_is_the_integral():
    q = _Gamma(2.5, 0.7)
    x = np.geomspace(1e-8, 100, 200_001)
    log_q = 2.5 * np.log(0.7) - gammaln(2.5) + 1.5 * np.log(x) - 0.7 * x
    integral = trapezoid(np.exp(log_q) * (log_q + x), x)  # the prior is exp(-x)
    assert_allclose(q.divergence, integral, rtol=1e-6)
    assert_allclose(q.log, psi(2.5) - np.log(0.7))


@pytest.mark.parametrize(("targets", "classify"), PROBLEMS)
def test_the_bound_is_that_of_samples(targets, classify):
    """The mean of log p - log q over the posterior, term by term from the model."""
    state = _Posterior(bank(), targets, classify)
    for _ in range(5):
        before = dict(vars(state))
        bound = state.update()
    assert before is not None
    rng, draws = np.random.default_rng(0), 4000
    (T, n), R = targets.shape, len(MATRICES)
    upsilon, noise = before["upsilon"].mean, 1.0 if classify else before["epsilon"].mean
    # The covariances of the factors as they were when each was updated.
    a_cov = [
        np.linalg.inv(upsilon * state.squares + np.diag(before["lam"].mean[t])) for t in range(T)
    ]
    e_second = before["be_cov"] + np.outer(before["be"], before["be"])
    G_cov = np.linalg.inv(upsilon * np.eye(R) + noise * e_second[T:, T:])
    values = np.zeros(draws)

    def precision(q):
        """Draw precisions; count log p - log q."""
        x = rng.gamma(q.shape, 1 / q.rate, size=(draws, *np.shape(q.shape + q.rate * 0)))
        log_q = q.shape * np.log(q.rate) - gammaln(q.shape) + (q.shape - 1) * np.log(x) - q.rate * x
        values[:] += (-x - log_q).reshape(draws, -1).sum(axis=1)
        return x

    lam, gamma = precision(state.lam), precision(state.gamma)
    omega, ups = precision(state.omega), precision(state.upsilon)
    eps = np.ones(draws) if classify else precision(state.epsilon)
    be = rng.multivariate_normal(state.be, state.be_cov, size=draws)
    values -= multivariate_normal(state.be, state.be_cov).logpdf(be)
    values += norm.logpdf(be[:, :T], scale=gamma**-0.5).sum(axis=1)
    values += norm.logpdf(be[:, T:], scale=omega**-0.5).sum(axis=1)
    for t in range(T):
        a = rng.multivariate_normal(state.a[t], a_cov[t], size=draws)
        values -= multivariate_normal(state.a[t], a_cov[t], allow_singular=True).logpdf(a)
        values += norm.logpdf(a, scale=lam[:, t] ** -0.5).sum(axis=1)
        noise_G = rng.multivariate_normal(np.zeros(R), G_cov, size=(draws, n))
        G = state.G[t].T + noise_G
        values -= multivariate_normal(np.zeros(R), G_cov).logpdf(noise_G).sum(axis=1)
        Ka = np.stack([a @ (state.unit * K) for K in MATRICES], axis=-1)
        values += norm.logpdf(G, Ka, ups[:, None, None] ** -0.5).sum(axis=(1, 2))
        mean = np.einsum("sm,sim->si", be[:, T:], G) + be[:, t : t + 1]
        centre = state.be[T:] @ state.G[t] + state.be[t]
        if classify:
            # f is integrated: log Z less half the variance around its own mean.
            z = norm.logcdf(targets[t] * centre - 1.0)
            values += np.sum(z - 0.5 * (mean - centre) ** 2, axis=1)
        else:
            values += norm.logpdf(targets[t], mean, eps[:, None] ** -0.5).sum(axis=1)
    error = values.std() / np.sqrt(draws)
    assert abs(values.mean() - bound) < 5 * error + 1e-6 * abs(bound)


def test_machines_predict_and_say_what_they_are():
    X, y = load_iris(return_X_y=True)
    model = MKLClassifier(kernels=["rbf", "linear"], combination="bayes").fit(X, y)
    assert model.score(X, y) > 0.93
    assert model.status_ == "non-convex" and np.isnan(model.dual_gap_)
    assert np.all(np.diff(model.history_[:, 0]) >= -1e-9 * abs(model.objective_))
    values = model.kernel_(X, model.support_vectors_)
    for k in range(3):
        coef = problem_coef(model.dual_coef_, model.n_support_, k, 3)
        assert_allclose(model.decision_function(X)[:, k], values @ coef + model.intercept_[k])
    X, y = make_friedman1(100, 5, noise=0.1, random_state=0)
    X, y = scale(X), scale(y)
    model = MKLRegressor(combination="bayes").fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("unit", "origin"), [(-0.01, 0.0), (1.0, 1e4), (1e149, 0.0), (1e-200, 0.0)]
)
def test_the_unit_and_the_origin_of_targets_do_not_matter(unit, origin):
    plain = fit_bayes(bank(), TARGET[None], False, tol=1e-5, max_iter=100)
    other = fit_bayes(bank(), unit * TARGET[None] + origin, False, tol=1e-5, max_iter=100)
    assert_allclose(other.weights, plain.weights, rtol=1e-6)
    assert_allclose(other.coef / unit, plain.coef, rtol=1e-4, atol=1e-6)
    assert_allclose((other.intercept - origin) / unit, plain.intercept, atol=1e-6)
    change = len(X) * np.log(abs(unit))  # of the density of the targets
    assert_allclose(np.array(other.bounds) + change, plain.bounds, rtol=1e-8)
    model = MKLRegressor(kernels=["rbf", "linear"], combination="bayes").fit(X, TARGET)
    expected = unit * model.predict(X) + origin
    model.fit(X, unit * TARGET + origin)
    assert_allclose(model.predict(X), expected, rtol=1e-6, atol=1e-6 * abs(unit))


def test_the_search_scores_targets_as_they_are():
    model = MKLRegressorCV(kernels=["rbf", "linear"], combination="bayes", cv=2)
    plain, other = (clone(model).fit(X, y) for y in (TARGET, 1e3 * TARGET + 1e5))
    assert plain.best_score_ > 0.3
    assert_allclose(other.best_score_, plain.best_score_, rtol=1e-6)
    assert_allclose(other.predict(X), 1e3 * plain.predict(X) + 1e5, rtol=1e-8)


@pytest.mark.parametrize("rows", [1, 40])
def test_constant_targets_are_predicted(rows):
    model = MKLRegressor(kernels=["rbf", "linear"], combination="bayes")
    assert_allclose(model.fit(X[:rows], np.full(rows, 0.1)).predict(X), 0.1, rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-150, 1e10, 1e250])
def test_the_common_unit_of_kernels_does_not_matter(unit):
    def times(kernel):
        return lambda A, B: unit * kernel(A, B)

    plain, scaled = (
        MKLRegressor(kernels=kernels, combination="bayes", normalize=False).fit(X, TARGET)
        for kernels in ([Linear(), RBF(1.0)], [times(Linear()), times(RBF(1.0))])
    )
    assert_allclose(scaled.predict(X), plain.predict(X), rtol=1e-6)
    assert_allclose(scaled.weights_, plain.weights_, rtol=1e-6)


def test_a_kernel_of_low_rank_and_large_values_has_a_posterior():
    X, y = load_wine(return_X_y=True)
    model = MKLClassifier(kernels=["linear"], combination="bayes", tol=0.1)
    normalised = model.fit(X, y).decision_function(X)
    raw = model.set_params(normalize=False).fit(X, y)
    assert raw.converged_ and np.diff(raw.history_[:, 0]).min() > 0.0
    assert_allclose(raw.decision_function(X), normalised, rtol=1e-4, atol=1e-4)


def test_weights_of_rows_are_refused():
    X, y = load_iris(return_X_y=True)
    model = MKLClassifier(kernels=["rbf", "linear"], combination="bayes", max_iter=10)
    message = "expected weights of 0 or 1 for combination='bayes', got "
    with pytest.raises(ValueError, match=message + "1 to 2"):
        model.fit(X, y, sample_weight=1 + np.arange(150) % 2)
    with pytest.raises(ValueError, match=message + "2 to 2"):
        model.fit(X, y, sample_weight=np.full(150, 2.0))
    some = np.arange(150) % 3 > 0
    weighted = model.fit(X, y, sample_weight=some).decision_function(X)
    assert_allclose(weighted, model.fit(X[some], y[some]).decision_function(X))
