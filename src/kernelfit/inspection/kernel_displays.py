"""Pictures of a learned kernel: its matrix, its spectrum and its points in the plane."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.inspection.matrices import innermost, kernel_matrices, sorted_rows
from kernelfit.utils.plotting import axes_or_new

Array = NDArray[Any]

_TINY = 1e-12  # of the trace, below which an eigenvalue is rounding
_MAX_LEGEND = 12  # classes with a colour of their own


class KernelMatrixDisplay:
    """Heat map of a kernel matrix, its points sorted by class or target.

    Make it with :meth:`from_estimator`.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The kernel matrix in the order shown.
    labels : ndarray of shape (n,), default=None
        What the points were sorted by.
    rows : ndarray of int of shape (n,), default=None
        Which rows of the data the points are.

    Attributes
    ----------
    image_ : matplotlib AxesImage
        The heat map.
    ax_ : matplotlib Axes
        Its axes.
    figure_ : matplotlib Figure
        Its figure.

    See Also
    --------
    kernel_matrices : The matrices themselves.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernelfit import DANKClassifier
    >>> from kernelfit.inspection import KernelMatrixDisplay
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> model = DANKClassifier(C=10.0).fit(X, y)
    >>> display = KernelMatrixDisplay.from_estimator(model, X, y)
    >>> display.matrix.shape
    (60, 60)
    """

    def __init__(self, matrix: Array, *, labels: Any = None, rows: Any = None) -> None:
        self.matrix = matrix
        self.labels = labels
        self.rows = rows

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        which: str = "learned",
        problem: int = 0,
        max_points: int = 300,
        ax: Any = None,
        **kwargs: Any,
    ) -> "KernelMatrixDisplay":
        """Show a kernel matrix of a fitted estimator on its training data.

        Parameters
        ----------
        estimator : estimator
            Fitted, as for :func:`kernelfit.inspection.kernel_matrices`.
        X : array or frame of shape (n_samples, n_features)
            The training data.
        y : array-like of shape (n_samples,), default=None
            Classes or targets to sort by; None for the clusters of a clustering, else no order.
        which : {"learned", "initial"}, default="learned"
            The kernel in use, or what learning began with.
        problem : int, default=0
            Which of the kernels, where every binary problem has its own.
        max_points : int, default=300
            The most points to show; of more, evenly spaced ones in the order of y.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        KernelMatrixDisplay
        """
        if which not in ("learned", "initial"):
            raise ValueError(f"expected which to be 'learned' or 'initial', got {which!r}")
        labels = _labels(estimator, y)
        rows = sorted_rows(labels, len(X) if labels is None else len(labels), max_points)
        found = kernel_matrices(estimator, X, rows=rows, problem=problem)
        matrix = found.learned if which == "learned" else found.initial
        if matrix is None:
            name = type(innermost(estimator)[0]).__name__
            raise ValueError(f"expected a learned kernel for which='initial', got {name}")
        labels = None if labels is None else labels[found.rows]
        return cls(matrix, labels=labels, rows=found.rows).plot(ax, **kwargs)

    def plot(
        self, ax: Any = None, *, cmap: Any = None, colorbar: bool = True, **kwargs: Any
    ) -> "KernelMatrixDisplay":
        """Draw the heat map, with lines between the classes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        cmap : str or Colormap, default=None
            Colours; matplotlib's own when None.
        colorbar : bool, default=True
            Whether to show the scale.
        **kwargs : dict
            Passed to ``Axes.imshow``.

        Returns
        -------
        KernelMatrixDisplay
            This display.
        """
        self.ax_ = ax = axes_or_new(ax)
        self.figure_ = ax.figure
        self.image_ = ax.imshow(
            self.matrix, **{"cmap": cmap, "interpolation": "none", "aspect": "equal", **kwargs}
        )
        ax.set(xticks=[], yticks=[])
        starts = _group_starts(self.labels)
        if starts is not None:
            edges = np.append(starts, len(self.matrix))
            for edge in edges[1:-1]:
                ax.axhline(edge - 0.5, color="w", linewidth=0.8)
                ax.axvline(edge - 0.5, color="w", linewidth=0.8)
            names = [str(self.labels[start]) for start in starts]
            ax.set_yticks((edges[1:] + edges[:-1] - 1) / 2, names)
            ax.tick_params(axis="y", length=0)
        if colorbar:
            self.figure_.colorbar(self.image_, ax=ax, shrink=0.8)
        return self


class SpectrumDisplay:
    """Eigenvalues of the learned kernel matrix beside those of the initial one.

    They are shares of their sum, the largest first; negative ones, which graphs have, are left out.
    The effective rank in the legend is the exponential of their entropy: the number of equal
    eigenvalues that would be as spread.

    Parameters
    ----------
    learned : ndarray of shape (n,)
        Shares of the learned kernel.
    initial : ndarray of shape (n,), default=None
        Those of the initial one.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The curves.
    ax_ : matplotlib Axes
        Their axes.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelfit import TKLClassifier
    >>> from kernelfit.inspection import SpectrumDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = SpectrumDisplay.from_estimator(TKLClassifier().fit(X, y), X)
    >>> bool(display.learned[0] > display.initial[0])
    True
    """

    def __init__(self, learned: Array, *, initial: Any = None) -> None:
        self.learned = learned
        self.initial = initial

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        problem: int = 0,
        max_points: int = 300,
        ax: Any = None,
        **kwargs: Any,
    ) -> "SpectrumDisplay":
        """Show the spectra of a fitted estimator on its training data.

        Parameters
        ----------
        estimator : estimator
            Fitted, as for :func:`kernelfit.inspection.kernel_matrices`.
        X : array or frame of shape (n_samples, n_features)
            The training data.
        problem : int, default=0
            Which of the kernels, where every binary problem has its own.
        max_points : int, default=300
            The most points to use; of more, evenly spaced ones.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        SpectrumDisplay
        """
        rows = sorted_rows(None, X.shape[0] if hasattr(X, "shape") else len(X), max_points)
        found = kernel_matrices(estimator, X, rows=rows, problem=problem)
        initial = None if found.initial is None else spectrum(found.initial)
        return cls(spectrum(found.learned), initial=initial).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> "SpectrumDisplay":
        """Draw the spectra on a logarithmic scale.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs : dict
            Passed to ``Axes.plot``.

        Returns
        -------
        SpectrumDisplay
            This display.
        """
        self.ax_ = ax = axes_or_new(ax)
        self.figure_, self.lines_ = ax.figure, []
        for name, shares in (("learned", self.learned), ("initial", self.initial)):
            if shares is not None:
                positive = shares[shares > _TINY]
                label = f"{name}, effective rank {effective_rank(shares):.3g}"
                self.lines_ += ax.plot(
                    np.arange(1, len(positive) + 1), positive, **{"label": label, **kwargs}
                )
        ax.set(yscale="log", xlabel="eigenvalue", ylabel="share of the sum")
        ax.legend()
        return self


class EmbeddingDisplay:
    """The training points in the plane, as the learned kernel sees them.

    The plane is that of the two leading components of kernel principal component analysis; for a
    clustering with a spectral embedding, of its rows scaled to unit length.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Their places.
    labels : ndarray of shape (n,), default=None
        Classes, clusters or targets for the colours.
    share : float, default=nan
        The share of the variance that the plane holds.

    Attributes
    ----------
    scatter_ : list of matplotlib PathCollection
        The points, one collection a class.
    ax_ : matplotlib Axes
        Their axes.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelfit import CDSKClustering
    >>> from kernelfit.inspection import EmbeddingDisplay
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = CDSKClustering(3, random_state=0).fit(X)
    >>> display = EmbeddingDisplay.from_estimator(model, X)
    >>> display.points.shape, len(display.scatter_)
    ((150, 2), 3)
    """

    def __init__(self, points: Array, *, labels: Any = None, share: float = np.nan) -> None:
        self.points = points
        self.labels = labels
        self.share = share

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        problem: int = 0,
        max_points: int = 500,
        ax: Any = None,
        **kwargs: Any,
    ) -> "EmbeddingDisplay":
        """Show the training points of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, as for :func:`kernelfit.inspection.kernel_matrices`.
        X : array or frame of shape (n_samples, n_features)
            The training data.
        y : array-like of shape (n_samples,), default=None
            Classes or targets for the colours; None for the clusters of a clustering.
        problem : int, default=0
            Which of the kernels, where every binary problem has its own.
        max_points : int, default=500
            The most points to show; of more, evenly spaced ones in the order of y.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        EmbeddingDisplay
        """
        labels = _labels(estimator, y)
        rows = sorted_rows(labels, len(X) if labels is None else len(labels), max_points)
        embedding = getattr(innermost(estimator)[0], "embedding_", None)
        if embedding is not None:
            lengths = np.linalg.norm(embedding[rows], axis=1, keepdims=True)
            Z = embedding[rows] / np.where(lengths > 0.0, lengths, 1.0)
            K = Z @ Z.T
        else:
            found = kernel_matrices(estimator, X, rows=rows, problem=problem)
            K, rows = found.learned, found.rows
        points, share = _principal_plane(K)
        labels = None if labels is None else labels[rows]
        return cls(points, labels=labels, share=share).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> "EmbeddingDisplay":
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs : dict
            Passed to ``Axes.scatter``.

        Returns
        -------
        EmbeddingDisplay
            This display.
        """
        self.ax_ = ax = axes_or_new(ax)
        self.figure_ = ax.figure
        options = {"s": 12, "linewidths": 0, **kwargs}
        classes = None if self.labels is None else np.unique(self.labels)
        if classes is not None and len(classes) <= _MAX_LEGEND:
            members = [(str(one), self.points[self.labels == one]) for one in classes]
            self.scatter_ = [ax.scatter(*p.T, **{"label": name, **options}) for name, p in members]
            ax.legend()
        else:
            colours = {} if self.labels is None else {"c": np.asarray(self.labels, dtype=float)}
            self.scatter_ = [ax.scatter(*self.points.T, **{**colours, **options})]
            if colours:
                self.figure_.colorbar(self.scatter_[0], ax=ax)
        held = "" if np.isnan(self.share) else f": {100 * self.share:.0f} % of the variance"
        ax.set(xticks=[], yticks=[], xlabel=f"first two components{held}")
        return self


def effective_rank(shares: Array) -> float:
    """Return the exponential of the entropy of shares that sum to one.

    Parameters
    ----------
    shares : ndarray of shape (n,)

    Returns
    -------
    float
    """
    p = shares[shares > _TINY]
    p = p / p.sum()
    return float(np.exp(-(p @ np.log(p))))


def spectrum(K: Array) -> Array:
    """Return the eigenvalues of a symmetric matrix as shares of the sum of the positive ones.

    Parameters
    ----------
    K : ndarray of shape (n, n)

    Returns
    -------
    ndarray of shape (n,)
        The largest first.
    """
    values = np.linalg.eigvalsh(0.5 * (K + K.T))[::-1]
    return np.asarray(values / np.maximum(values, 0.0).sum())


def _principal_plane(K: Array) -> tuple[Array, float]:
    """Return the places of points in the plane of most variance, and its share."""
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, vectors = np.linalg.eigh(0.5 * (centred + centred.T))
    if len(values) < 2:  # one point
        return np.zeros((len(K), 2)), np.nan
    top, total = np.maximum(values[[-1, -2]], 0.0), np.maximum(values, 0.0).sum()
    places = vectors[:, [-1, -2]] * np.sqrt(top)
    # The sign of an eigenvector is arbitrary: the largest entry is made positive.
    largest = places[np.abs(places).argmax(axis=0), [0, 1]]
    return places * np.where(largest < 0.0, -1.0, 1.0), float(top.sum() / total) if total else 0.0


def _labels(estimator: Any, y: Any) -> Any:
    """Return what points are sorted and coloured by."""
    y = getattr(innermost(estimator)[0], "labels_", None) if y is None else y
    return None if y is None else np.asarray(y)


def _group_starts(labels: Any) -> Any:
    """Return where the groups of sorted labels start; None for numbers, or too many groups."""
    if labels is None or not len(labels):
        return None
    starts = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    return starts if len(starts) <= min(20, len(labels) // 2) else None
