"""Bayesian maximum margin clustering: the sampler against the exact posterior."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, gammaln
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelfit import BayesianMaxMarginClustering
from kernelfit.papers.bayesian_margin import (
    _ALPHA,
    _KAPPA,
    Mixture,
    Prior,
    draw_mixture,
    label_hinges,
    log_prior,
    sample_clusters,
)


def test_hinges_by_their_definition():
    scores = np.random.default_rng(0).standard_normal((5, 4))
    for i, k in product(range(5), range(4)):
        others = [max(0.0, 1.0 + scores[i, m] - scores[i, k]) for m in range(4) if m != k]
        assert label_hinges(scores)[i, k] == pytest.approx(sum(others))


def mixture(rng, c=3, p=2):
    roots = np.tril(rng.standard_normal((c, p, p)), -1) + np.eye(p)
    shares = rng.dirichlet(np.ones(c))
    machines = rng.standard_normal((c, p))
    return Mixture(np.log(shares), rng.standard_normal((c, p)), roots, machines)


def test_densities_against_scipy():
    rng = np.random.default_rng(0)
    found, prior = mixture(rng), Prior(np.array([[2.0, 0.3], [0.3, 1.0]]), 5.0)
    X = rng.standard_normal((6, 2))
    hinges = label_hinges(X @ found.machines.T)
    for k in range(3):
        cov = found.roots[k] @ found.roots[k].T
        expected = stats.multivariate_normal(found.means[k], cov).logpdf(X)
        expected += found.log_shares[k] - 2.0 * 0.7 * hinges[:, k]
        np.testing.assert_allclose(found.log_density(X, 0.7)[:, k], expected)
    value = stats.dirichlet(np.full(3, _ALPHA / 3)).logpdf(np.exp(found.log_shares))
    value += stats.norm.logpdf(found.machines).sum()
    for mean, root in zip(found.means, found.roots, strict=True):
        cov = root @ root.T
        value += stats.invwishart(5.0, prior.scatter).logpdf(cov)
        value += stats.multivariate_normal(np.zeros(2), cov / _KAPPA).logpdf(mean)
    assert log_prior(found, prior) == pytest.approx(value)


def log_evidence(x, counts, prior):
    """The marginal density of points of one dimension of one cluster."""
    n, psi, nu = counts.sum(), prior.scatter[0, 0], prior.freedom
    if n == 0:
        return 0.0
    mean = counts @ x / n
    scatter = psi + counts @ (x - mean) ** 2 + _KAPPA * n / (_KAPPA + n) * mean**2
    value = gammaln((nu + n) / 2) - gammaln(nu / 2) + 0.5 * nu * np.log(psi)
    value -= 0.5 * (nu + n) * np.log(scatter) + 0.5 * n * np.log(np.pi)
    return value + 0.5 * np.log(_KAPPA / (_KAPPA + n))


def log_names(n, process):
    """The marginal density of the names of the points of two clusters, up to a constant."""
    if process:  # the integral of v^n0 (1 - v)^n1 over a uniform stick
        return betaln(1 + n[0], 1 + n[1])
    return sum(gammaln(_ALPHA / 2 + size) for size in n)


@pytest.mark.parametrize(("C", "process"), [(0.0, False), (0.6, False), (0.0, True), (0.6, True)])
def test_the_sampler_has_the_exact_posterior(C, process):
    """Frequencies of the labels of four points against the sum over all of their densities."""
    x, counts = np.array([-1.2, -0.9, 0.3, 1.0]), np.array([1.0, 2.0, 1.0, 1.0])
    prior = Prior(np.array([[0.5]]), 3.0, process)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    difference = np.sqrt(2.0) * nodes  # of the two machines
    weights = weights / weights.sum()
    densities = {}
    for labels in product((0, 1), repeat=4):
        y = np.array(labels)
        value = sum(log_evidence(x[y == k], counts[y == k], prior) for k in (0, 1))
        value += log_names([counts[y == k].sum() for k in (0, 1)], process)
        s = np.where(y == 1, 1.0, -1.0) * x
        hinge = counts @ np.maximum(1.0 - np.multiply.outer(s, difference), 0.0)
        densities[labels] = np.exp(value) * (weights @ np.exp(-2.0 * C * hinge))
    total = sum(densities.values())
    rng = np.random.default_rng(0)
    labels, machines = np.array([0, 0, 1, 1]), np.zeros((2, 1))
    visits = dict.fromkeys(densities, 0)
    n_sweeps = 3000
    for _ in range(n_sweeps):
        drawn = draw_mixture(x[:, None], labels, counts, machines, C, prior, rng)
        machines = drawn.machines
        each = counts[:, None] * drawn.log_density(x[:, None], C)
        labels = (each + rng.gumbel(size=each.shape)).argmax(axis=1)
        visits[tuple(labels.tolist())] += 1
    # The two names of the clusters are alike, and the chain changes them rarely.
    distance = 0.0
    for rest in product((0, 1), repeat=3):
        both = [(0, *rest), (1, *(1 - r for r in rest))]
        frequency = sum(visits[labels] for labels in both) / n_sweeps
        distance += abs(frequency - sum(densities[labels] for labels in both) / total)
    assert 0.5 * distance < 0.05  # total variation


def test_sticks_of_empty_clusters_are_those_of_the_process():
    """Their mean shares fall by halves; those of points follow the sizes."""
    rng, prior = np.random.default_rng(0), Prior(np.eye(1), 3.0, True)
    nothing = np.zeros((0, 1)), np.zeros(0, dtype=int), np.zeros(0)
    drawn = [draw_mixture(*nothing, np.zeros((5, 1)), 0.1, prior, rng) for _ in range(4000)]
    shares = np.exp([found.log_shares for found in drawn])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(
        shares.mean(axis=0), [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 16], atol=0.02
    )


def test_a_process_finds_the_number_of_clusters():
    X, y = make_blobs(150, centers=3, n_features=2, cluster_std=0.5, random_state=1)
    model = BayesianMaxMarginClustering(
        8, shares="process", affinity=lambda X, Y: X @ Y.T, max_iter=100, random_state=0
    ).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert len(np.unique(model.labels_)) <= 5


def test_the_best_sample_is_kept():
    X, y = make_blobs(60, centers=3, n_features=2, random_state=1)
    X -= X.mean(axis=0)
    start = np.where(np.arange(60) % 4 == 0, (y + 1) % 3, y)
    rng = np.random.default_rng(1)
    found = sample_clusters(X / X.std(), start, 3, np.ones(60), 0.1, rng, 60)
    assert found.log_density == max(found.history) and len(found.history) == 60
    assert adjusted_rand_score(y, found.labels) > 0.8


def test_estimator():
    X, y = make_blobs(120, centers=4, n_features=5, cluster_std=0.8, random_state=1)
    model = BayesianMaxMarginClustering(4, max_iter=50, random_state=0).fit(X[:100])
    assert adjusted_rand_score(y[:100], model.labels_) >= 0.95
    assert adjusted_rand_score(y[100:], model.predict(X[100:])) >= 0.9
    assert model.history_.shape == (50,) and model.log_density_ == model.history_.max()
    # New points by the components of the kernel: the training points again.
    assert adjusted_rand_score(model.labels_, model.predict(X[:100] + 1e-9)) >= 0.95


def test_clusters_that_differ_in_shape():
    """A long cluster beside a small round one, which k-means divides in the middle."""
    rng = np.random.default_rng(0)
    X = np.concatenate((
        rng.standard_normal((150, 2)) * [6.0, 0.3],
        rng.standard_normal((50, 2)) * 0.4 + [6.0, 3.0],
    ))  # fmt: skip
    y = np.repeat((0, 1), (150, 50))
    model = BayesianMaxMarginClustering(
        2, affinity=lambda X, Y: X @ Y.T, C=0.01, max_iter=100, random_state=0
    ).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
