"""Hypothesis strategies for dual problems and box-plane projections.

Structure (size, rank, ties, scales, zero weights) is drawn by hypothesis so that it shrinks; the
numbers themselves come from a generator seeded by hypothesis.
"""

import numpy as np
from hypothesis import strategies as st

from tests.reference.losses import LOSSES, LossProblem, loss_problem
from tests.reference.svm import DualProblem, svc_problem, svr_problem

seeds = st.integers(0, 2**32 - 1)
exponents = st.integers(-6, 6)

GRAMS = ("features", "duplicates", "rank one", "constant", "zero", "diagonal", "rbf")


@st.composite
def gram_matrices(draw, n, kinds=GRAMS):
    """Draw a psd matrix of order n, psd up to rounding, with a scale from 1e-6 to 1e6."""
    kind = draw(st.sampled_from(kinds))
    rng = np.random.default_rng(draw(seeds))
    rank = 1 if kind == "rank one" else draw(st.integers(1, n + 2))
    if draw(st.booleans()):
        X = rng.integers(-2, 3, size=(n, rank)).astype(np.float64)  # ties and exact zeros
    else:
        X = rng.standard_normal((n, rank))
    if kind == "duplicates":
        X = X[rng.integers(0, max(1, n // 2), size=n)]
    if kind == "constant":
        K = np.ones((n, n))
    elif kind == "zero":
        K = np.zeros((n, n))
    elif kind == "diagonal":
        K = np.diag(rng.uniform(0.0, 2.0, size=n))
    elif kind == "rbf":
        K = np.exp(-((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    else:
        K = X @ X.T
    return 10.0 ** draw(exponents) * (K + K.T) / 2


@st.composite
def weights(draw, n):
    """Draw bounds C_i: equal, unequal, or with some points switched off."""
    kind = draw(st.sampled_from(["equal", "unequal", "zeros"]))
    rng = np.random.default_rng(draw(seeds))
    C = 10.0 ** draw(exponents) * np.ones(n)
    if kind == "unequal":
        C *= rng.uniform(0.1, 2.0, size=n)
    elif kind == "zeros":
        C *= rng.integers(0, 2, size=n)
    return C


@st.composite
def dual_problems(draw, max_n=16, kinds=GRAMS):
    """Draw a classification, regression or general dual, with or without an intercept."""
    n = draw(st.integers(2, max_n))
    K = draw(gram_matrices(n, kinds))
    C = draw(weights(n))
    fit_intercept = draw(st.booleans())
    task = draw(st.sampled_from(["classification", "regression", "general"]))
    rng = np.random.default_rng(draw(seeds))
    if task == "classification":
        return svc_problem(K, rng.choice([-1.0, 1.0], size=n), C, fit_intercept)
    scale = 10.0 ** draw(st.integers(-2, 2))
    epsilon = scale * draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    p = scale * rng.standard_normal(n)
    if task == "regression":
        return svr_problem(K, p, C, epsilon, fit_intercept)
    lower, upper = -C * rng.uniform(0.0, 1.0, size=n), C * rng.uniform(0.0, 1.0, size=n)
    return DualProblem(K, p, lower, upper, epsilon, fit_intercept)


@st.composite
def projection_inputs(draw, max_n=12):
    """Draw ``(v, lower, upper, total)`` with a nonempty feasible set, ties and empty intervals."""
    n = draw(st.integers(1, max_n))
    rng = np.random.default_rng(draw(seeds))
    if draw(st.booleans()):
        v, a, b = rng.integers(-3, 4, size=(3, n)).astype(np.float64)  # many equal breakpoints
    else:
        v, a, b = rng.standard_normal((3, n))
    box_scale = 10.0 ** draw(exponents)
    lower, upper = box_scale * np.minimum(a, b), box_scale * np.maximum(a, b)
    v = v * 10.0 ** draw(exponents)
    # The whole range of attainable totals, its two ends included.
    fraction = draw(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))
    total = (1 - fraction) * lower.sum() + fraction * upper.sum()
    return v, lower, upper, total


@st.composite
def loss_problems(draw, max_n=12, kinds=GRAMS):
    """Draw the dual of one of the six losses, or a mixture: any box, ridge, epsilon and total."""
    n = draw(st.integers(2, max_n))
    K = draw(gram_matrices(n, kinds))
    C = draw(weights(n))
    name = draw(st.sampled_from([*LOSSES, "mixture", "mixture"]))
    fit_intercept = draw(st.booleans())
    rng = np.random.default_rng(draw(seeds))
    if name == "one-class":
        C = 10.0 ** draw(st.integers(-2, 2)) * rng.uniform(1.0, 2.0, size=n)
        problem = loss_problem(name, K, np.ones(n), C, fit_intercept)
        if fit_intercept:  # any sum between 0 and that of the bounds, both included
            fraction = draw(st.sampled_from([0.0, 1e-3, 0.5, 1.0]))
            problem = problem.replace(total=fraction * problem.upper.sum())
        return problem
    scale = 10.0 ** draw(st.integers(-2, 2))
    if name != "mixture":
        y = rng.choice([-1.0, 1.0], size=n) if "hinge" in name else scale * rng.standard_normal(n)
        return loss_problem(name, K, y, C, fit_intercept)
    ridge = rng.uniform(0.5, 2.0, size=n) * 10.0 ** draw(exponents)
    ridge *= rng.integers(0, 2, size=n) if draw(st.booleans()) else 1.0
    # Each end of each interval is at 0, at the cost, or infinite where there is a ridge.
    ends = rng.integers(0, 3, size=(2, n))
    bounds = np.where(ends == 0, 0.0, C * rng.uniform(0.1, 1.0, size=(2, n)))
    bounds = np.where((ends == 2) & (ridge > 0.0), np.inf, bounds)
    lower, upper = -bounds[0], bounds[1]
    total = None
    if fit_intercept:
        inside = np.clip(C * rng.standard_normal(n), lower, upper)
        total = draw(st.sampled_from([0.0, 1.0])) * inside.sum()
    epsilon = scale * draw(st.sampled_from([0.0, 0.1, 1.0]))
    p = scale * rng.standard_normal(n)
    return LossProblem(K, p, lower, upper, epsilon, ridge, total)
