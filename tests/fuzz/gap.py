r"""The certificates of the machines, recomputed from public attributes alone.

For beta in the box with sum zero (or no intercept) the gap is a sum over the points,

.. math:: P - D = \sum_i u_i (r_i - \epsilon)_+ - l_i (-r_i - \epsilon)_+ + \epsilon |\beta_i|
          - r_i \beta_i, \qquad r = p - K\beta - b,

and no term is negative: for `KernelSVC` and `KernelSVR` with a standard kernel in plain float64
numpy, with the kernel by its definition, for the others by `kernelfit.inspection.audit`. Of any
machine, whatever it learns, the objective is a lower bound on the optimum and so not above the
primal value of f = 0, which needs no kernel.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

import kernelfit
from kernelfit import inspection
from kernelfit.tasks.losses import LEAST_COST

_UNIT = 2.0**-53
_DIRECT_FEATURES = 64  # beyond it, and for sparse data, distances come from inner products


def audit(estimator, draw) -> Iterator[str]:
    """Yield what is wrong with the certificates of a fitted machine or search."""
    for machine in getattr(estimator, "estimators_", [estimator]):
        yield from _compare_with_zero(machine, draw.data)
        plain = type(machine) in (kernelfit.KernelSVC, kernelfit.KernelSVR)
        plain &= machine.loss in ("hinge", "tube")
        standard = plain and isinstance(machine.kernel, str) and machine.kernel != "precomputed"
        with np.errstate(all="ignore"):
            yield from (_audit if standard else _inspect)(machine, draw.data)


def _inspect(machine, data):
    found = inspection.audit(machine, data.X, data.y, data.weight)
    for one in found if isinstance(found, list) else [found]:
        known = np.isfinite([one.claimed_gap, one.resolution]).all()
        if known and not one.confirmed:
            yield (
                f"gap {one.gap:.3g} recomputed, {one.claimed_gap:.3g} claimed, "
                f"rounding {one.resolution:.1e}, violation {one.violation:.1e}"
            )


def _compare_with_zero(machine, data):
    objective = np.atleast_1d(machine.objective_)
    bounds = np.array(
        [
            zero_value(p, cost, loss, _has_intercept(machine))
            for (_, p, cost, _), loss in zip(
                problems(machine, data.y, _weights(data)), _loss(machine), strict=True
            )
        ]
    )
    if len(objective) < len(bounds):
        bounds = bounds.sum(keepdims=True)
    proved = ~np.isnan(np.atleast_1d(machine.dual_gap_))  # nan: an indefinite kernel
    # Without bounds on the coefficients, nothing bounds what the rounding of K does to them.
    slack = 1e-6 if getattr(machine, "loss", "").startswith("squared") else 1e-9
    for value, bound in zip(objective[proved], bounds[proved], strict=True):
        if not value <= bound * (1 + slack) + 1e-300:
            yield f"objective {value:.3g} above {bound:.3g}, the primal value of f = 0"


def _has_intercept(machine):
    """Return whether the problem has an intercept: blocks that are kept are solved without."""
    combine = getattr(machine, "combine", "global")  # KernelSVC and KernelSVR always go on
    kept = getattr(machine, "partition", None) is not None and combine != "global"
    return machine.fit_intercept and not kept


def _loss(machine):
    """Return the name of the loss and its parameters: widths of tubes, or levels."""
    loss = getattr(machine, "loss", "hinge")
    if loss == "pinball":
        return [(loss, level) for level in machine.quantiles_]
    if loss == "one_class":
        return [(loss, machine.nu)]
    return [(loss, machine.epsilon if "tube" in loss else None)] * len(machine.intercept_)


def zero_value(p, cost, loss, fit_intercept):
    """Return the primal value of f = 0 with the best intercept, or one that is not less."""
    name, parameter = loss
    with np.errstate(all="ignore"):
        if name == "one_class":
            return np.inf  # of f = 0 it is 0, to which no rounding error is relative
        if name == "hinge":
            above, below = cost[p > 0].sum(), cost[p < 0].sum()
            return 2.0 * min(above, below) if fit_intercept else above + below
        if name.startswith("squared"):  # labels are on two levels: both are the same
            cost = np.maximum(cost, LEAST_COST)
            b = cost @ p / cost.sum() if fit_intercept else 0.0
            rounding = 16.0 * _UNIT * np.abs(p).max()
            return cost @ (np.abs(p - b) + rounding) ** 2
        ends = [0.0]
        if fit_intercept:
            ends = p if name == "pinball" else np.concatenate([p - parameter, p + parameter])
        rounding = 8.0 * _UNIT * np.abs(p).max() * cost.sum()  # of the ends

        def losses(t):
            if name == "pinball":
                return np.maximum(parameter * t, (parameter - 1.0) * t)
            return np.maximum(np.abs(t) - parameter, 0.0)

        return min(cost @ losses(p - b) for b in ends) + rounding


def _weights(data):
    return np.ones(len(data.y)) if data.weight is None else data.weight


def _audit(machine, data):
    X = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
    X = X.astype(np.float64)
    K, K_error = gram(machine, X, sparse.issparse(data.X))
    claims = zip(
        np.atleast_1d(machine.objective_), np.atleast_1d(machine.dual_gap_), machine.intercept_,
        strict=True,
    )  # fmt: skip
    for (rows, p, cost, beta), (objective, gap, intercept) in zip(
        problems(machine, data.y, _weights(data)), claims, strict=True
    ):
        if np.isnan(gap):
            rounding = 8.0 * _UNIT * (np.abs(beta) @ np.abs(K[np.ix_(rows, rows)]) @ np.abs(beta))
            if getattr(machine, "coef0", 0.0) >= 0.0 and not rounding > 1e-9 * abs(p @ beta):
                yield "a gap of nan for a positive semidefinite kernel"
            continue
        if gap < 0.0 or not np.isfinite(objective):
            yield f"gap {gap}, objective {objective}"
            continue
        epsilon = getattr(machine, "epsilon", 0.0)
        lower, upper = -cost, cost
        if hasattr(machine, "classes_"):
            lower, upper = np.minimum(p * cost, 0.0), np.maximum(p * cost, 0.0)
        # The products of C and weights may be rounded in another order.
        if np.any(beta < lower * (1 + 4 * _UNIT)) or np.any(beta > upper * (1 + 4 * _UNIT)):
            yield "coefficients beyond their bounds"
        block = np.ix_(rows, rows)
        terms = np.abs(K[block] * beta).sum(axis=1)
        doubt = (K_error[block] * np.abs(beta)).sum(axis=1)
        residual = p - K[block] @ beta - intercept
        slack = upper * np.maximum(residual - epsilon, 0.0)
        slack -= lower * np.maximum(-residual - epsilon, 0.0)
        recomputed = np.sum(slack + epsilon * np.abs(beta) - residual * beta)
        dual = p @ beta - epsilon * np.abs(beta).sum() - 0.5 * beta @ K[block] @ beta
        size = terms + np.abs(p) + epsilon + abs(intercept)
        rounding = 4 * (len(p) + 8) * _UNIT * (cost @ size) + 2 * cost @ doubt
        imbalance = 0.0
        if machine.fit_intercept:
            imbalance = abs(beta.sum())
            allowed = 1e-12 * np.abs(beta).sum() + 2.0**-50 * cost.max(initial=0.0)
            if imbalance > allowed:
                yield f"coefficients that sum to {imbalance:.1e}, at most {allowed:.1e} is rounding"
        rounding += imbalance * abs(intercept)
        if not np.isfinite(rounding):
            continue  # nothing can be said in float64
        if not recomputed <= gap + rounding:
            yield f"gap {recomputed:.3g} recomputed, {gap:.3g} claimed, rounding {rounding:.1e}"
        if not abs(dual - objective) <= rounding:
            yield f"objective {dual:.6g} recomputed, {objective:.6g} claimed, {rounding:.1e}"


def gram(machine, X, is_sparse):
    """Return the kernel matrix of a standard kernel and a bound on the error of its entries."""
    d = X.shape[1]
    products = np.abs(X) @ np.abs(X).T
    unit = 2 * (d + 4) * _UNIT
    if machine.kernel == "linear":
        return X @ X.T, unit * products
    gamma = machine.gamma_
    if machine.kernel == "poly":
        degree, coef0 = machine.degree, machine.coef0
        inner = gamma * (X @ X.T) + coef0
        largest = np.abs(gamma) * products + abs(coef0)
        return inner**degree, unit * (degree + 2) * largest**degree
    metric = "sqeuclidean" if machine.kernel == "rbf" else "cityblock"
    distances = cdist(X, X, metric)
    error = unit * distances
    if machine.kernel == "rbf" and (is_sparse or d > _DIRECT_FEATURES):
        centred = X if is_sparse else X - X.mean(axis=0)
        norms = np.einsum("ij,ij->i", centred, centred)
        error = error + 2 * unit * (norms[:, None] + norms)
    K = np.exp(-gamma * distances)
    return K, np.minimum(gamma * error * K, 1.0) + 4 * _UNIT * K


def problems(machine, y, weight):
    """Yield rows, linear term, costs and coefficients of every problem of a machine."""
    n = len(y)
    dual = machine.dual_coef_
    dual = dual.toarray() if sparse.issparse(dual) else dual
    coef = np.zeros((len(dual), n))
    coef[:, machine.support_] = dual
    if not hasattr(machine, "classes_"):
        for layer in coef:
            yield np.arange(n), np.asarray(y, dtype=np.float64), machine.C * weight, layer
        return
    labels = np.searchsorted(machine.classes_, y)
    cost = machine.C * weight * machine.class_weight_[labels]
    k = len(machine.classes_)
    if k == 2:
        yield np.arange(n), np.where(labels == 1, 1.0, -1.0), cost, coef[0]
    elif getattr(machine, "multi_class", "ovr") == "ovr":
        for c in range(k):
            yield np.arange(n), np.where(labels == c, 1.0, -1.0), cost, coef[c]
    else:
        for i, j in combinations(range(k), 2):
            rows = np.flatnonzero((labels == i) | (labels == j))
            first = labels[rows] == i
            yield (
                rows,
                np.where(first, 1.0, -1.0),
                cost[rows],
                coef[np.where(first, j - 1, i), rows],
            )
