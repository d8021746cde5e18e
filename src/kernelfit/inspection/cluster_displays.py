"""Pictures of a clustering: how well points fit their clusters, and what was chosen."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import silhouette_samples
from sklearn.utils.validation import check_is_fitted

from kernelfit.inspection.matrices import innermost
from kernelfit.utils.plotting import axes_or_new
from kernelfit.utils.validation import as_dense

Array = NDArray[Any]


class SilhouetteDisplay:
    """Silhouettes of all points, cluster by cluster.

    A point's silhouette is (b - a) / max(a, b), where a is its mean distance to the points of its
    cluster and b that to the nearest other cluster. Distances are those of the spectral embedding,
    with rows of unit length, where the clustering has one, those in the feature space of the kernel
    K where it was precomputed, d_ij^2 = K_ii + K_jj - 2 K_ij, and those of the data else.

    Parameters
    ----------
    silhouettes : ndarray of shape (n,)
        One a point, between -1 and 1.
    labels : ndarray of shape (n,)
        Cluster of every point.

    Attributes
    ----------
    areas_ : list of matplotlib artists
        One a cluster.
    ax_ : matplotlib Axes
        Their axes.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from kernelfit import CDSKClustering
    >>> from kernelfit.inspection import SilhouetteDisplay
    >>> X, _ = make_blobs(60, centers=3, random_state=0)
    >>> model = CDSKClustering(3, random_state=0).fit(X)
    >>> display = SilhouetteDisplay.from_estimator(model, X)
    >>> display.silhouettes.shape
    (60,)
    """

    def __init__(self, silhouettes: Array, labels: Array) -> None:
        self.silhouettes = silhouettes
        self.labels = labels

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, ax: Any = None, **kwargs: Any
    ) -> "SilhouetteDisplay":
        """Show how well the training points fit their clusters.

        Parameters
        ----------
        estimator : estimator
            A fitted clustering, or a pipeline that ends in one.
        X : array or frame of shape (n_samples, n_features)
            The training data; K where the affinity was precomputed.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        SilhouetteDisplay
        """
        check_is_fitted(estimator)
        machine, X = innermost(estimator, X)
        labels = getattr(machine, "labels_", None)
        if labels is None or len(np.unique(labels)) < 2:
            raise ValueError(f"expected a clustering with two clusters or more, got {machine!r}")
        places, options = getattr(machine, "embedding_", None), {}
        if places is None:
            places = X
            affinity = getattr(machine, "affinity", None)
            if isinstance(affinity, str) and affinity == "precomputed":
                places, options = _feature_distances(X), {"metric": "precomputed"}
        else:
            norms = np.linalg.norm(places, axis=1, keepdims=True)
            places = places / np.where(norms > 0, norms, 1.0)
        silhouettes = silhouette_samples(places, labels, **options)
        return cls(silhouettes, np.asarray(labels)).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> "SilhouetteDisplay":
        """Draw the silhouettes of every cluster, the largest first, and their mean as a line.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs : dict
            Passed to ``Axes.fill_betweenx``.

        Returns
        -------
        SilhouetteDisplay
            This display.
        """
        self.ax_ = ax = axes_or_new(ax)
        self.figure_ = ax.figure
        self.areas_ = []
        clusters = np.unique(self.labels)
        start, middles = 0, []
        space = max(1, len(self.labels) // 100)
        for cluster in clusters:
            values = np.sort(self.silhouettes[self.labels == cluster])[::-1]
            rows = np.arange(start, start + len(values))
            self.areas_.append(ax.fill_betweenx(rows, 0.0, values, step="mid", **kwargs))
            middles.append(rows.mean())
            start += len(values) + space
        mean = float(self.silhouettes.mean())
        ax.axvline(mean, color="black", linestyle="--")
        ax.set_yticks(middles, [str(cluster) for cluster in clusters])
        ax.invert_yaxis()
        ax.set(xlabel=f"silhouette, mean {mean:.2f}", ylabel="cluster")
        return self


def _feature_distances(K: Any) -> Array:
    """Return the distances in the feature space of a kernel matrix, dense or sparse."""
    K = np.asarray(as_dense(K), dtype=np.float64)
    norms = np.diag(K)
    squares = norms[:, None] + norms - 2.0 * K
    np.fill_diagonal(squares, 0.0)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


class StabilityDisplay:
    """What `KernelClustering` chose by: the stability of its candidates.

    Parameters
    ----------
    candidates : mapping from str to ndarray
        As `candidates_` of `KernelClustering`.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One a graph, where the number of clusters was chosen; else empty.
    bars_ : list of matplotlib BarContainer
        Stability, agreement and balance of the graphs, where it was given; else empty.
    ax_ : matplotlib Axes
        Their axes.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from kernelfit import KernelClustering
    >>> from kernelfit.inspection import StabilityDisplay
    >>> X, _ = make_blobs(60, centers=3, random_state=0)
    >>> model = KernelClustering(max_clusters=4, random_state=0).fit(X)
    >>> display = StabilityDisplay.from_estimator(model)
    >>> len(display.lines_)
    8
    """

    def __init__(self, candidates: Any) -> None:
        self.candidates = candidates

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> "StabilityDisplay":
        """Show the candidates of a fitted `KernelClustering`.

        Parameters
        ----------
        estimator : estimator
            A fitted `KernelClustering`, or a pipeline that ends in one.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        StabilityDisplay
        """
        check_is_fitted(estimator)
        machine, _ = innermost(estimator)
        if not getattr(machine, "candidates_", None):
            raise ValueError(f"expected a KernelClustering that had a choice, got {machine!r}")
        return cls(machine.candidates_).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> "StabilityDisplay":
        """Draw stability by the number of clusters, or what speaks for each graph.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs : dict
            Passed to ``Axes.plot``, or to ``Axes.barh``.

        Returns
        -------
        StabilityDisplay
            This display.
        """
        self.ax_ = ax = axes_or_new(ax)
        self.figure_ = ax.figure
        self.lines_, self.bars_ = [], []
        table = self.candidates
        graphs = list(dict.fromkeys(table["graph"]))
        if len(np.unique(table["n_clusters"])) > 1:
            for graph in graphs:
                mine = table["graph"] == graph
                order = np.argsort(table["n_clusters"][mine])
                numbers, values = (table[key][mine][order] for key in ("n_clusters", "stability"))
                self.lines_ += ax.plot(numbers, values, label=graph, **kwargs)
            ax.axvline(table["n_clusters"][0], color="black", linestyle="--")
            ax.set(xlabel="number of clusters", ylabel="stability (adjusted Rand index)")
        else:
            height = 0.8 / 3
            for k, key in enumerate(("stability", "agreement", "balance")):
                places = np.arange(len(graphs)) + (k - 1) * height
                self.bars_.append(ax.barh(places, table[key], height, label=key, **kwargs))
            ax.set_yticks(np.arange(len(graphs)), graphs)
            ax.invert_yaxis()
            ax.set(xlabel="the best graph first")
        ax.legend(fontsize="small")
        return self
