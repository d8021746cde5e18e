"""What the estimators with an adaptive kernel share: training, partition, points not trained on."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.cluster import KMeans
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from kernelfit.estimators.base import BaseKernelMachine
from kernelfit.kernels.distances import squared_distances
from kernelfit.learners.dank import learn_factor
from kernelfit.learners.out_of_sample import knn_shares, reciprocal_neighbours, smooth_shares
from kernelfit.learners.partition import learn_blocks

_CHUNK_BYTES = 2**26
_SMALL_MULTIPLE = 1e-8  # of the papers' eta: where training fails at a larger one, the data is why
_RULES = ("neutral", "knn", "nearest", "reciprocal", "smooth")


class AdaptiveMachine(BaseKernelMachine):
    """Base of the estimators that learn a factor of the kernel matrix.

    It stands before `KernelSVC` or `KernelSVR` among the bases and changes how they train and how
    they evaluate the kernel. A subclass sets ``_method``.
    """

    _parameter_constraints: ClassVar[dict] = {
        "eta": [str, Interval(Real, 0, None, closed="right")],
        "out_of_sample": [StrOptions(set(_RULES))],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }
    _method: ClassVar[Literal["dank", "knpl"]]
    # What only DANK has.
    tau = 0.0
    partition: int | None = None
    combine = "global"

    def _fit(self, X, y, weight, previous):
        factor, relative = parse_eta(self.eta)
        if self._precomputed and self.out_of_sample != "neutral":
            raise ValueError(
                f"expected out_of_sample='neutral' for a precomputed kernel, which comes without "
                f"the data that other rules need, got {self.out_of_sample!r}"
            )
        if self.out_of_sample == "smooth" and self.kernel not in ("rbf", "laplacian"):
            raise ValueError(
                f"expected kernel 'rbf' or 'laplacian', whose values are positive, for "
                f"out_of_sample='smooth', got {self.kernel!r}"
            )
        if self.solver == "quartic" and self.tau > 0.0:
            raise ValueError(f"expected tau=0 for solver='quartic', got {self.tau}")
        n = len(y)
        # What the learner needs to know of every row beside its cost.
        self._row_table = np.zeros((n, 2), dtype=np.intp)
        if relative:
            self._row_table[:, 0] = repeated_rows(X, y)
        if self.partition is not None:
            self._row_table[:, 1] = self._make_partition(X, weight)
        self._eta_rule = factor, relative
        super()._fit(X, y, weight, previous)
        del self._row_table, self._eta_rule

    def _make_partition(self, X, weight):
        if self._precomputed:
            raise ValueError("expected data to partition, got a precomputed kernel matrix")
        rows = np.flatnonzero(weight)
        if self.partition is None or self.partition > len(rows):
            raise ValueError(
                f"expected a partition into at most {len(rows)} blocks, the number of rows of "
                f"positive weight, got {self.partition}"
            )
        means = KMeans(self.partition, n_init=1, random_state=self.random_state)
        means.fit(X[rows], sample_weight=weight[rows])
        self.cluster_centers_ = means.cluster_centers_
        blocks = np.zeros(X.shape[0], dtype=np.intp)
        blocks[rows] = self._nearest_block(X[rows])
        return blocks

    def _nearest_block(self, X):
        return squared_distances(X, self.cluster_centers_).argmin(axis=1)

    def _train(self, X, weight, cost, groups, solve, problems, shape, previous, n_jobs=None):
        """Solve the problems of the parent class, each with a factor of its kernel matrix."""
        table = np.column_stack([cost, self._row_table])
        results = super()._train(
            X, weight, table, groups, self._solve, problems, shape, previous, n_jobs
        )
        kept = np.flatnonzero(weight)
        position = np.empty(X.shape[0], dtype=np.intp)
        position[self.support_] = np.arange(len(self.support_))
        self._factors, self._layers = [], []
        self._problem_rows = [kept[problem.rows] for problem, _ in results]
        for (_, result), rows in zip(results, self._problem_rows, strict=True):
            own = rows[result.response.support]
            self._factors.append(result.response.compact())
            # Where the problem's support is among the support vectors.
            self._layers.append(position[own])
        eta = [result.response.eta for _, result in results]
        self._neutral = np.array([result.neutral for _, result in results])
        self.eta_ = eta[0] if len(eta) == 1 else np.array(eta)
        # Predictions follow the parameters of the fit, should they be changed after it.
        self._rule = self.out_of_sample
        by_block = self.partition is not None and self.combine == "nearest"
        self._support_blocks = self._row_table[self.support_, 1] if by_block else None
        # Costs, multiplicities and blocks of all rows, for diagnostics.
        self._row_blocks = None
        if self.partition is not None:
            self._row_blocks = cost, cost / self.C, self._row_table[:, 1]
        if self._precomputed:
            self._support_kernel = np.asarray(X[np.ix_(self.support_, self.support_)], np.float64)
        keep = self._rule != "neutral"
        self._fit_data: Any = (X, weight, self.n_neighbors) if keep else None

    def _solve(self, gram, p, table, *, warm_start, **options):
        cost, groups, blocks = table[:, 0], table[:, 1], table[:, 2]
        weight = cost / self.C
        groups, blocks = groups.astype(np.intp), blocks.astype(np.intp)
        if is_regressor(self):
            lower, upper, epsilon = -cost, cost, self.epsilon
        else:
            lower, upper, epsilon = np.minimum(p * cost, 0.0), np.maximum(p * cost, 0.0), 0.0
        factor, relative = self._eta_rule
        problem = {"weight": weight, "epsilon": epsilon, "eta": factor, "relative": relative}
        problem["groups"] = groups if relative else None
        if self.partition is not None:
            # The blocks have no intercept: the mean stands for it, so that a shift of the targets
            # changes nothing.
            centred = is_regressor(self) and self.fit_intercept
            mean = float(np.average(p, weights=weight)) if centred else 0.0
            divided = learn_blocks(
                gram,
                p - mean,
                lower,
                upper,
                blocks,
                n_jobs=self.n_jobs,
                **problem,
                **{name: options[name] for name in ("tol", "max_iter", "assume_psd")},
            )
            if self.combine != "global":
                return replace(divided, intercept=mean)
            problem |= {"eta": divided.response.eta, "relative": False}
            warm_start = divided.x
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            result = learn_factor(
                gram,
                p,
                lower,
                upper,
                method=self._method,
                tau=self.tau,
                solver=self.solver,
                warm_start=warm_start,
                **problem,
                **options,
            )
        self._check_eta(result, options["assume_psd"])
        if self.out_of_sample == "neutral":
            return replace(result, intercept=result.neutral_intercept)
        return result

    def _check_eta(self, result, psd):
        """Complain of an eta so small that rounding or overflow leave no solution.

        Signs of it: numbers that are not finite, a psd kernel that seems indefinite, and a method
        that cannot go on although the bounds on the optimum leave everything open.
        """
        factor, relative = self._eta_rule
        if factor >= (_SMALL_MULTIPLE if relative else 1.0):
            return
        stuck = not result.converged and result.n_iter < self.max_iter
        lost = not np.isfinite(result.objective) or (psd and np.isnan(result.gap))
        if lost or (stuck and result.gap > result.objective):
            raise ValueError(
                f"expected a larger eta, got one of {result.response.eta:.1e}, for which rounding "
                "or overflow leave no solution"
            )

    def _convergence_advice(self, stalled):
        if self.partition is not None and self.combine != "global":
            return (
                f"with combine={self.combine!r} the solutions of the blocks are kept, which are "
                "not an optimum of the whole problem; combine='global' finds one"
            )
        if self.solver in ("alternating", "admm"):
            return f"solver={self.solver!r} need not converge, take solver='newton'"
        if stalled:
            return "rounding prevents more, scale the data or raise tol or a small eta"
        return super()._convergence_advice(stalled)

    def _support_gram(self, k, rows=None):
        """Return the kernel on the support of problem k and one point far away, or rows of it."""
        places = self._layers[k]
        rows = np.arange(len(places) + 1) if rows is None else rows
        K = np.zeros((len(rows), len(places) + 1))
        near = rows < len(places)
        chosen = places[rows[near]]
        if self.kernel_ is None:
            K[near, :-1] = self._support_kernel[np.ix_(chosen, places)]
        elif len(chosen):
            vectors = self.support_vectors_
            K[near, :-1] = self.kernel_(vectors[chosen], vectors[places])
        return K

    def _one_or_all(self, values):
        return values[0] if len(values) == 1 else values

    def _factor_matrix(self, k):
        """Return the factor on the rows of problem k."""
        own, rows = self.support_[self._layers[k]], self._problem_rows[k]
        place = np.full(self.shape_fit_[0], len(own))
        place[own] = np.arange(len(own))
        return self._factors[k].matrix(self._support_gram(k))[np.ix_(place[rows], place[rows])]

    @property
    def adaptive_matrix_(self):
        """The learned factor on the rows of positive weight, or a list of one a problem."""
        check_is_fitted(self)
        return self._one_or_all([self._factor_matrix(k) for k in range(len(self._factors))])

    @property
    def rank_(self):
        """The numerical rank of the factor, or an array of one a problem."""
        check_is_fitted(self)
        ranks = []
        for k, rows in enumerate(self._problem_rows):
            theta = self._factors[k].matrix(self._support_gram(k))
            if len(rows) == len(theta) - 1:  # every point is a support vector
                theta = theta[:-1, :-1]
            ranks.append(int(np.linalg.matrix_rank(theta, hermitian=True)))
        return self._one_or_all(np.array(ranks))

    def _decision_values(self, X):
        check_is_fitted(self)
        by_block = self._support_blocks is not None
        if self._rule == "neutral" and not by_block and np.all(self._neutral == 1.0):
            return super()._decision_values(X)
        X = self._check_test_data(X)
        values = np.empty((X.shape[0], len(self.intercept_)))
        step = max(1, _CHUNK_BYTES // (8 * max(1, self.shape_fit_[0])))
        if self._rule == "reciprocal":
            step = X.shape[0]  # ranks among all of the points
        for first in range(0, X.shape[0], step):
            part = X[first : first + step]
            K = np.zeros((part.shape[0], len(self.support_)))
            if len(self.support_) and self.kernel_ is None:
                K = part[:, self.support_]
            elif len(self.support_):
                K = self.kernel_(part, self.support_vectors_)
            if by_block:
                K = K * (self._nearest_block(part)[:, None] == self._support_blocks)
            for k in range(len(self.intercept_)):
                values[first : first + step, k] = self._machine_values(k, part, K)
        return values

    def _machine_values(self, k, X, K):
        """Return the decision values of problem k; K is the kernel with all support vectors."""
        places = self._layers[k]
        beta = self._factors[k].beta[:-1]
        K = K[:, places]
        if self._rule == "neutral":
            beta = self._neutral[k] * beta
        else:
            K = K * self._extend(k, X)
        return K @ beta + self.intercept_[k]

    def _extend(self, k, X):
        """Return the factor between new points and the support of problem k.

        Every rule averages rows of the factor, those of the training points that a new point
        resembles.
        """
        rows = self._problem_rows[k]
        data, weight, n_neighbors = self._fit_data
        data, weight = data[rows], weight[rows]
        own = self.support_[self._layers[k]]
        if self._rule == "smooth":
            shares = smooth_shares(self.kernel_(X, data), weight)
        elif self._rule == "reciprocal":
            shares = reciprocal_neighbours(squared_distances(X, data))
        else:
            count = 1 if self._rule == "nearest" else n_neighbors
            shares = knn_shares(squared_distances(X, data), weight, count)
        # Rows of the factor off the support are equal, and stored last.
        place = np.full(self.shape_fit_[0], len(own))
        place[own] = np.arange(len(own))
        merge = (np.ones(len(rows)), (np.arange(len(rows)), place[rows]))
        merged = shares @ sparse.csr_array(merge, shape=(len(rows), len(own) + 1))
        theta = self._factors[k].averages(merged, lambda used: self._support_gram(k, used))
        # Where a point resembles none, the factor is that without adaptation.
        alone = 1.0 - merged.sum(axis=1)
        return theta[:, :-1] + self._neutral[k] * alone[:, None]


def parse_eta(eta):
    """Return eta as (number, whether it is a multiple of the squared norm).

    Parameters
    ----------
    eta : float or str
        Strings are "auto" and multiples like "0.1*auto".

    Returns
    -------
    number : float
    relative : bool
    """
    if not isinstance(eta, str | bool):
        return float(eta), False
    head, star, tail = str(eta).rpartition("*")
    try:
        factor = float(head if star else 1.0)
    except ValueError:
        factor = np.nan
    if tail != "auto" or not factor > 0.0:
        raise ValueError(
            f"expected eta to be a positive number, 'auto' or a multiple like '0.1*auto', "
            f"got {eta!r}"
        )
    return factor, True


def repeated_rows(X, y):
    """Return numbers that are equal for equal rows of X and y.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, n_features)
    y : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
    """
    numbers: dict[tuple, int] = {}
    if isinstance(X, np.ndarray):
        rows = [row.tobytes() for row in np.ascontiguousarray(X + 0.0)]  # no negative zeros
    else:
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        rows = [(X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in ends]
    keys = zip(rows, y.tolist(), strict=True)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
