"""The union of families with its parameters chosen by cross-validation."""

from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from kernelfit.estimators.union import KernelUnionClassifier, KernelUnionRegressor
from kernelfit.selection.search import REGRESSION, KernelSearch
from kernelfit.selection.values import not_negative, whole_numbers

_DELTAS = (0.1, 0.5, 2.0)


class UnionSearch(KernelSearch):
    """Base of the searches over C and the tessellated family, and in regression epsilon."""

    _parameter_constraints: ClassVar[dict] = {
        **KernelSearch._parameter_constraints,
        "deltas": ["array-like", None],
        "tessellated_degrees": ["array-like", None],
        "bases": ["array-like", None],
    }
    _names: tuple[str, ...] = (
        *("loss", "families", "kernels", "degree", "fit_intercept"),
        *("tol", "max_iter", "cache_size"),
    )

    def _kernel_params(self, X, weight):
        """Return the parameters of the tessellated family of the grid."""
        tessellated = self.families is None or "tessellated" in self.families
        axes = {}
        if self.tessellated_degrees is not None:
            degrees = whole_numbers(self.tessellated_degrees, "tessellated_degrees")
            axes["tessellated_degree"] = degrees
        if self.bases is not None:
            if not set(self.bases) or not set(self.bases) <= {"x", "xz"}:
                raise ValueError(f"expected bases among 'x', 'xz', got {self.bases!r}")
            axes["basis"] = list(self.bases)
        if tessellated or self.deltas is not None:
            axes["delta"] = not_negative(_DELTAS if self.deltas is None else self.deltas, "deltas")
        if axes and not tessellated:
            raise ValueError(
                "expected no deltas, tessellated_degrees and bases without the tessellated family, "
                f"got families={self.families!r}"
            )
        return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


@dataclass(eq=False, repr=False)
class KernelUnionClassifierCV(ClassifierMixin, UnionSearch):
    r"""Classification with a union of families whose parameters are chosen by cross-validation.

    .. math::

        \hat\lambda = \arg\max_\lambda\; \frac1k \sum_{j=1}^k \mathrm{score}_j(\lambda),
        \qquad \lambda = (C, d, \text{basis}, \delta)

    with the degree d, the basis and delta of the tessellated family. Each of the k folds is scored
    by a machine trained on the rest of the data. What does not depend on C is computed once
    a fold.
    `predict_proba` is calibrated on the folds.

    Parameters
    ----------
    deltas : array-like, default=None
        Values of delta to try; None means 0.1, 0.5, 2. Without the tessellated family in
        `families` there is none, as with `tessellated_degrees` and `bases`.
    Cs : array-like, default=None
        Values of C to try. None means 0.1, 1, 10, 100.
        Among equal scores the first counts. The best machine at the edge of a default grid extends
        it, in up to three steps.
    n_average : int, default=1
        Largest number of machines whose decision values are averaged: the best one, and those whose
        scores fall short of its by no more than one standard error of the difference over the
        folds; with a single split, those whose scores equal its. Where the folds cannot tell
        machines apart, their mean predicts better than the first of them more often than not.
    cv : int, splitter or iterable of (train, test), default=5
        The folds, as in scikit-learn: of a number of them, stratified.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None means accuracy. Sample weights count in either.
    loss : {"hinge", "squared_hinge", "squared"}, default="hinge"
        See `KernelUnionClassifier`.
    families : sequence of str, default=None
        See `KernelUnionClassifier`.
    kernels : list, default=()
        See `KernelUnionClassifier`.
    degree : int, default=2
        Degree of the polynomial family.
    tessellated_degrees : array-like, default=None
        Degrees of the tessellated family to try; None means 1.
    bases : sequence of {"x", "xz"}, default=None
        Bases of the tessellated family to try; None means "x".
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    kernel_sharing : {"joint", "separate"}, default="joint"
        See `KernelUnionClassifier`.
    class_weight : dict or "balanced", default=None
        Factors of C by class; "balanced" refers to the training part of a fold.
    tol : float, default=1e-3
        The duality gap to reach in the final training, relative to the objective.
    search_tol : float, default=1e-2
        The relative gap to reach in the folds.
    max_iter : int, default=200
        Largest number of rounds in which kernels are added.
    cache_size : float, default=1000
        Memory in MB for the matrices of the kernels that a round adds, in one job.
    n_jobs : int, default=None
        Number of cells, a kernel on a fold each, worked on at a time: in processes, unless a
        backend of joblib is in force. The result does not depend on it.
    checkpoint : str or path, default=None
        Directory in which finished cells are kept, so that a search that was interrupted goes on
        from there, with the same result.
    verbose : int, default=0
        1 reports every fold through the logger ``kernelfit``.

    Attributes
    ----------
    best_params_ : dict
        The chosen parameters; the first candidate of the best mean score.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its position in `cv_results_`.
    best_estimator_ : KernelUnionClassifier
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of KernelUnionClassifier
        The machines that are averaged, the best first.
    cv_results_ : dict of ndarrays
        As in scikit-learn's GridSearchCV. The times of a candidate are equal shares of the time
        of its path.
    n_splits_ : int
        Number of folds.
    n_iter_ : int or ndarray
        Rounds of the best estimator's training.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    KernelUnionClassifier : The machine with given parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KernelUnionClassifierCV
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(100, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> search = KernelUnionClassifierCV(deltas=[0.1, 1.0], Cs=[10.0], cv=2).fit(X, y)
    >>> sorted(search.best_params_)
    ['C', 'delta']
    >>> search.predict([[0.5, 0.5], [-0.5, 0.5]])
    array([ True, False])
    """

    _parameter_constraints: ClassVar[dict] = {
        **KernelUnionClassifier._parameter_constraints,
        **UnionSearch._parameter_constraints,
    }
    _machine_class = KernelUnionClassifier
    _names = (*UnionSearch._names, "kernel_sharing", "class_weight")

    deltas: Any = None
    Cs: Any = None
    _: KW_ONLY
    n_average: Any = 1
    cv: Any = 5
    scoring: Any = None
    loss: Any = "hinge"
    families: Any = None
    kernels: Any = ()
    degree: Any = 2
    tessellated_degrees: Any = None
    bases: Any = None
    fit_intercept: Any = True
    kernel_sharing: Any = "joint"
    class_weight: Any = None
    tol: Any = 1e-3
    search_tol: Any = 1e-2
    max_iter: Any = 200
    cache_size: Any = 1000
    n_jobs: Any = None
    checkpoint: Any = None
    verbose: Any = 0


@dataclass(eq=False, repr=False)
class KernelUnionRegressorCV(RegressorMixin, UnionSearch):
    r"""Regression with a union of families whose parameters are chosen by cross-validation.

    .. math::

        \hat\lambda = \arg\max_\lambda\; \frac1k \sum_{j=1}^k \mathrm{score}_j(\lambda),
        \qquad \lambda = (C, d, \text{basis}, \delta, \epsilon)

    with the degree d, the basis and delta of the tessellated family. Each of the k folds is scored
    by a machine trained on the rest of the data. What does not depend on C is computed once
    a fold.

    Parameters
    ----------
    deltas : array-like, default=None
        Values of delta to try; None means 0.1, 0.5, 2. Without the tessellated family in
        `families` there is none, as with `tessellated_degrees` and `bases`.
    Cs : array-like, default=None
        Values of C to try. None means 0.1, 1, 10, 100, times the standard deviation of the targets
        where the loss is not squared. Among equal scores the first counts. The best machine at the
        edge of a default grid extends it, in up to three steps.
    epsilons : array-like, default=None
        Values of epsilon to try, half the widths of the tube in which errors cost nothing. None
        means 0.1 times the standard deviation of the targets. Not for ``loss="squared"``.
    n_average : int, default=1
        Largest number of machines whose decision values are averaged: the best one, and those whose
        scores fall short of its by no more than one standard error of the difference over the
        folds; with a single split, those whose scores equal its. Where the folds cannot tell
        machines apart, their mean predicts better than the first of them more often than not.
    cv : int, splitter or iterable of (train, test), default=5
        The folds, as in scikit-learn: of a number of them, not shuffled.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None means R^2. Sample weights count in either.
    loss : {"tube", "squared_tube", "squared"}, default="tube"
        See `KernelUnionRegressor`.
    families : sequence of str, default=None
        See `KernelUnionRegressor`.
    kernels : list, default=()
        See `KernelUnionRegressor`.
    degree : int, default=2
        Degree of the polynomial family.
    tessellated_degrees : array-like, default=None
        Degrees of the tessellated family to try; None means 1.
    bases : sequence of {"x", "xz"}, default=None
        Bases of the tessellated family to try; None means "x".
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    tol : float, default=1e-3
        The duality gap to reach in the final training, relative to the objective.
    search_tol : float, default=1e-2
        The relative gap to reach in the folds.
    max_iter : int, default=200
        Largest number of rounds in which kernels are added.
    cache_size : float, default=1000
        Memory in MB for the matrices of the kernels that a round adds, in one job.
    n_jobs : int, default=None
        Number of cells, a kernel on a fold each, worked on at a time: in processes, unless a
        backend of joblib is in force. The result does not depend on it.
    checkpoint : str or path, default=None
        Directory in which finished cells are kept, so that a search that was interrupted goes on
        from there, with the same result.
    verbose : int, default=0
        1 reports every fold through the logger ``kernelfit``.

    Attributes
    ----------
    best_params_ : dict
        The chosen parameters; the first candidate of the best mean score.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its position in `cv_results_`.
    best_estimator_ : KernelUnionRegressor
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of KernelUnionRegressor
        The machines that are averaged, the best first.
    cv_results_ : dict of ndarrays
        As in scikit-learn's GridSearchCV. The times of a candidate are equal shares of the time
        of its path.
    n_splits_ : int
        Number of folds.
    n_iter_ : int or ndarray
        Rounds of the best estimator's training.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    KernelUnionRegressor : The machine with given parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KernelUnionRegressorCV
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(60, 2))
    >>> y = np.sin(2 * X[:, 0]) + (X[:, 1] > 0)
    >>> search = KernelUnionRegressorCV(deltas=[0.1, 1.0], Cs=[10.0], cv=2).fit(X, y)
    >>> sorted(search.best_params_)
    ['C', 'delta', 'epsilon']
    >>> bool(search.best_score_ > 0.7)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **KernelUnionRegressor._parameter_constraints,
        **UnionSearch._parameter_constraints,
        **REGRESSION,
    }
    _machine_class = KernelUnionRegressor

    deltas: Any = None
    Cs: Any = None
    epsilons: Any = None
    _: KW_ONLY
    n_average: Any = 1
    cv: Any = 5
    scoring: Any = None
    loss: Any = "tube"
    families: Any = None
    kernels: Any = ()
    degree: Any = 2
    tessellated_degrees: Any = None
    bases: Any = None
    fit_intercept: Any = True
    tol: Any = 1e-3
    search_tol: Any = 1e-2
    max_iter: Any = 200
    cache_size: Any = 1000
    n_jobs: Any = None
    checkpoint: Any = None
    verbose: Any = 0
