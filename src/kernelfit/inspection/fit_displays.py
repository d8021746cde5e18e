"""Pictures of a fit: bounds over the iterations, weights of kernels, the metric of features."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kernelfit.families.multiple.kernels import BankKernel
from kernelfit.families.psd.family import PositiveMatrixKernel
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.inspection.matrices import innermost
from kernelfit.utils.plotting import axes_or_new

Array = NDArray[Any]


class ConvergenceDisplay:
    """Upper and lower bound on the optimum over the iterations.

    The optimum lies between the two curves, so where they meet is a proof of convergence. Learners
    without a certificate have one curve, their objective.

    Parameters
    ----------
    upper : ndarray of shape (n_iter,)
        The upper bounds, or the objective.
    lower : ndarray of shape (n_iter,), default=None
        The lower bounds; None where there are none.

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
    >>> from sklearn.datasets import make_moons
    >>> from kernelfit import TKLClassifier
    >>> from kernelfit.inspection import ConvergenceDisplay
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> display = ConvergenceDisplay.from_estimator(TKLClassifier(C=10.0).fit(X, y))
    >>> bool((display.lower <= display.upper).all())
    True
    """

    def __init__(self, upper: Array, *, lower: Any = None) -> None:
        self.upper = upper
        self.lower = lower

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, problem: int = 0, ax: Any = None, **kwargs: Any
    ) -> "ConvergenceDisplay":
        """Show how a fitted estimator converged.

        Parameters
        ----------
        estimator : estimator
            Fitted, with a `history_`; or a search or a pipeline that ends in one.
        problem : int, default=0
            Which of the problems, where there are several.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        check_is_fitted(estimator)
        machine, _ = innermost(estimator)
        if not hasattr(machine, "history_"):
            raise ValueError(f"expected an estimator with a history_, got {machine!r}")
        histories = machine.history_ if isinstance(machine.history_, list) else [machine.history_]
        if not 0 <= problem < len(histories):
            raise ValueError(
                f"expected problem to be one of 0 .. {len(histories) - 1}, got {problem!r}"
            )
        history = np.asarray(histories[problem])
        if history.ndim == 1:
            return cls(history).plot(ax, **kwargs)
        lower, gap = history.T
        if np.isnan(gap).all():
            return cls(lower).plot(ax, **kwargs)
        return cls(lower + gap, lower=lower).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, kind: str = "bounds", **kwargs: Any) -> "ConvergenceDisplay":
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        kind : {"bounds", "gap"}, default="bounds"
            Both bounds, or their distance relative to the upper one on a logarithmic scale.
        **kwargs : dict
            Passed to ``Axes.plot``.

        Returns
        -------
        ConvergenceDisplay
            This display.
        """
        if kind not in ("bounds", "gap"):
            raise ValueError(f"expected kind to be 'bounds' or 'gap', got {kind!r}")
        if kind == "gap" and self.lower is None:
            raise ValueError("expected bounds for kind='gap', got an objective without a proof")
        self.ax_ = ax = axes_or_new(ax)
        self.figure_ = ax.figure
        # Bounds are known from the first iteration on, an objective before it as well.
        steps = np.arange(len(self.upper)) + (self.lower is not None)
        ax.xaxis.get_major_locator().set_params(integer=True)
        options = {"marker": "." if len(steps) < 40 else "", **kwargs}
        if kind == "gap":
            gap = (self.upper - self.lower) / np.maximum(np.abs(self.upper), 1e-300)
            self.lines_ = ax.plot(steps, gap, **options)
            ax.set(yscale="log", xlabel="iteration", ylabel="relative gap")
            return self
        if self.lower is None:
            self.lines_ = ax.plot(steps, self.upper, **options)
            ax.set(xlabel="iteration", ylabel="objective")
            return self
        self.lines_ = [
            *ax.plot(steps, self.upper, **{"label": "upper bound", **options}),
            *ax.plot(steps, self.lower, **{"label": "lower bound", **options}),
        ]
        ax.fill_between(steps, self.lower, self.upper, alpha=0.15, linewidth=0)
        ax.set(xlabel="iteration", ylabel="objective")
        ax.legend()
        return self


class WeightsDisplay:
    """Weights of the kernels in a sum, or of the members of an ensemble, the largest first.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        All weights.
    names : list of str
        What they belong to.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The bars.
    ax_ : matplotlib Axes
        Their axes.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelfit import MKLClassifier
    >>> from kernelfit.inspection import WeightsDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = WeightsDisplay.from_estimator(MKLClassifier().fit(X, y))
    >>> bool(display.weights.max() > 0.1)
    True
    """

    def __init__(self, weights: Array, names: list[str]) -> None:
        self.weights = weights
        self.names = names

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, problem: int = 0, ax: Any = None, **kwargs: Any
    ) -> "WeightsDisplay":
        """Show the weights that a fitted estimator learned.

        Parameters
        ----------
        estimator : estimator
            Fitted: multiple kernels, a union of families, AutoKernel, or a search or a pipeline
            that ends in one.
        problem : int, default=0
            Which of the kernels, where every binary problem has its own.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        WeightsDisplay
        """
        check_is_fitted(estimator)
        machine, _ = innermost(estimator)
        features = getattr(machine, "feature_names_in_", None)
        several = hasattr(machine, "kernels_")
        if hasattr(machine, "members_"):
            return cls(machine.weights_, list(machine.members_)).plot(ax, **kwargs)
        if hasattr(machine, "atoms_"):
            atoms = machine.atoms_[problem] if several else machine.atoms_
            weights = machine.weights_[problem] if several else machine.weights_
            names = [describe_kernel(atom, features) for atom in atoms]
        elif hasattr(machine, "scales_"):
            weights = np.atleast_2d(machine.weights_)[problem]
            names = [f"kernel {k}" for k in range(len(weights))]
            if hasattr(machine, "bank_"):
                names = [describe_kernel(kernel, features) for kernel in machine.bank_]
        else:
            raise ValueError(f"expected an estimator with weights of kernels, got {machine!r}")
        return cls(np.asarray(weights), names).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, max_bars: int = 15, **kwargs: Any) -> "WeightsDisplay":
        """Draw the largest weights as bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        max_bars : int, default=15
            The most bars; the axis says what the others have together.
        **kwargs : dict
            Passed to ``Axes.barh``.

        Returns
        -------
        WeightsDisplay
            This display.
        """
        self.ax_ = ax = axes_or_new(ax)
        self.figure_ = ax.figure
        order = np.argsort(-self.weights, kind="stable")
        order = order[self.weights[order] > 0.0]
        shown, rest = order[:max_bars], order[max_bars:]
        self.bars_ = ax.barh(np.arange(len(shown)), self.weights[shown], **kwargs)
        ax.set_yticks(np.arange(len(shown)), [self.names[k] for k in shown])
        ax.invert_yaxis()
        more = f"; {len(rest)} more have {self.weights[rest].sum():.2g}" if len(rest) else ""
        ax.set(xlabel=f"weight: {len(order)} of {len(self.weights)} in use{more}")
        return self


class MetricDisplay:
    """How much every feature counts in a learned metric.

    Bars are the shares of the squared distances that are due to each feature. A metric that mixes
    features is shown as its matrix.

    Parameters
    ----------
    importances : ndarray of shape (n_features,)
        Shares of the features.
    names : list of str
        Their names.
    matrix : ndarray of shape (n_features, n_features), default=None
        The metric, where it is not diagonal.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The bars, where there is no matrix.
    image_ : matplotlib AxesImage
        The heat map, where there is one.
    ax_ : matplotlib Axes
        Their axes.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KernelMetric
    >>> from kernelfit.inspection import MetricDisplay
    >>> X = np.random.default_rng(0).uniform(-3, 3, (80, 3))
    >>> display = MetricDisplay.from_estimator(KernelMetric().fit(X, np.sin(X[:, 1])))
    >>> display.names[display.importances.argmax()]
    'x1'
    """

    def __init__(self, importances: Array, names: list[str], *, matrix: Any = None) -> None:
        self.importances = importances
        self.names = names
        self.matrix = matrix

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> "MetricDisplay":
        """Show the metric of a fitted `KernelMetric`, or of the one in a pipeline.

        Parameters
        ----------
        estimator : KernelMetric or Pipeline
            Fitted. Of other estimators with `feature_importances_` these are shown.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        MetricDisplay
        """
        check_is_fitted(estimator)
        steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else []
        found = [one for one in [*steps, estimator] if hasattr(one, "feature_importances_")]
        if not found:
            raise ValueError(f"expected a KernelMetric, or a pipeline with one, got {estimator!r}")
        metric = found[0]
        importances = np.asarray(metric.feature_importances_)
        given = getattr(metric, "feature_names_in_", None)
        names = [f"x{j}" for j in range(len(importances))] if given is None else list(given)
        matrix = None
        if hasattr(metric, "components_"):
            matrix = metric.components_.T @ metric.components_
            # In units in which the diagonal is the importance of a feature.
            unit = np.sqrt(np.divide(importances, np.diagonal(matrix), where=importances > 0.0,
                                     out=np.zeros(len(importances))))  # fmt: skip
            matrix = unit[:, None] * matrix * unit
            if not np.any(matrix - np.diag(np.diagonal(matrix))):
                matrix = None
        return cls(importances, names, matrix=matrix).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, max_features: int = 20, **kwargs: Any) -> "MetricDisplay":
        """Draw the bars or the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        max_features : int, default=20
            How many of the most important features to show.
        **kwargs : dict
            Passed to ``Axes.barh`` or ``Axes.imshow``.

        Returns
        -------
        MetricDisplay
            This display.
        """
        self.ax_ = ax = axes_or_new(ax)
        self.figure_ = ax.figure
        shown = np.argsort(-self.importances, kind="stable")[:max_features]
        names = [self.names[j] for j in shown]
        places = np.arange(len(shown))
        ax.set_yticks(places, names)
        if self.matrix is None:
            self.bars_ = ax.barh(places, self.importances[shown], **kwargs)
            ax.invert_yaxis()
            ax.set(xlabel="share of the squared distances")
            return self
        part = self.matrix[np.ix_(shown, shown)]
        largest = np.abs(part).max()
        options = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest, **kwargs}
        self.image_ = ax.imshow(part, **options)
        ax.set_xticks(places, names, rotation=90)
        self.figure_.colorbar(self.image_, ax=ax, shrink=0.8)
        return self


def describe_kernel(kernel: Any, features: Any = None) -> str:
    """Return what a kernel of a bank or a union is, in a few words.

    Parameters
    ----------
    kernel : callable
    features : sequence of str, default=None
        Names of the features; x0, x1, ... when None.

    Returns
    -------
    str

    Examples
    --------
    >>> from kernelfit.families.multiple.kernels import BankKernel
    >>> from kernelfit.inspection.fit_displays import describe_kernel
    >>> from kernelfit.kernels.standard import RBF
    >>> describe_kernel(BankKernel(RBF(0.12345), features=(2,)), ["a", "b", "c"])
    'c: RBF, gamma 0.123'
    """
    if isinstance(kernel, BankKernel):
        name = describe_kernel(kernel.kernel)
        if kernel.features is None:
            return name
        own = [f"x{j}" if features is None else str(features[j]) for j in kernel.features]
        return f"{', '.join(own) if len(own) < 4 else f'{len(own)} features'}: {name}"
    if isinstance(kernel, PositiveMatrixKernel):
        return "tessellated" if isinstance(kernel.basis, TessellatedBasis) else "polynomial"
    if not is_dataclass(kernel):
        return str(getattr(kernel, "__name__", type(kernel).__name__))
    values = [(field.name, getattr(kernel, field.name)) for field in fields(kernel)]
    numbers = [f"{name} {value:.3g}" for name, value in values if isinstance(value, float | int)]
    return ", ".join([type(kernel).__name__, *numbers])
