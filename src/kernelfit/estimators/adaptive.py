"""What DANK and KNPL share: eta, blocks, the rule for new points and the learned factor."""

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import is_regressor
from sklearn.cluster import KMeans
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from kernelfit.estimators.standard import StandardKernelMachine
from kernelfit.families.hadamard.kernel import row_keys
from kernelfit.kernels.distances import squared_distances
from kernelfit.learners.adaptive import AdaptiveLearner, Division, Extension
from kernelfit.learners.hadamard import Penalty
from kernelfit.utils.sklearn_private import Interval, StrOptions

_RULES = ("neutral", "knn", "nearest", "reciprocal", "smooth", "hyper")

# What keeping the blocks' solutions means for new points.
_BLOCKS_COST = {
    "concatenate": "where the kernel reaches from block to block, other blocks outweigh that of a "
    "point and predictions may be much worse",
    "nearest": "predictions are those of smaller sets of data",
}
_NOT_FOR_SQUARES = ("quartic", "nesterov", "nesterov_monotone", "projected_gradient")


class AdaptiveMachine(StandardKernelMachine):
    """Base of the estimators that learn a factor of the kernel matrix; one sets ``_method``."""

    _parameter_constraints: ClassVar[dict] = {
        **StandardKernelMachine._parameter_constraints,
        "eta": [str, Interval(Real, 0, None, closed="right")],
        "out_of_sample": [StrOptions(set(_RULES))],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }
    _method: ClassVar[Literal["dank", "knpl"]]
    # What only DANK has.
    tau = 0.0
    partition: Any = None
    _blocks: Any = None  # of the training rows, where the caller gave them
    combine = "global"
    _cost_range = (1e-70, 1e70)  # fourth powers neither overflow nor vanish
    _path_etas = ()  # multiples that a search tries along its paths

    def _learner(self, X, targets, weight, unit_cost, matrix):
        eta, relative = parse_eta(self.eta)
        self._check_rule()
        kernel, gram, psd = self._make_gram(X, weight, matrix)
        # Predictions follow the parameters of the fit, should they be changed after it.
        self._rule = self.out_of_sample
        return AdaptiveLearner(
            gram,
            kernel,
            unit_cost,
            Penalty(self._method, eta, relative, self.tau),
            Extension(self.out_of_sample, self.n_neighbors, X, weight),
            assume_psd=psd,
            tol=self.tol,
            max_iter=self.max_iter,
            repeats=repeated_rows(X, targets) if relative or self._path_etas else None,
            division=None if self.partition is None else self._divide(X, weight),
            solver=self.solver,
            polish=self._polish,
            etas=self._path_etas,
        )

    def _check_rule(self):
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
        if self.out_of_sample == "hyper" and self.kernel != "rbf":
            raise ValueError(
                f"expected kernel 'rbf' for out_of_sample='hyper', got {self.kernel!r}"
            )
        if self.loss.startswith("squared") and self.partition is not None:
            raise ValueError(
                f"expected a loss that is not squared for a partition, got {self.loss!r}"
            )
        if self.loss.startswith("squared") and self.solver in _NOT_FOR_SQUARES:
            raise ValueError(
                f"expected solver 'auto', 'newton' or 'damped' for loss={self.loss!r}, "
                f"got {self.solver!r}"
            )
        if self.solver == "quartic" and self.tau > 0.0:
            raise ValueError(f"expected tau=0 for solver='quartic', got {self.tau}")
        if self.device is not None:
            self._check_device()

    def _check_device(self):
        """Refuse what only the processor does."""
        for name, value, taken in (
            ("tau", self.tau, (0.0,)),
            ("solver", self.solver, ("auto", "quartic")),
            ("partition", self.partition, (None,)),
            ("loss", self.loss, ("hinge", "tube")),
        ):
            if value not in taken:
                allowed = " or ".join(repr(one) for one in taken)
                raise ValueError(
                    f"expected {name}={allowed} for device={self.device!r}, got {value!r}"
                )

    def _training_rows(self, X, targets, weight):
        rows, weight = super()._training_rows(X, targets, weight)
        if self.partition is not None and not isinstance(self.partition, Integral):
            labels = column_or_1d(self.partition)
            check_consistent_length(X, labels)
            self._blocks = np.unique(labels[rows], return_inverse=True)[1]
        return rows, weight

    def _divide(self, X, weight):
        """Return the blocks of the rows: as given, or by k-means."""
        centre = is_regressor(self)
        if self._blocks is not None:
            if self._precomputed and self.combine == "nearest":
                raise ValueError("expected data for combine='nearest', got a precomputed kernel")
            return Division(self._blocks, X, self._blocks, self.combine, centre, self.n_jobs)
        if self._precomputed:
            raise ValueError("expected data to partition, got a precomputed kernel matrix")
        if self.partition > X.shape[0]:
            raise ValueError(
                f"expected a partition into at most {X.shape[0]} blocks, the number of rows of "
                f"positive weight, got {self.partition}"
            )
        means = KMeans(self.partition, n_init=1, random_state=self.random_state)
        means.fit(X, sample_weight=weight)
        self.cluster_centers_ = means.cluster_centers_
        blocks = squared_distances(X, means.cluster_centers_).argmin(axis=1)
        labels = np.arange(self.partition)
        return Division(blocks, means.cluster_centers_, labels, self.combine, centre, self.n_jobs)

    def _note_plan(self, plan, rows):
        self._group_rows = [rows[group[0].rows] for group in plan.groups]
        division, unit_cost = plan.learner.division, plan.unit_cost
        # Costs, multiplicities and blocks of all rows, for diagnostics.
        self._row_blocks = None
        if division is not None:
            table = np.zeros((3, self.shape_fit_[0]))
            table[:, rows] = self.C * unit_cost, unit_cost, division.blocks
            self._row_blocks = table[0], table[1], table[2].astype(np.intp)

    def _store(self, X, y, rows, coef, witness, results):
        self._check_coefs(coef)
        super()._store(X, y, rows, coef, witness, results)
        eta = [factor.eta for factor in self._thetas]
        self.eta_ = eta[0] if len(eta) == 1 else np.array(eta)
        if self._precomputed:
            self._support_kernel = np.asarray(X[np.ix_(self.support_, self.support_)], np.float64)

    def _check_coefs(self, coef):
        """Complain of coefficients whose fourth powers, which the factor costs, vanish."""
        largest = float(np.abs(coef).max(initial=0.0))
        if 0.0 < largest < self._cost_range[0]:
            raise ValueError(
                f"expected targets and kernel values for which dual coefficients are at least "
                f"{self._cost_range[0]:g} in size, got {largest:.3g}: scale the data"
            )

    def _convergence_advice(self, endings):
        if self.partition is not None and self.combine != "global":
            return (
                f"combine={self.combine!r} keeps the solutions of the blocks, which are not an "
                f"optimum of the whole problem; {_BLOCKS_COST[self.combine]}; combine='global' "
                "goes on to the optimum"
            )
        if self.solver in ("alternating", "admm"):
            cycles = "cycle" in endings
            fate = "goes back and forth between two solutions" if cycles else "need not converge"
            return f"solver={self.solver!r} {fate}, take solver='newton'"
        if endings == {"rounding"}:
            return "rounding prevents more, scale the data or raise tol or a small eta"
        return super()._convergence_advice(endings)

    @property
    def _root(self):
        return None if self._kernels[0] is self._initial_kernel else self._initial_kernel

    def _chunk_rows(self, X):
        if self._rule == "reciprocal":
            return max(1, X.shape[0])  # ranks among all of the points
        return super()._chunk_rows(X)

    def _own_rows(self, number, used):
        return np.searchsorted(self._group_rows[number], self.support_[used])

    def _support_gram(self, k):
        """Return the initial kernel on the support of problem k."""
        if hasattr(self, "compression_"):
            raise AttributeError("a compressed machine has not all points of its factor any more")
        own = self._group_rows[k][self._thetas[k].support]
        order = np.argsort(self.support_)
        places = order[np.searchsorted(self.support_[order], own)]
        if self._initial_kernel is None:
            return self._support_kernel[np.ix_(places, places)]
        if not len(places):
            return np.zeros((0, 0))
        vectors = self.support_vectors_[places]
        return self._initial_kernel(vectors, vectors)

    def _factor_matrix(self, k):
        """Return the factor on the rows of problem k."""
        return self._thetas[k].matrix(self._support_gram(k))

    @property
    def adaptive_matrix_(self):
        """The learned factor on the rows of positive weight, or a list of one a problem."""
        check_is_fitted(self)
        matrices = [self._factor_matrix(k) for k in range(len(self._thetas))]
        return matrices[0] if len(matrices) == 1 else matrices

    @property
    def rank_(self):
        """The numerical rank of the factor, or an array of one a problem."""
        check_is_fitted(self)
        ranks = [factor.rank(self._support_gram(k)) for k, factor in enumerate(self._thetas)]
        return ranks[0] if len(ranks) == 1 else np.array(ranks)


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
    numbers: dict[Any, int] = {}
    keys = zip(row_keys(X), y.tolist(), strict=True)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
