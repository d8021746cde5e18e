"""Fixed well-conditioned problems for the tests that need one of each task."""

import numpy as np

from tests.reference.svm import svc_problem, svr_problem


def blobs(n, seed=0, separation=0.7, features=3):
    """Return two classes of normal points at ``+separation`` and ``-separation``."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.standard_normal((n, features)) + separation * y[:, None], y


def example(task, fit_intercept=True, weighted=False, n=30, C=2.0, seed=0):
    """Return an rbf problem of overlapping classes, or of a noisy sine."""
    X, y = blobs(n, seed)
    # Not by the loops of the reference kernels, which take seconds for a thousand points.
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    rng = np.random.default_rng(seed + 1)
    if weighted:
        C = C * rng.uniform(0.0, 3.0, size=n) * (rng.uniform(size=n) > 0.2)
    if task == "svc":
        return svc_problem(K, y, C, fit_intercept)
    return svr_problem(K, np.sin(X[:, 0]) + 0.2 * rng.standard_normal(n), C, 0.1, fit_intercept)
