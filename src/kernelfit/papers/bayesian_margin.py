r"""Bayesian maximum margin clustering: a Gaussian mixture of clusters that machines separate.

The density of labels y, shares :math:`\pi`, Gaussians :math:`(\mu_k, \Sigma_k)` and machines
:math:`\eta_k` of points that count :math:`m_i` times is, up to a constant,

.. math:: p(\pi)\, p(\mu, \Sigma)\, p(\eta) \prod_i \Big( \pi_{y_i} N(x_i; \mu_{y_i}, \Sigma_{y_i})
    \prod_{l \ne y_i} e^{-2 C \max(0, 1 + x_i'\eta_l - x_i'\eta_{y_i})} \Big)^{m_i}

with a symmetric Dirichlet, normal inverse Wishart and standard normal prior. The hinge is a mixture
of Gaussians [2]_, so that all draws of the Gibbs sampler are from known distributions.

In the place of the Dirichlet prior there may be a Dirichlet process, as in the source [1]_, cut off
at c clusters: shares are broken off a stick one after the other, :math:`\pi_k = v_k \prod_{l < k}
(1 - v_l)` with :math:`v_k \sim \mathrm{Beta}(1, 1)` and the last v one [3]_. The source has one
hinge a point, at the worst of the other clusters. Here each other cluster has a hinge of its own,
for which the draws are exact.

References
----------
.. [1] C. Chen, J. Zhu, X. Zhang. "Robust Bayesian max-margin clustering". Advances in Neural
   Information Processing Systems 27 (2014).
.. [2] N. G. Polson, S. L. Scott. "Data augmentation for support vector machines". Bayesian
   Analysis 6 (2011). https://doi.org/10.1214/11-BA601
.. [3] H. Ishwaran, L. F. James. "Gibbs sampling methods for stick-breaking priors". Journal of the
   American Statistical Association 96 (2001).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular
from scipy.special import betaln, gammaln, multigammaln

from kernelfit.kernels.distances import Array

Labels = NDArray[np.intp]

_ALPHA = 1.0  # of the Dirichlet prior, shared by the clusters; of the process, uniform sticks
_KAPPA = 0.1  # points that the prior of a mean counts as
_LARGEST_MEAN = 1e4  # of the inverse Gaussian, beyond which its draws lose digits


@dataclass(frozen=True)
class Mixture:
    """Shares, Gaussians and machines.

    Attributes
    ----------
    log_shares : ndarray of shape (c,)
    means : ndarray of shape (c, p)
    roots : ndarray of shape (c, p, p)
        Lower triangular factors of the covariances.
    machines : ndarray of shape (c, p)
    """

    log_shares: Array
    means: Array
    roots: Array
    machines: Array

    def log_density(self, X: Array, C: float) -> Array:
        """Return the logarithm of what a point contributes with every label, of shape (n, c)."""
        p = X.shape[1]
        out = label_hinges(X @ self.machines.T)
        out *= -2.0 * C
        for k, (mean, root) in enumerate(zip(self.means, self.roots, strict=True)):
            z = solve_triangular(root, (X - mean).T, lower=True)
            out[:, k] -= 0.5 * np.einsum("ij,ij->j", z, z) + np.log(np.diag(root)).sum()
        return np.asarray(out + self.log_shares - 0.5 * p * np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Prior:
    """The normal inverse Wishart prior of means and covariances, centred at zero, and of shares.

    Attributes
    ----------
    scatter : ndarray of shape (p, p)
        The prior guess of a covariance.
    freedom : float
        Points that the guess counts as, over p + 1.
    process : bool, default=False
        Whether the shares have a Dirichlet process as prior.
    """

    scatter: Array
    freedom: float
    process: bool = False


@dataclass(frozen=True)
class SampledClusters:
    """Outcome of the sampler.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Those of the sample of the largest density.
    mixture : Mixture
        Of the same sample.
    log_density : float
        Its density.
    history : tuple of float
        The density of every sample.
    """

    labels: Labels
    mixture: Mixture
    log_density: float
    history: tuple[float, ...]


def label_hinges(scores: Array) -> Array:
    """Return for every point and label the sum of the hinges of the other labels.

    Parameters
    ----------
    scores : ndarray of shape (n, c)

    Returns
    -------
    ndarray of shape (n, c)
    """
    out = np.empty(scores.shape)
    for k in range(scores.shape[1]):
        hinges = np.maximum(1.0 + scores - scores[:, k : k + 1], 0.0)
        out[:, k] = hinges.sum(axis=1) - 1.0  # the label itself counts one
    return out


def cluster_prior(X: Array, counts: Array, n_clusters: int, process: bool = False) -> Prior:
    """Return the prior of clusters that share the volume of centred points.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    counts : ndarray of shape (n,)
    n_clusters : int
    process : bool, default=False

    Returns
    -------
    Prior
    """
    p = X.shape[1]
    variances = counts @ X**2 / counts.sum()
    variances[variances == 0.0] = 1.0
    return Prior(np.diag(variances) * n_clusters ** (-2.0 / p), p + 2.0, process)


def sample_clusters(
    X: Array,
    labels: Labels,
    n_clusters: int,
    counts: Array,
    C: float,
    rng: np.random.Generator,
    n_sweeps: int,
    *,
    prior: Prior | None = None,
    callback: Callable[[int, float], object] | None = None,
) -> SampledClusters:
    """Sample labels and parameters in turns and keep the sample of the largest density.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Points about zero.
    labels : ndarray of shape (n,)
        The start.
    n_clusters : int
    counts : ndarray of shape (n,)
        How many times every point counts.
    C : float
        Cost of the margin, not negative.
    rng : Generator
    n_sweeps : int
        At least 1.
    prior : Prior, default=None
        That of `cluster_prior` when None.
    callback : callable, default=None
        ``callback(sweep, log_density)`` after every sweep.

    Returns
    -------
    SampledClusters
    """
    prior = cluster_prior(X, counts, n_clusters) if prior is None else prior
    machines = np.zeros((n_clusters, X.shape[1]))
    mixture = draw_mixture(X, labels, counts, machines, C, prior, rng)
    best, top, history = (labels, mixture), -np.inf, []
    for sweep in range(1, n_sweeps + 1):
        each = counts[:, None] * mixture.log_density(X, C)
        labels = (each + rng.gumbel(size=each.shape)).argmax(axis=1)
        value = float(each[np.arange(len(X)), labels].sum()) + log_prior(mixture, prior)
        history.append(value)
        if value > top:
            best, top = (labels, mixture), value
        if callback is not None:
            callback(sweep, value)
        mixture = draw_mixture(X, labels, counts, mixture.machines, C, prior, rng)
    return SampledClusters(*best, log_density=top, history=tuple(history))


def draw_mixture(
    X: Array,
    labels: Labels,
    counts: Array,
    machines: Array,
    C: float,
    prior: Prior,
    rng: np.random.Generator,
) -> Mixture:
    """Draw shares, Gaussians and machines, given the labels and the machines before."""
    c, p = machines.shape
    if prior.process:
        labels, machines = _swap_names(labels, machines, counts, rng)
    sizes = np.bincount(labels, counts, c)
    if prior.process:
        sticks = rng.beta(1.0 + sizes[:-1], _ALPHA + _after(sizes)[:-1])
        shares = np.append(sticks, 1.0) * np.cumprod(np.append(1.0, 1.0 - sticks))
    else:
        shares = rng.gamma(_ALPHA / c + sizes)
    shares = np.maximum(shares, np.finfo(float).tiny)
    means, roots = np.empty((c, p)), np.empty((c, p, p))
    for k in range(c):
        inside = labels == k
        means[k], roots[k] = _draw_gaussian(X[inside], counts[inside], prior, rng)
    machines = _draw_machines(X, labels, counts, machines, C, rng)
    return Mixture(np.log(shares / shares.sum()), means, roots, machines)


def _after(sizes: Array) -> Array:
    """Return the sum of the sizes after each."""
    return np.asarray(np.cumsum(sizes[::-1])[::-1] - sizes)


def _swap_names(
    labels: Labels, machines: Array, counts: Array, rng: np.random.Generator
) -> tuple[Labels, Array]:
    """Swap clusters next to each other on the stick as often as their posterior says.

    A cluster found late would else stay at the thin end. The sticks are integrated out.
    """
    sizes = np.bincount(labels, counts, len(machines))
    order = np.arange(len(machines))
    for k in range(len(order) - 1):
        swapped = sizes.copy()
        swapped[[k, k + 1]] = sizes[[k + 1, k]]
        values = [betaln(1.0 + s[:-1], _ALPHA + _after(s)[:-1]).sum() for s in (swapped, sizes)]
        if rng.uniform() < np.exp(min(values[0] - values[1], 0.0)):
            sizes, order[[k, k + 1]] = swapped, order[[k + 1, k]]
    return np.argsort(order)[labels], machines[order]


def _draw_gaussian(
    X: Array, counts: Array, prior: Prior, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw mean and root of the covariance of one cluster."""
    p = len(prior.scatter)
    size = float(counts.sum())
    mean = counts @ X / size if size > 0 else np.zeros(p)
    spread = (X - mean) * np.sqrt(counts)[:, None]
    kappa = _KAPPA + size
    scatter = prior.scatter + spread.T @ spread
    scatter += _KAPPA * size / kappa * np.outer(mean, mean)
    # The factor of a Wishart matrix, by Bartlett: the covariance is the inverse of it.
    A = np.tril(rng.standard_normal((p, p)), -1)
    A[np.diag_indices(p)] = np.sqrt(rng.chisquare(prior.freedom + size - np.arange(p)))
    root = np.linalg.cholesky(scatter)
    # Sigma = L (A A')^-1 L' for scatter = L L', with the square root L A^-T, made triangular.
    square = solve_triangular(A, root.T, lower=True).T
    lower = qr(square.T, mode="r")[0].T
    lower *= np.sign(np.diag(lower))
    centre = size * mean / kappa
    return centre + lower @ rng.standard_normal(p) / np.sqrt(kappa), lower


def _draw_machines(
    X: Array,
    labels: Labels,
    counts: Array,
    machines: Array,
    C: float,
    rng: np.random.Generator,
) -> Array:
    """Draw the machines, one after the other, after the mixing variables of all hinges."""
    n, c = len(X), len(machines)
    rows = np.arange(n)
    cost = C * counts[:, None]
    machines = machines.copy()
    scores = X @ machines.T
    margins = cost * np.abs(1.0 + scores - scores[rows, labels][:, None])
    inverse = rng.wald(1.0 / np.maximum(margins, 1.0 / _LARGEST_MEAN), 1.0)
    weight = cost**2 * inverse  # of the squared margin
    weight[rows, labels] = 0.0
    other = np.ones((n, c), dtype=bool)
    other[rows, labels] = False
    for k in range(c):
        own = labels == k
        # As the label of a point: 1 + s_l - s, for all l. As another one: 1 + s - s_label.
        quadratic = np.where(own, weight.sum(axis=1), weight[:, k])
        rise = (weight * (1.0 + scores) + cost) * other
        fall = weight[:, k] * (1.0 - scores[rows, labels]) + cost[:, 0]
        linear = np.where(own, rise.sum(axis=1), -fall)
        precision = np.eye(X.shape[1]) + X.T @ (quadratic[:, None] * X)
        root = np.linalg.cholesky(precision)
        half = solve_triangular(root, linear @ X, lower=True)
        noise = rng.standard_normal(X.shape[1])
        machines[k] = solve_triangular(root, half + noise, lower=True, trans="T")
        scores[:, k] = X @ machines[k]
    return machines


def log_prior(mixture: Mixture, prior: Prior) -> float:
    """Return the logarithm of the prior density of the parameters."""
    c, p = mixture.means.shape
    value = 0.0  # of uniform sticks
    if not prior.process:
        value += (_ALPHA / c - 1.0) * mixture.log_shares.sum() + gammaln(_ALPHA)
        value -= c * gammaln(_ALPHA / c)
    value -= 0.5 * np.sum(mixture.machines**2) + 0.5 * c * p * np.log(2.0 * np.pi)
    nu = prior.freedom
    constant = 0.5 * nu * np.linalg.slogdet(prior.scatter)[1] - 0.5 * nu * p * np.log(2.0)
    constant -= multigammaln(0.5 * nu, p) + 0.5 * p * np.log(2.0 * np.pi / _KAPPA)
    for mean, root in zip(mixture.means, mixture.roots, strict=True):
        log_det = 2.0 * np.log(np.diag(root)).sum()
        inverse = solve_triangular(root, np.eye(p), lower=True)
        z = inverse @ mean
        trace = np.sum((inverse @ prior.scatter) * inverse)
        value += constant - 0.5 * (nu + p + 2.0) * log_det - 0.5 * trace - 0.5 * _KAPPA * z @ z
    return float(value)
