r"""Certificates that anyone can check: bounds recomputed from what a fitted estimator shows.

For every learned kernel, with the losses and duals written out in plain float64 arithmetic,

    upper  =  sum over the problems of  1/2 beta'K beta + losses(K beta + b)  +  R(theta)
    lower  =  sum over the problems of  kappa(witness)  -  E(witness)

where E is the largest value of ``1/2 w'K w - R`` over the whole family of kernels: for a fixed
kernel its own, for DANK and KNPL by one dense eigendecomposition, for TKL and GPK by the largest
eigenvalue of D, for multiple kernels by a norm of all ``w'K_m w``. Nothing that the solvers
computed on the way is used.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from kernelfit.ensemble.base import AutoKernel
from kernelfit.estimators.adaptive import AdaptiveMachine
from kernelfit.estimators.knpl import KNPLClassifier, KNPLRegressor
from kernelfit.estimators.machine import KernelMachine
from kernelfit.estimators.metric import KernelMetric
from kernelfit.estimators.multiple import MultipleKernelMachine
from kernelfit.estimators.positive_matrix import PositiveMatrixMachine
from kernelfit.estimators.standard import StandardKernelMachine
from kernelfit.estimators.union import UnionMachine
from kernelfit.families.psd.family import PositiveMatrixKernel
from kernelfit.families.union.atoms import Widths
from kernelfit.inspection.result import Audit
from kernelfit.inspection.stack import audit_stack
from kernelfit.kernels.standard import kernel_from_name
from kernelfit.learners.positive_matrix import merge_rows
from kernelfit.tasks.losses import LEAST_COST
from kernelfit.tasks.multiclass import decompose, problem_coef
from kernelfit.utils.validation import as_dense, check_weights

Array = NDArray[np.float64]

_ROUNDOFF = float(np.finfo(np.float64).eps)
_BISECTIONS = 200


@dataclass(frozen=True)
class _Problem:
    """One problem in plain numbers; `cost` is the largest magnitude of a coefficient."""

    p: Array
    cost: Array
    loss: str
    epsilon: float
    level: float
    has_intercept: bool
    beta: Array
    witness: Array

    @property
    def is_smooth(self) -> bool:
        """Whether the loss is squared, and the dual has a ridge."""
        return self.loss.startswith("squared")

    @property
    def square_cost(self) -> Array:
        """The costs of a squared loss."""
        return np.maximum(self.cost, LEAST_COST)

    @property
    def total(self) -> float:
        """The required sum of the coefficients, and the price of the intercept."""
        return 1.0 if self.loss == "one_class" else 0.0

    def kappa(self, beta: Array) -> float:
        value = float(self.p @ beta - self.epsilon * np.abs(beta).sum())
        return value - 0.25 * float(beta @ (beta / self.square_cost)) if self.is_smooth else value

    def losses(self, decision: Array) -> float:
        """Return the sum of the costs at some decision values."""
        if self.loss == "pinball":
            error = self.p - decision
            error = np.maximum(self.level * error, (self.level - 1.0) * error)
        elif self.loss == "one_class":
            error = np.maximum(0.0, -decision)
        elif "hinge" in self.loss:
            error = np.maximum(0.0, 1.0 - self.p * decision)
        else:
            error = np.maximum(0.0, np.abs(self.p - decision) - self.epsilon)
        if self.is_smooth:
            return float(self.square_cost @ error**2)
        return float(self.cost @ error)

    def slope(self, decision: Array) -> float:
        """Return the derivative of a smooth sum of costs in the intercept."""
        error = decision - self.p
        if "hinge" in self.loss:
            error = np.where(self.p * error < 0.0, error, 0.0)
        error = np.sign(error) * np.maximum(np.abs(error) - self.epsilon, 0.0)
        return 2.0 * float(self.square_cost @ error)

    def value(self, decision: Array, intercept: float) -> float:
        """Return the part of the primal without the norm."""
        return self.losses(decision + intercept) + self.total * intercept

    def intercept(self, decision: Array) -> float:
        """Return the intercept of the least value."""
        if not self.has_intercept:
            return 0.0
        kinks = self.p - decision
        if self.is_smooth:
            low, high = float(kinks.min()), float(kinks.max())
            for _ in range(_BISECTIONS):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if self.slope(decision + middle) < 0 else (low, middle)
            return 0.5 * (low + high)
        # It is at a kink of some loss. All are tried: a search would be misled by kinks so close
        # that rounding makes their values equal.
        if self.epsilon > 0.0:
            kinks = np.concatenate([kinks - self.epsilon, kinks + self.epsilon])
        return float(min(np.unique(kinks), key=lambda b: self.value(decision, b)))

    def least_loss(self, decision: Array) -> float:
        """Return the least value over the intercept."""
        return self.value(decision, self.intercept(decision))

    def rounding(self, decision: Array, terms: Array) -> float:
        """Return what the losses are known to, in rounding errors of decision values and targets.

        They are of the size of `terms` and of the targets, and multiplied by the slope of a loss.
        """
        slope = self.cost
        if self.is_smooth:
            error = np.abs(self.p - decision - self.intercept(decision))
            slope = 2.0 * self.cost * error + np.abs(self.beta) + np.abs(self.witness)
        return float(slope @ (np.abs(self.p) + terms))

    def violation(self, beta: Array) -> float:
        cost = np.full(self.cost.shape, np.inf) if self.is_smooth else self.cost
        low, high = -cost, cost
        if "hinge" in self.loss:
            low, high = np.where(self.p > 0, 0.0, low), np.where(self.p > 0, high, 0.0)
        elif self.loss == "pinball":
            low, high = (self.level - 1.0) * cost, self.level * cost
        elif self.loss == "one_class":
            low = np.zeros(cost.shape)
        outside = np.maximum(np.maximum(low - beta, beta - high), 0.0).max(initial=0.0)
        worst = float(outside / self.cost.max())
        if self.has_intercept:
            missed = abs(float(beta.sum()) - self.total)
            worst = max(worst, missed / max(float(np.abs(beta).sum()), 1e-300))
        return worst


def audit(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Recompute the certificate of a fitted estimator from its public attributes.

    Parameters
    ----------
    estimator : estimator
        A fitted machine of kernelfit, or a search, whose best machine is audited, a
        `KernelMetric` of the method "logdet", or an `AutoKernelClassifier` or
        `AutoKernelRegressor`, of which the weights are audited.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The training data, or the precomputed kernel matrix.
    y : array-like of shape (n_samples,), default=None
        The labels or targets of the training; not for `KernelOneClass`.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights of the training.

    Returns
    -------
    Audit or list of Audit
        One for each learned kernel, as `dual_gap_` has them.

    Notes
    -----
    It holds dense matrices of the kernel on all rows, and takes some multiple of the cube of their
    number for DANK and KNPL.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from kernelfit import KernelSVC
    >>> from kernelfit.inspection import audit
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = audit(KernelSVC(C=10.0).fit(scale(X), y), scale(X), y)
    >>> found.confirmed
    True
    """
    machine = getattr(estimator, "best_estimator_", estimator)
    if isinstance(machine, AutoKernel):
        check_is_fitted(machine)
        return audit_stack(machine, y, check_weights(sample_weight, len(np.asarray(y))))
    if isinstance(machine, KernelMetric):
        check_is_fitted(machine)
        return _audit_metric(machine, check_array(X, dtype=np.float64), np.asarray(y))
    if not isinstance(machine, KernelMachine):
        raise ValueError(f"expected a kernel machine or a search for one, got {estimator!r}")
    check_is_fitted(machine)
    if hasattr(machine, "compression_"):
        raise ValueError(
            "expected a machine as it was trained, got a compressed one, which has no certificate: "
            "audit the machine that it came from"
        )
    X = check_array(X, accept_sparse="csr", dtype=np.float64, allow_nd=True)
    if X.ndim < len(machine.shape_fit_):  # a single matrix of a stack
        X = X[..., None]
    if X.shape != machine.shape_fit_:
        raise ValueError(f"expected the training data of shape {machine.shape_fit_}, got {X.shape}")
    weight = check_weights(sample_weight, X.shape[0])
    y = _check_targets(machine, y, X.shape[0])
    rows, groups = _problems(machine, X, y, weight)
    gaps, objectives = np.atleast_1d(machine.dual_gap_), np.atleast_1d(machine.objective_)
    found = [
        _audit_group(machine, X, k, rows[k], problems, float(objectives[k]), float(gaps[k]))
        for k, problems in enumerate(groups)
    ]
    return found[0] if len(found) == 1 else found


def _check_targets(machine: Any, y: Any, n: int) -> Array:
    """Return the labels or targets of the training; complain of what they cannot have been."""
    if machine.loss == "one_class":
        return np.zeros(n)
    given: Array = np.asarray(y)
    if given.shape[:1] != (n,):
        got = "None" if given.ndim == 0 else f"{len(given)}"
        raise ValueError(f"expected the {n} labels or targets of the training, got {got}")
    if is_classifier(machine):
        unknown = np.setdiff1d(given, machine.classes_)
        if unknown.size:
            raise ValueError(
                f"expected the labels of the training, which are among {machine.classes_}, "
                f"got {unknown[0]}"
            )
        return given
    targets: Array = given.astype(np.float64)
    if not np.isfinite(targets).all():
        raise ValueError("expected the targets of the training, got nan or infinity")
    return targets


def _problems(machine: Any, X: Any, y: Array, weight: Array) -> tuple[list[Any], list[Any]]:
    """Return the rows and the problems of every learned kernel."""
    classify, n_problems = is_classifier(machine), len(machine.intercept_)
    targets: Any = np.searchsorted(machine.classes_, y) if classify else y
    factor = machine.class_weight_[targets] if classify else np.ones(len(y))
    used, total = np.flatnonzero(weight), weight[weight > 0]
    merges = isinstance(machine, PositiveMatrixMachine | UnionMachine) or hasattr(machine, "bank_")
    if merges:  # equal rows are one
        used, total = merge_rows(X, targets, weight)
    cost = machine.C * total * factor[used]
    if machine.loss == "one_class":
        cost = total / (machine.nu * total.sum())
    parts = _parts(machine, targets[used])
    levels = machine.quantiles_ if machine.loss == "pinball" else np.full(n_problems, np.nan)

    # Blocks that are kept side by side have no intercept; the mean of the targets stands for it.
    divided = _is_divided(machine)
    has_intercept = machine.fit_intercept and not divided
    if divided and machine.fit_intercept and not classify:
        parts = [(own, p - np.average(p, weights=cost)) for own, p in parts]

    def spread(layers: Array, k: int) -> Array:
        full = np.zeros(X.shape[0])
        full[machine.support_] = problem_coef(layers, machine.n_support_, k, n_problems)
        return full[used]

    problems = [
        _Problem(
            p,
            cost[own],
            machine.loss,
            machine.epsilon if "tube" in machine.loss else 0.0,
            float(levels[k]),
            has_intercept,
            spread(as_dense(machine.dual_coef_), k)[own],
            spread(machine.witness_coef_, k)[own],
        )
        for k, (own, p) in enumerate(parts)
    ]
    n_kernels = np.size(machine.dual_gap_)
    indices = np.array_split(np.arange(n_problems), n_kernels)
    return [used[parts[group[0]][0]] for group in indices], [
        [problems[k] for k in group] for group in indices
    ]


def _parts(machine: Any, targets: Any) -> list[tuple[Any, Any]]:
    """Return which rows every problem has, and its targets there."""
    if is_classifier(machine):
        one_vs_one = getattr(machine, "multi_class", "ovr") == "ovo"
        problems = decompose(targets, len(machine.classes_), one_vs_one)
        return [(problem.rows, problem.p) for problem in problems]
    parts = [(slice(None), column) for column in np.atleast_2d(targets.T)]
    return parts * len(machine.intercept_) if machine.loss == "pinball" else parts


def _audit_group(
    machine: Any,
    X: Any,
    k: int,
    rows: Any,
    problems: list[_Problem],
    objective: float,
    claimed: float,
) -> Audit:
    betas = np.stack([problem.beta for problem in problems])
    witnesses = np.stack([problem.witness for problem in problems])
    K, penalty, energy = _evaluate(machine, X, k, rows, problems[0], witnesses)
    decision = betas @ K
    norms = 0.5 * float(np.sum(betas * decision))
    losses = sum(q.least_loss(f) for q, f in zip(problems, decision, strict=True))
    kappa = sum(q.kappa(w) for q, w in zip(problems, witnesses, strict=True))
    scale = norms + losses + abs(kappa) + energy + penalty
    # What the decision values are sums of may cancel out.
    terms = np.abs(decision) + np.abs(betas) @ np.abs(K)
    scale += sum(q.rounding(f, size) for q, f, size in zip(problems, decision, terms, strict=True))
    upper, lower = norms + losses + penalty, kappa - energy
    violation = max(max(q.violation(q.beta), q.violation(q.witness)) for q in problems)
    rounding = 64.0 * _ROUNDOFF * scale + float(np.finfo(np.float64).tiny)
    return Audit(lower, upper, upper - lower, objective, claimed, violation, rounding)


def _evaluate(
    machine: Any, X: Any, k: int, rows: Any, problem: _Problem, witnesses: Array
) -> tuple[Array, float, float]:
    """Return the kernel matrix, the penalty and the largest energy."""
    if isinstance(machine, AdaptiveMachine):
        return _adaptive(machine, X, k, rows, problem)
    if isinstance(machine, UnionMachine):
        energy = max(_hull_energy(part, X[rows], witnesses) for part in machine.hull_)
        return _learned_kernel(machine, k)(X[rows], X[rows]), 0.0, energy
    if isinstance(machine, PositiveMatrixMachine):
        kernel = _learned_kernel(machine, k)
        return kernel(X[rows], X[rows]), 0.0, _largest_energy(kernel, X[rows], witnesses)
    if isinstance(machine, MultipleKernelMachine) and machine.combination != "deep":
        K, energy = _multiple(machine, X, k, rows, witnesses)
        return K, 0.0, energy
    if isinstance(machine, MultipleKernelMachine):
        K = _learned_kernel(machine, k)(X[rows], X[rows])
    else:
        K = _initial_matrix(machine, X, rows)
    return K, 0.0, _energy(K, witnesses)


def _learned_kernel(machine: Any, k: int) -> Any:
    return machine.kernels_[k] if hasattr(machine, "kernels_") else machine.kernel_


def _energy(K: Array, witnesses: Array) -> float:
    return 0.5 * float(np.sum(witnesses * (witnesses @ K)))


def _audit_metric(metric: Any, X: Array, y: Any) -> Audit:
    """Return the certificate of a LogDet metric, from its pairs, bounds and multipliers."""
    if metric.method != "logdet":
        raise ValueError(f"expected method='logdet', which has a certificate, got {metric!r}")
    first, second = metric.pairs_.T
    V, slack = X[first] - X[second], metric.slack
    sign = np.where(y[first] == y[second], 1.0, -1.0)
    bound, multipliers = metric.bounds_, metric.multipliers_
    used = np.ptp(X, axis=0) > 0.0  # constant features have no part in distances
    A = (metric.components_.T @ metric.components_)[np.ix_(used, used)]
    V = V[:, used]
    inverse = np.eye(len(A)) + V.T @ ((sign * multipliers)[:, None] * V)
    moves = np.log(1.0 - sign * multipliers * bound / slack)
    p = np.sum((V @ A) * V, axis=1)
    ratio = np.where(sign > 0, np.maximum(p, bound), np.minimum(p, bound)) / bound
    logdets = np.linalg.slogdet(A)[1], np.linalg.slogdet(inverse)[1]
    upper = np.trace(A) - logdets[0] - len(A) + slack * np.sum(ratio - np.log(ratio) - 1.0)
    lower = logdets[1] + slack * moves.sum()
    violation = float(np.maximum(-multipliers, 0.0).max(initial=0.0))
    terms = np.trace(A) + sum(map(abs, logdets)) + slack * np.sum(ratio + np.abs(moves)) + len(A)
    rounding = 64.0 * _ROUNDOFF * float(terms) * np.linalg.cond(A)
    return Audit(
        float(lower), float(upper), float(upper - lower), metric.objective_, metric.dual_gap_,
        violation, float(rounding),
    )  # fmt: skip


def _is_divided(machine: Any) -> bool:
    """Return whether blocks were solved alone and kept as they are."""
    return (
        getattr(machine, "partition", None) is not None
        and getattr(machine, "combine", "global") != "global"
    )


def _initial_matrix(machine: Any, X: Any, rows: Any) -> Array:
    """Return the matrix of the kernel that the machine was given."""
    if not isinstance(machine, StandardKernelMachine):
        raise ValueError(f"expected a machine with a kernel, got {machine!r}")
    if machine.kernel == "precomputed":
        return np.asarray(X[np.ix_(rows, rows)], dtype=np.float64)
    kernel = machine.kernel
    if not callable(kernel):
        gamma = getattr(machine, "gamma_", 1.0)
        options = {"gamma": gamma, "degree": machine.degree, "coef0": machine.coef0}
        kernel = kernel_from_name(machine.kernel, **options)
    return np.asarray(kernel(X[rows], X[rows]), dtype=np.float64)


def _adaptive(
    machine: Any, X: Any, k: int, rows: Any, problem: _Problem
) -> tuple[Array, float, float]:
    """Return the kernel matrix, the penalty and the energy of a factor, by dense algebra."""
    K = _initial_matrix(machine, X, rows)
    eta, tau = float(np.atleast_1d(machine.eta_)[k]), float(machine.tau)
    tau = 0.0 if _is_divided(machine) else tau
    weight = problem.cost / machine.C
    root = np.sqrt(weight)
    x = problem.witness / root
    gamma = np.outer(x, x) * K / (4.0 * eta)  # the copies of a point counted
    total = float(weight.sum())
    if isinstance(machine, KNPLClassifier | KNPLRegressor):
        z = root / np.sqrt(total)
        inner = gamma - np.outer(z, z @ gamma)
        change = inner - np.outer(inner @ z, z)
        neutral = 1.0
    else:
        neutral = max(1.0 - 0.5 * tau / total, 0.0)
        values, vectors = np.linalg.eigh(np.outer(root, root) + gamma)
        kept = np.maximum(values - 0.5 * tau, 0.0)
        change = (vectors * kept) @ vectors.T - neutral * np.outer(root, root)
    # With Theta = neutral 11' + change: R = eta (||change||^2 + slope), least value 0.
    rows_sum = float(root @ change @ root)
    slope = 2.0 * (neutral - 1.0) * rows_sum + tau * float(np.trace(change))
    penalty = eta * (float(np.sum(change**2)) + slope) if np.isfinite(eta) else 0.0
    theta = neutral + change / np.outer(root, root)
    energy = 0.5 * float(problem.witness @ (theta * K) @ problem.witness) - penalty
    return theta * K, penalty, energy


def _largest_energy(kernel: Any, X: Array, witnesses: Array) -> float:
    """Return half of n_P times the largest eigenvalue of D, summed over the problems."""
    scaled = kernel.scaling(X)
    D = np.zeros((kernel.basis.size,) * 2)
    for w in witnesses:
        response = kernel.basis.response(scaled, scaled, kernel.scale * w)
        D += response.form(w).entries
    return 0.5 * float(kernel.basis.size) * max(float(np.linalg.eigvalsh(D)[-1]), 0.0)


def _multiple(machine: Any, X: Array, k: int, rows: Any, witnesses: Array) -> tuple[Array, float]:
    """Return the matrix of a sum of kernels and the largest energy over the weights."""
    if machine.combination == "bayes":
        raise ValueError("expected a machine with a certificate, got combination='bayes'")
    weights = np.atleast_2d(machine.weights_)[k]
    total, forms = np.zeros((len(rows), len(rows))), np.empty(len(weights))
    for m, (weight, scale) in enumerate(zip(weights, machine.scales_, strict=True)):
        if hasattr(machine, "bank_"):
            K = machine.bank_[m](X[rows], X[rows])
        else:
            K = scale * X[np.ix_(rows, rows)][:, :, m]
        total += weight * K
        forms[m] = np.sum(witnesses * (witnesses @ K))
    if machine.combination == "simple" or (machine.combination == "lp" and machine.p == 1.0):
        return total, 0.5 * float(forms.max())
    if machine.combination == "lp" and np.isfinite(machine.p):
        q, radius = machine.p / (machine.p - 1.0), len(forms) ** (1.0 / machine.p - 1.0)
        largest = max(float(forms.max()), np.finfo(float).tiny)
        norm = largest * float(np.sum((forms / largest) ** q)) ** (1.0 / q)
        return total, 0.5 * radius * norm
    return total, 0.5 * float(weights @ forms)


def _hull_energy(part: Any, X: Array, witnesses: Array) -> float:
    """Return the largest energy over one of the sets of a union."""
    if isinstance(part, PositiveMatrixKernel):
        return _largest_energy(part, X, witnesses)
    if isinstance(part, Widths):
        Z = X if part.features is None else X[:, list(part.features)]
        distances = ((Z[:, None] - Z) ** 2).sum(axis=2)
        return max(_energy(np.exp(-gamma * distances), witnesses) for gamma in part.gammas)
    return _energy(part(X, X), witnesses)
