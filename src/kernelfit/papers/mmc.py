"""Maximum margin clustering as an estimator."""

from dataclasses import replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kernelfit.clustering.feature_space import BaseFeatureSpaceClustering
from kernelfit.clustering.lloyd import mean_distances
from kernelfit.clustering.matrices import in_unit, multiply
from kernelfit.clustering.ties import first_least, first_least_columns
from kernelfit.papers.margin_relaxation import relax_margin
from kernelfit.papers.max_margin import (
    MOST_COST,
    alternate_margin,
    balanced_labels,
    moderate_costs,
    signs,
)
from kernelfit.utils.sklearn_private import Interval, StrOptions

_PSD = 1e-8  # of the largest eigenvalue: smaller negative ones are rounding
_ROUNDINGS = 10  # random hyperplanes that turn the relaxation into labels
_ALIKE = 1e-13  # of kernel values of size one, about their mean: rounding
_TINY = np.finfo(float).tiny
_WIDEST = 1e100  # ratio of weights: products of two neither vanish nor overflow


class MaxMarginClustering(BaseFeatureSpaceClustering):
    r"""Clusters that a support vector machine separates with the widest margin.

    You get clusters with few points between them (MMC) [1]_, the machines that separate them, which
    assign new points, and for two clusters of few points a proven bound: no division of the points
    within the limit of balance has a lower objective than `bound_`.

    .. math:: \min_{A, f} \sum_k \Big( \tfrac12 \|f_k\|^2 + C \sum_i \max(0, 1 - y_{ik} f_k(x_i))
        \Big), \qquad |A_k| \ge (1 - \mathrm{imbalance}) \frac nc

    over partitions A of the points into c clusters and machines f in the feature space of the
    kernel, whose planes go through the mean of the points; y_ik is 1 in cluster k and -1 elsewhere.
    Of two clusters one machine tells both. Labels and machines are improved in turns, and the
    objective never rises. The start is kernel k-means. Two clusters of at most `n_relaxed`
    different points start from the semidefinite relaxation too, whose optimum is `bound_`.

    The fine print:

    * Distances see units. Standardise the features, unless they are in one unit; where a few of
      them make up nearly all of the distances, fit warns.
    * Equal rows are one point that counts several times. So they share a cluster, and a sample
      weight of 2 is the same as a repeated row. The clusters do not depend on the order of the
      rows, but for ``affinity="precomputed"``, and the result is the same to the last bit for any
      number of threads.
    * The source has two clusters; more are read as one machine each against the rest. Its planes go
      through the origin, which a kernel without negative values puts at the side of all points; the
      kernel is centred here, as kernel principal components do it.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters c.
    affinity : {"rbf", "precomputed"} or callable, default="rbf"
        The kernel, as for `CDSKClustering`, of any sign.
    gamma : {"median", "variance", "scale", "reconstruction"} or float, default="median"
        Of ``affinity="rbf"``, as for `CDSKClustering`.
    C : float, default=1.0
        Cost of a point within the margin. Clusters do not change where C is so large that no
        point is, or so small that all are. What double precision cannot hold is refused.
    imbalance : float in (0, 1], default=0.5
        By which share the smallest cluster may fall short of the mean size. At 1 a cluster may be
        empty. Where points have weights or are repeated, or the limit is no whole number of points,
        no division may keep to it: then a cluster can be smaller, and the limit of `bound_` is that
        of the start by kernel k-means.
    n_relaxed : int, default=100
        Number of different points up to which two clusters are bounded by the relaxation, 500 at
        most. 100 points take a quarter of a second, 300 six seconds, 500 a minute.
    max_iter : int, default=100
        Bound on the number of rounds.
    tol : float, default=1e-4
        Relative duality gap to which machines are trained, and least decrease of a round.
    n_init : int, default=10
        Number of starts of kernel k-means, of which the best one is improved.
    random_state : int, RandomState instance or None, default=None
        Of the starts.
    n_jobs : int or None, default=None
        Number of threads for products with the kernel matrix; None takes as many as the linear
        algebra library is set to. The result does not depend on it.
    verbose : int, default=0
        Whether every round is logged.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every point.
    objective_ : float
        The objective.
    bound_ : float
        The objective of any two clusters within the limit of balance is at least this; nan where
        it was not computed.
    history_ : ndarray of shape (n_iter_ + 1,)
        Objective of the start and after every round.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether no labels are better for the machines at hand.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples)
        Kernel matrix, not kept but computed anew on every access. For ``affinity="precomputed"``
        there is no such attribute: it is the matrix given to fit.
    gamma_ : float
        The gamma used, for ``affinity="rbf"``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has them.

    References
    ----------
    .. [1] L. Xu, J. Neufeld, B. Larson, D. Schuurmans. "Maximum margin clustering". Advances in
       Neural Information Processing Systems 17 (2004).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import MaxMarginClustering
    >>> X = np.array([[0.0], [0.2], [0.1], [5.0], [5.2], [5.1]])
    >>> model = MaxMarginClustering(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] == model.labels_[2] != model.labels_[3])
    True
    >>> bool(model.bound_ <= model.objective_ < 1.1 * model.bound_)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **BaseFeatureSpaceClustering._parameter_constraints,
        "affinity": [StrOptions({"rbf", "precomputed"}), callable],
        "C": [Interval(Real, 0, None, closed="neither")],
        "imbalance": [Interval(Real, 0, 1, closed="right")],
        "n_relaxed": [Interval(Integral, 0, 500, closed="both")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        affinity="rbf",
        gamma="median",
        C=1.0,
        imbalance=0.5,
        n_relaxed=100,
        max_iter=100,
        tol=1e-4,
        n_init=10,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.gamma = gamma
        self.C = C
        self.imbalance = imbalance
        self.n_relaxed = n_relaxed
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _cluster(self, K, n_clusters, seed, multiply):
        K = K.toarray() if sparse.issparse(K) else K
        weights = self._rows.counts
        least, heaviest, entry = weights.min(), weights.max(), max(K.max(), -K.min())
        if least < heaviest / _WIDEST:
            raise ValueError(
                f"expected sample weights within a factor of {_WIDEST:.0e} of each other, got "
                f"{least:.3g} and {heaviest:.3g}"
            )
        # In units that are powers of two, in which kernel, counts and costs are moderate.
        unit = int(np.frexp(entry)[1]) - 1
        K, counts = in_unit(K, entry), in_unit(weights, heaviest)
        self._rows = replace(self._rows, counts=counts)
        share = counts / counts.sum()
        means = multiply(K, share)
        K = K - means[:, None] - means + share @ means  # of points about their mean
        rng = np.random.default_rng(seed)
        self.bound_ = np.nan
        if n_clusters == 1:
            self._labels = np.zeros(len(K), dtype=np.intp)
            self._coef, self._intercept = np.zeros((len(K), 1)), np.zeros(1)
            self.objective_, self.history_ = 0.0, np.zeros(1)
            self.n_iter_, self.converged_ = 0, True
            return []
        least = (1.0 - self.imbalance) * counts.sum() / n_clusters
        cost, shift = moderate_costs(self.C, counts, unit + int(np.frexp(heaviest)[1]) - 1)

        def given(value):
            """Return objectives in the units that were given."""
            with np.errstate(over="ignore", under="ignore"):  # refused below
                return np.ldexp(value, -unit - shift)

        complaints = []
        if np.abs(K).max() <= _ALIKE:
            complaints.append(
                (
                    "the kernel does not tell any points from each other: the clusters are "
                    "arbitrary",
                    UserWarning,
                )
            )
        starts = [self._means(K, n_clusters, counts, least, rng, multiply)]
        if n_clusters == 2 and len(K) <= self.n_relaxed:
            rounded, complaint = self._relax(K, counts, cost, least, starts[0], rng)
            starts += rounded
            complaints.append((complaint, ConvergenceWarning))
        options = {"max_iter": self.max_iter, "tol": self.tol}
        report = self._reporter("round %d: objective %.6g")
        if report is not None:
            options["callback"] = lambda n_iter, objective: report(n_iter, given(objective))
        found = [
            alternate_margin(K, labels, n_clusters, cost, counts, least, **options)
            for labels in _different(starts)
        ]
        best = found[first_least([result.objective for result in found])]
        self.objective_, self.history_ = float(given(best.objective)), given(best.history)
        self.bound_ = float(given(self.bound_))
        bounded = np.abs(best.coef[cost == MOST_COST]) >= 0.999 * MOST_COST
        if bounded.any() or not _TINY < abs(self.objective_) < np.inf:
            raise ValueError(
                "expected C, sample weights and a kernel for which double precision holds the "
                f"objective, got C={self.C:.3g}, weights of up to {heaviest:.3g} and kernel "
                f"values of up to {entry:.3g} in size"
            )
        self._labels = best.labels
        totals = best.coef.sum(axis=0)
        # Decision values are compared with each other alone: the shift does not matter.
        self._coef = np.ldexp(best.coef - np.outer(share, totals), -unit)
        self._intercept = (share @ means) * totals - means @ best.coef
        self.n_iter_, self.converged_ = best.n_iter, best.converged
        if not best.psd:
            complaints.append(
                (
                    "the kernel is not positive semidefinite: the machines are stationary points, "
                    "and objective_ is not proven",
                    UserWarning,
                )
            )
        if not best.converged:
            complaints.append(
                (
                    f"MaxMarginClustering stopped after max_iter={self.max_iter} rounds before the "
                    "labels settled: raise max_iter",
                    ConvergenceWarning,
                )
            )
        return complaints

    def _means(self, K, n_clusters, counts, least, rng, multiply):
        """Return the best partition by kernel k-means, with clusters as large as they must be."""
        best = self._best_means(K, n_clusters, rng, multiply)
        distances = mean_distances(K, best.labels, n_clusters, counts, multiply)[0]
        distances[:, np.isinf(distances).any(axis=0)] = distances[np.isfinite(distances)].max()
        return balanced_labels(counts[:, None] * distances, counts, least)

    def _relax(self, K, counts, cost, least, start, rng):
        """Set the bound; return labels from the relaxation, and a complaint or None."""
        values = np.linalg.eigvalsh(K)
        if values[0] < -_PSD * values[-1] or values[-1] <= 0:
            return [], None  # not convex: the machines will tell
        # Where points count differently, no labels may be as even as asked for.
        difference = abs(float(counts @ signs(start, 2)[:, 0]))
        limit = max(counts.sum() - 2.0 * least, 1.01 * difference)
        relaxed = relax_margin(K, cost, counts, limit)
        self.bound_ = relaxed.bound
        values, vectors = np.linalg.eigh(relaxed.M)
        factor = vectors * np.sqrt(np.maximum(values, 0.0))
        sides = [factor[:, -1], *(factor @ rng.standard_normal((len(K), _ROUNDINGS))).T]
        labels = [
            balanced_labels(np.column_stack((side, -side)) * counts[:, None], counts, least)
            for side in sides
        ]
        # The two labels are alike: the first point has the first one.
        labels = [found if found[0] == 0 else 1 - found for found in labels]
        if relaxed.converged:
            return labels, None
        return labels, "rounding kept bound_ below the optimum of the relaxation"

    def _assign(self, C):
        """Return the clusters of new points from their kernel values."""
        decision = multiply(C, self._coef) + self._intercept
        if decision.shape[1] == 1:
            decision = np.concatenate((-decision, decision), axis=1)
        terms = multiply(abs(C), np.abs(self._coef)).max(axis=1, keepdims=True)
        return first_least_columns(-decision, terms + np.abs(self._intercept).max())


def _different(partitions):
    """Return the partitions without repetitions, in order."""
    return list({labels.tobytes(): labels for labels in partitions}.values())
