"""KernelClustering: hand it a table, get clusters, and why these."""

import warnings
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kernelfit.clustering.candidates import candidate_graphs
from kernelfit.clustering.cdsk import CDSKClustering
from kernelfit.clustering.choice import judge
from kernelfit.clustering.matrices import in_unit, multiply
from kernelfit.clustering.words import plural
from kernelfit.tables.describe import ReadsColumns
from kernelfit.tables.frames import check_table
from kernelfit.tables.plan import read_plan
from kernelfit.tables.roles import NUMBER
from kernelfit.tables.views import learn_view
from kernelfit.tables.warnings import warn_of_dates, warn_of_plan
from kernelfit.utils.atomic import blank_copy
from kernelfit.utils.distinct import distinct_points
from kernelfit.utils.progress import show_progress
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.threads import one_blas_thread
from kernelfit.utils.validation import check_weights

_MAX_POINTS = 500  # that the choices are made on
_SUBSAMPLES = 8
_SHARE = 0.8  # of the points in a subsample
_SAME_UNIT = 2.0  # ratio of the quartiles of the columns' ranges
_WIDEST = 3.0  # ratio of the largest to the median range
_LARGEST = 1e150  # of values of new rows, in the unit of the training: squares are finite
_LEAST_COUNT = 1e-12  # relative to the largest: products of two do not vanish
_DOUBTFUL = 0.6  # stability below which clusters may be arbitrary


class KernelClustering(ReadsColumns, ClusterMixin, BaseEstimator):
    r"""Spectral clustering that needs no choices, and explains those that it makes.

    You hand over a table as it comes, with categories and missing values. You get clusters of any
    shape, their number if you do not give it, and in `explanation_` the reasons in plain words:

    * **Units**: columns in different units are standardised; those in one unit, such as pixels, are
      left as they are.
    * **Graph**: candidates are graphs of 5, 10 and 20 neighbours and of 10 and 20 mutual ones, a
      Gaussian kernel, one that tunes its width to every row, for many columns the graph of a union
      of subspaces, and a consensus, which is the mean of all others but that of subspaces. Each
      clusters a sample of the rows, at most 500, and eight random subsamples of it. The graph is
      taken whose clusters are found again best, that the other graphs confirm, and whose clusters
      are even in size.
    * **Number of clusters**: that which, on the mean of all graphs, is found again best, is even in
      size and followed by a gap of the eigenvalues. Two to four different rows, each of them
      repeated, are as many clusters.

    No label enters. The clusters are those of normalised-cut spectral clustering,
    `CDSKClustering` with ``max_iter=0``, on the graph chosen.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters; "auto" chooses it, from two to `max_clusters`, or takes one where there
        are too few different rows.
    max_clusters : int, default=20
        The most clusters that "auto" considers.
    scaling : {"auto", "standard", "ranks", "given"}, default="auto"
        What is done to columns of numbers: "standard" divides each by its standard deviation,
        "ranks" gives each the shape of a Gaussian, "given" leaves all as they are. "auto" is
        "given" where all columns are numbers of similar ranges without missing values, and
        "standard" else.
    column_kinds : dict, default=None
        What columns are, by name or place, where that is not to be found out: "number",
        "category", "text", "date", "day first", "month first", "unix" (seconds since 1970),
        "duration", "time" or "drop".
    random_state : int, RandomState instance or None, default=None
        Draws the subsamples and the starts of k-means.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    verbose : int, default=0
        Whether the choices are logged.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every row.
    n_clusters_ : int
        Number of clusters.
    graph_ : str
        Name of the graph chosen.
    candidates_ : dict of ndarray
        One entry a candidate, the best first: the name of its graph, its number of clusters, the
        `stability` of its clusters (the mean adjusted Rand index between those of subsamples and of
        the sample), their `agreement` with those of the other graphs (likewise), the `balance` of
        their sizes (their entropy, relative to equal ones), the `gap` behind the eigenvalues, the
        `score` of the graph for this number of clusters (the mean of the first three, less one
        where the graph is in more pieces than clusters) and the
        `worth` of the number (the mean of stability x balance x (1 + gap) over the graphs). Empty
        where there was nothing to choose.
    explanation_ : str
        What was chosen and why, a sentence a line.
    scaling_ : str
        What was done to columns of numbers.
    embedding_ : ndarray of shape (n_samples, n_clusters_)
        Spectral embedding of the rows.
    model_ : CDSKClustering
        The clustering of the rows, as numbers, on the graph chosen.
    columns_ : DataFrame or dict
        What each column became: its name, kind, use, number of features, missing values and a note.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : ndarray of str
        Their names, where it had any.

    See Also
    --------
    CDSKClustering : Clustering on a given graph, with learned weights of the points.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernelfit import KernelClustering
    >>> X, _ = make_moons(200, noise=0.05, random_state=0)
    >>> model = KernelClustering(random_state=0).fit(X)
    >>> model.n_clusters_
    2
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_clusters": [Interval(Integral, 2, None, closed="left")],
        "scaling": [StrOptions({"auto", "standard", "ranks", "given"})],
        "column_kinds": [dict, None],
        "random_state": ["random_state"],
        "n_jobs": [
            None,
            Interval(Integral, None, -1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "verbose": ["verbose"],
    }

    _exponent = 0  # of the unit of the features

    def __init__(
        self,
        n_clusters="auto",
        *,
        max_clusters=20,
        scaling="auto",
        column_kinds=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.scaling = scaling
        self.column_kinds = column_kinds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y=None, sample_weight=None):
        """Choose a graph and cluster the rows.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            A numpy array, or a frame of any library that narwhals reads, with numbers,
            categories, booleans, dates, text and missing values.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times every row counts: a weight of 2 equals a repeated row, a weight of 0 a
            row that is left out, which is then labelled like a new one. Ones when None.

        Returns
        -------
        self : object
            The fitted estimator. Where fit raises or is interrupted, it is left as it was.
        """
        self._validate_params()
        if isinstance(self.n_clusters, bool):
            raise ValueError(f"expected an integer n_clusters or 'auto', got {self.n_clusters}")
        fitted = blank_copy(self)
        table = fitted._read_training_table(X)
        if self.n_clusters != "auto" and self.n_clusters > len(table):
            raise ValueError(
                f"expected n_clusters <= n_samples, got n_clusters={self.n_clusters} and "
                f"n_samples={len(table)}"
            )
        weight = check_weights(sample_weight, len(table))
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted._learn(table, weight, seed)
        for one in caught:
            warnings.warn(str(one.message), one.category, stacklevel=2)
        if self.verbose:
            show_progress().info("%s", fitted.explanation_)
        self.__dict__ = fitted.__dict__
        return self

    def _read_training_table(self, X):
        X = check_table(self, X, reset=True)
        self._plan = read_plan(X, self.column_kinds)
        warn_of_plan(self._plan, stacklevel=3)
        return self._plan.read(X)

    def _learn(self, table, weight, seed):
        rows = distinct_points(table, weight)
        distinct = table[rows.first]
        largest = rows.counts.max()
        counts = np.maximum(rows.counts / largest, _LEAST_COUNT)
        reasons = [self._choose_scaling(distinct)]
        self._view = learn_view(distinct, self._plan.roles, counts, self.scaling_)
        self._exponent = self._common_unit(self._view(distinct))
        Z = self._features(table)
        points = Z[rows.first]
        few = _few_different(rows.counts, self.max_clusters)
        graph, number = self._choose(points, counts, few, seed, reasons)
        weight = np.where(weight > 0, np.maximum(weight, _LEAST_COUNT * largest), 0.0)
        self.graph_, self.n_clusters_ = graph.name, number
        self.explanation_ = "\n".join(reasons)
        self.model_ = _OnGraph(
            number,
            affinity=graph.make(self.n_jobs),
            max_iter=0,
            random_state=seed,
            n_jobs=self.n_jobs,
        ).fit(Z, sample_weight=in_unit(weight, largest))
        self.labels_ = self.model_.labels_
        self.embedding_ = self.model_.embedding_

    def _common_unit(self, Z):
        """Return the exponent of a power of two near the largest number, 0 beside other columns.

        The clusters of columns that are left as they are do not depend on a unit common to all,
        and in this one no squared distance overflows or vanishes.
        """
        missing = any(getattr(column, "marked", False) for column in self._view.columns)
        if self.scaling_ != "given" or (self._plan.roles != NUMBER).any() or missing:
            return 0
        return int(np.frexp(np.abs(Z).max(initial=0.0))[1])

    def _features(self, table):
        """Return the rows as the numbers that are clustered."""
        with np.errstate(over="ignore"):  # of a new row, which is then refused
            return np.ldexp(self._view(table), -self._exponent)

    def _choose_scaling(self, table):
        """Set `scaling_` and return the reason."""
        if self.scaling != "auto":
            self.scaling_ = self.scaling
            return f"Units: scaling={self.scaling!r} was asked for."
        self.scaling_, reason = _scaling(table, self._plan.roles)
        return f"Units: {reason}"

    def _choose(self, points, counts, few, seed, reasons):
        """Return the graph and the number of clusters; set `candidates_` and add the reasons.

        `few` is the number to take where the rows are too few to compare numbers.
        """
        n = len(points)
        graphs = candidate_graphs(*points.shape)
        rng = np.random.default_rng(seed)
        rows = np.arange(n)
        if n > _MAX_POINTS:
            rows = np.sort(rng.choice(n, _MAX_POINTS, replace=False))
            reasons.append(f"Sample: the choices were made on {_MAX_POINTS} of {n} different rows.")
        size = int(_SHARE * len(rows))
        if self.n_clusters == "auto":
            numbers = range(2, min(self.max_clusters, size // 2) + 1)
        else:
            numbers = range(self.n_clusters, self.n_clusters + 1)
        if not numbers or numbers[0] == 1 or numbers[-1] >= size:
            number = few if self.n_clusters == "auto" else self.n_clusters
            return self._without_choice(graphs[-1], number, n, reasons)
        draws = [np.sort(rng.choice(len(rows), size, replace=False)) for _ in range(_SUBSAMPLES)]
        with one_blas_thread():
            found = judge(
                [_affinity_of(graph) for graph in graphs],
                points[rows], counts[rows], numbers, draws, self.n_jobs,
            )  # fmt: skip
        at, column = found.best()
        self.candidates_ = _tabulate(graphs, found)
        reasons += _reasons(graphs, found, at, column, self.n_clusters == "auto")
        return graphs[at], numbers[column]

    def _without_choice(self, consensus, number, n, reasons):
        """Return the consensus where nothing can be compared."""
        self.candidates_ = {}
        clusters, rows = plural(number, "cluster"), plural(n, "different row")
        if self.n_clusters == "auto" and number > 1:
            why = f"{rows}, each of them repeated, are as many clusters."
        else:
            why = f"{clusters} of {rows} cannot be compared on subsamples."
        reasons.append(f"Graph: {consensus.name} ({consensus.words}), without a choice: {why}")
        return consensus, number

    def predict(self, X):
        """Assign rows to the clusters.

        A row that equals a training row gets the label that it has in `labels_`.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = check_table(self, X, reset=False)
        warn_of_dates(self._plan, X, stacklevel=2)
        table = self._plan.read(X)
        Z = self._features(table)
        if np.abs(Z).max() > _LARGEST:
            raise ValueError(
                f"expected rows with values of at most {_LARGEST:g} times the size of those in "
                "training"
            )
        return self.model_.predict(Z)


class _OnGraph(CDSKClustering):
    """Spectral clustering on an affinity that is handed over as such."""

    _parameter_constraints: ClassVar[dict] = {
        **CDSKClustering._parameter_constraints,
        "affinity": "no_validation",
    }
    _name = KernelClustering.__name__  # in warnings
    _apart = " up to rounding"  # a column that varies by less is left out

    def _make_affinity(self, seed):
        return self.affinity


def _few_different(counts, most):
    """Return the number of clusters of rows that are too few to compare numbers of clusters.

    As many as there are different rows, if each of them is repeated.
    """
    return len(counts) if len(counts) <= most and counts.min() >= 2.0 else 1


def _scaling(table, roles):
    """Return what to do to columns of numbers, and why."""
    if (roles != NUMBER).any():
        return "standard", "columns of numbers were standardised, as there are others beside."
    if np.isnan(table).any():
        return "standard", "columns were standardised, as values are missing."
    # In units of the largest number, so that no difference overflows.
    ranges = np.ptp(table / max(np.abs(table).max(), np.finfo(float).tiny), axis=0)
    ranges = ranges[ranges > 0]
    if len(ranges) < 2:
        which = "one column varies" if len(ranges) else "no column varies"
        which = "there is one column of numbers" if table.shape[1] == 1 else which
        return "given", f"{which}, left as it is."
    low, middle, high = np.quantile(ranges, [0.25, 0.5, 0.75])
    if high <= _SAME_UNIT * low and ranges.max() <= _WIDEST * middle:
        return (
            "given",
            "the columns have similar ranges, as in one unit, and were left as they are.",
        )
    return "standard", "the ranges of the columns differ, so each was standardised."


def _affinity_of(graph):
    """Return the function from points to their affinity matrix."""
    return lambda points, counts: graph.make(None).fit(points, counts, multiply)


def _tabulate(graphs, found):
    """Return all candidates, the best first: by their number of clusters, then by their graph."""
    names = np.array([graph.name for graph in graphs], dtype=object)
    shape = found.score.shape
    columns = {
        "graph": np.repeat(names[:, None], shape[1], axis=1),
        "n_clusters": np.broadcast_to(found.numbers, shape),
        "stability": found.stability,
        "agreement": found.agreement,
        "balance": found.balance,
        "gap": found.gap,
        "score": found.score,
        "worth": np.broadcast_to(found.worth, shape),
    }
    order = np.lexsort((-columns["score"].ravel(), -columns["worth"].ravel()))
    return {key: column.ravel()[order] for key, column in columns.items()}


def _reasons(graphs, found, at, column, automatic):
    """Return why this graph and this number of clusters, which may have been given."""
    graph, number = graphs[at], found.numbers[column]
    stability, agreement = found.stability[:, column], found.agreement[:, column]
    lines = []
    if len(found.numbers) > 1:
        others = np.delete(np.arange(len(found.numbers)), column)
        second = others[np.argmax(found.worth[others])]
        index, gap = found.stability.mean(axis=0), found.gap.mean(axis=0)
        means = [
            f"worth {found.worth[j]:.2f}, with an adjusted Rand index of {index[j]:.2f} and a gap "
            f"of {gap[j]:.2f}"
            for j in (column, second)
        ]
        lines.append(
            f"Number of clusters: {number}, of {found.numbers[0]} to {found.numbers[-1]}. It is "
            "worth most: by how well its clusters are found again in subsamples, how even they "
            "are in size and how clearly they are set off. On the mean of all graphs it is "
            f"{means[0]}. The second best number is {found.numbers[second]}, {means[1]}."
        )
    elif automatic:
        lines.append(f"Number of clusters: {number}, the only one that so few rows can compare.")
    lines.append(
        f"Graph: {graph.name} ({graph.words}). Its clusters are found again in subsamples with an "
        f"adjusted Rand index of {stability[at]:.2f}, and agree with those of the other graphs "
        f"with {agreement[at]:.2f}."
    )
    if stability[at] < _DOUBTFUL:
        lines.append(
            "Caution: subsamples do not show these clusters well, so they may be arbitrary cuts "
            "through data without clear clusters."
        )
    return lines
