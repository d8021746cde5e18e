"""Machines with a kernel from the convex hull of several families."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernelfit.estimators.bank import build_bank, resolve_bank, varying_columns
from kernelfit.estimators.classifier import ClassifierMachine
from kernelfit.estimators.machine import KernelMachine
from kernelfit.estimators.moderate import moderate_gamma
from kernelfit.estimators.regressor import RegressorMachine
from kernelfit.families.psd.family import PositiveMatrixFamily
from kernelfit.families.psd.features import FeatureBasis, Monomials
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.families.union.atoms import AtomSet, BankAtoms, MatrixAtoms, WidthAtoms, Widths
from kernelfit.families.union.family import UnionFamily
from kernelfit.kernels.standard import scale_gamma
from kernelfit.learners.positive_matrix import fit_family, merge_rows
from kernelfit.learners.union import UnionLearner
from kernelfit.utils.sklearn_private import Interval, StrOptions

_FAMILIES = ("gaussian", "feature_gaussian", "polynomial", "tessellated")
# Multiples of "scale", with the widths of the default bank of MKL among them.
_GAMMAS, _FEATURE_GAMMAS = 2.0 ** np.arange(-6.0, 3.1, 0.25), 2.0 ** np.arange(-6.0, 3.1, 0.5)


def _widths(X, weight, multiples):
    """Return multiples of "scale", in ascending order."""
    unit = scale_gamma(X, weight)
    for end in (multiples[0], multiples[-1]):
        moderate_gamma(unit * float(end))
    return unit * multiples


def _gaussians(families, X, weight):
    """Yield the Gaussians on all features, and those on each."""
    if "gaussian" in families:
        yield WidthAtoms(X, _widths(X, weight, _GAMMAS))
    if "feature_gaussian" in families:
        for j in varying_columns(X):
            yield WidthAtoms(X, _widths(X[:, [j]], weight, _FEATURE_GAMMAS), (j,))


class UnionMachine(KernelMachine):
    """Base of the machines with the parameters of the families."""

    _parameter_constraints: ClassVar[dict] = {
        **{k: v for k, v in KernelMachine._parameter_constraints.items() if k != "warm_start"},
        "families": ["array-like", None],
        "kernels": ["array-like"],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "tessellated_degree": [Interval(Integral, 0, None, closed="left")],
        "basis": [StrOptions({"x", "xz"})],
        "delta": [Interval(Real, 0, None, closed="left")],
    }
    warm_start = False

    def _training_rows(self, X, targets, weight):
        """Return one row of each set of equal rows, and the sets' weights."""
        return merge_rows(X, targets, weight)

    def _take_rows(self, X, rows):
        return X[rows]

    def _learner(self, X, targets, weight, unit_cost, matrix):
        families = _FAMILIES if self.families is None else self.families
        unknown = [name for name in families if name not in _FAMILIES]
        if unknown:
            names = ", ".join(repr(name) for name in _FAMILIES)
            raise ValueError(f"expected families among {names}, got {unknown[0]!r}")
        if not len(families) and not len(self.kernels):
            raise ValueError("expected at least one family or kernel, got none")
        widths = list(_gaussians(families, X, weight))
        sets: list[AtomSet] = [*widths]
        hull: list[Any] = [Widths(atoms.gammas, atoms.features) for atoms in widths]
        for name in ("polynomial", "tessellated"):
            if name in families:
                family = self._matrix_family(name, X, weight)
                sets.append(MatrixAtoms(family))
                hull.append(family.kernel(np.eye(family.size, 1)))
        if len(self.kernels):
            columns = getattr(self, "feature_names_in_", None)
            given = resolve_bank(self.kernels, X, weight, columns)
            members, bank = build_bank(given, X, weight, True, self.cache_size, "a union")
            sets.append(BankAtoms(bank, members))
            hull.extend(members)
        self.hull_ = tuple(hull)
        family = UnionFamily(sets, len(X), self.cache_size * 2**20)
        return UnionLearner(family, self.tol, self.max_iter)

    def _matrix_family(self, name, X, weight):
        """Return a family of positive matrices of trace one, where P = I has mean one."""

        def make_basis(n_features):
            if name == "polynomial":
                return FeatureBasis(n_features, Monomials(int(self.degree)))
            degree, delta = int(self.tessellated_degree), float(self.delta)
            return TessellatedBasis(n_features, degree, delta, self.basis)

        cache_bytes = self.cache_size * 2**20
        found = fit_family(X, weight, make_basis, normalize=True, cache_bytes=cache_bytes)
        scale = found.scale / found.size
        if not 0.0 < scale < np.inf:
            raise ValueError(f"expected data of moderate size, got overflow in the {name} family")
        return PositiveMatrixFamily(found.basis, found.X, scale, found.scaling, cache_bytes)

    @property
    def weights_(self):
        """The weights of the kernels in use, or a list of them, one for each learned kernel."""
        check_is_fitted(self)
        return self._thetas[0] if len(self._thetas) == 1 else list(self._thetas)

    @property
    def atoms_(self):
        """The kernels in use, or a list of them, one for each learned kernel."""
        check_is_fitted(self)
        found = [kernel.members for kernel in self._kernels]
        return found[0] if len(found) == 1 else found


class KernelUnionClassifier(ClassifierMachine, UnionMachine):
    r"""Classification with a kernel from the convex hull of several families.

    .. math::

        \min_{K \in \operatorname{conv}(\mathcal K_1 \cup \dots \cup \mathcal K_s)}\;
        \min_{f, b}\; \tfrac12 \|f\|_K^2 + \sum_i C_i \max(0,\, 1 - y_i (f(x_i) + b))

    A kernel of the hull is a weighted sum of kernels of any of the families. The problem is convex;
    in every round the kernels that the present machine would gain most from are added and all
    weights found anew, until a lower and an upper bound on the optimum agree up to `tol`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    loss : {"hinge", "squared_hinge", "squared"}, default="hinge"
        See `KernelSVC`.
    families : sequence of str, default=None
        Some of the following, or None for all: "gaussian", a Gaussian of any width on all
        features; "feature_gaussian", the same on each feature; "polynomial", generalised polynomial
        kernels of degree up to `degree`; and "tessellated", tessellated kernels.
    kernels : list, default=()
        A bank of further kernels, as for `MKLClassifier`.
    degree : int, default=2
        Of the polynomial family.
    tessellated_degree : int, default=1
        Of the tessellated family.
    basis : {"x", "xz"}, default="x"
        Of the tessellated family, see `TKLClassifier`.
    delta : float, default=0.5
        Of the tessellated family, see `TKLClassifier`.
    fit_intercept : bool, default=True
        Whether the model has an intercept b.
    kernel_sharing : {"joint", "separate"}, default="joint"
        With more than two classes, each against the rest: one kernel for all of these problems,
        which minimises the sum of their objectives, or one for each.
    class_weight : dict or "balanced", default=None
        Factors of C by class.
    tol : float, default=1e-3
        The duality gap to reach, relative to the objective.
    max_iter : int, default=200
        Largest number of rounds in which kernels are added.
    cache_size : float, default=1000
        Memory in MB for the matrices of the kernels that a round adds.
    n_jobs : int, default=None
        Number of kernels learned at a time, and of threads in prediction; -1 for all processors.
    verbose : int, default=0
        1 reports every problem, 2 every round, through the logger ``kernelfit``.

    Attributes
    ----------
    weights_ : ndarray of shape (n_atoms,) or list of them
        The weights of the kernels in use, which sum to one.
    atoms_ : tuple of callables or list of them
        The kernels in use, on raw data.
    hull_ : tuple
        The sets whose hull was searched: `Widths`, the Gaussians of a grid on some features,
        kernels of a basis with any rank-one matrix, and the kernels of the bank.
    kernel_ : callable
        The learned kernel ``k(X, Y)`` on raw data, for use in other estimators, as in
        ``SVC(kernel=model.kernel_)``. Absent where there are several.
    kernels_ : list of callables
        The learned kernels, where each class has its own.
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors in the training data, class by class; of equal rows, the first.
        They have a coefficient in `dual_coef_` or `witness_coef_`.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_problems, n_SV)
        Coefficients of the support vectors.
    witness_coef_ : ndarray of shape (n_problems, n_SV)
        The coefficients that prove the lower bound; most often `dual_coef_` itself.
    intercept_ : ndarray of shape (n_problems,)
        The intercept b.
    objective_ : float or ndarray of shape (n_classes,)
        A lower bound on the optimum, summed over problems that share weights.
    dual_gap_ : float or ndarray of shape (n_classes,)
        Upper minus lower bound on the optimum.
    status_ : str or ndarray of str
        "proved": the gap is a proof, see Notes.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of iterations.
    converged_ : bool or ndarray of shape (n_classes,)
        Whether `tol` was reached.
    history_ : ndarray of shape (n_iter_, 2) or list of them
        Lower bound and gap after every iteration.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    class_weight_ : ndarray of shape (n_classes,)
        The factor of C of each class.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    MKLClassifier : Sums of given kernels alone.

    Notes
    -----
    Every kernel of the hull has k(x, x) of mean at most 1 over the training points: Gaussians have
    1, the kernels of a bank are scaled to 1, and the matrices P of the polynomial and the
    tessellated family have trace 1 in the scale in which P = I has mean 1. Gaussians come from a
    grid: widths in steps of 2^(1/4) in gamma, 2^(1/2) on single features, from 2^-6 to 2^3 times
    "scale". The certificate is over the hull of this grid, not over widths between its points; all
    other families are covered as a whole.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KernelUnionClassifier
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = KernelUnionClassifier(C=10.0).fit(X, y)
    >>> model.predict([[1.0, 1.0], [-1.0, 1.0]])
    array([ True, False])
    >>> bool(model.dual_gap_ <= 1e-3 * model.objective_)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **UnionMachine._parameter_constraints,
        **ClassifierMachine._parameter_constraints,
        "kernel_sharing": [StrOptions({"separate", "joint"})],
    }

    def __init__(
        self,
        C=1.0,
        *,
        loss="hinge",
        families=None,
        kernels=(),
        degree=2,
        tessellated_degree=1,
        basis="x",
        delta=0.5,
        fit_intercept=True,
        kernel_sharing="joint",
        class_weight=None,
        tol=1e-3,
        max_iter=200,
        cache_size=1000,
        n_jobs=None,
        verbose=0,
    ):
        self.C = C
        self.loss = loss
        self.families = families
        self.kernels = kernels
        self.degree = degree
        self.tessellated_degree = tessellated_degree
        self.basis = basis
        self.delta = delta
        self.fit_intercept = fit_intercept
        self.kernel_sharing = kernel_sharing
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.verbose = verbose


class KernelUnionRegressor(RegressorMachine, UnionMachine):
    r"""Regression with a kernel from the convex hull of several families.

    .. math::

        \min_{K \in \operatorname{conv}(\mathcal K_1 \cup \dots \cup \mathcal K_s)}\;
        \min_{f, b}\; \tfrac12 \|f\|_K^2 + \sum_i C_i \max(0,\, |y_i - f(x_i) - b| - \epsilon)

    A kernel of the hull is a weighted sum of kernels of any of the families. The problem is convex;
    in every round the kernels that the present machine would gain most from are added and all
    weights found anew, until a lower and an upper bound on the optimum agree up to `tol`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    epsilon : float, default=0.1
        Half the width of the tube in which errors cost nothing.
    loss : {"tube", "squared_tube", "squared"}, default="tube"
        See `KernelSVR`.
    families : sequence of str, default=None
        Some of the following, or None for all: "gaussian", a Gaussian of any width on all
        features; "feature_gaussian", the same on each feature; "polynomial", generalised polynomial
        kernels of degree up to `degree`; and "tessellated", tessellated kernels.
    kernels : list, default=()
        A bank of further kernels, as for `MKLRegressor`.
    degree : int, default=2
        Of the polynomial family.
    tessellated_degree : int, default=1
        Of the tessellated family.
    basis : {"x", "xz"}, default="x"
        Of the tessellated family, see `TKLClassifier`.
    delta : float, default=0.5
        Of the tessellated family, see `TKLRegressor`.
    fit_intercept : bool, default=True
        Whether the model has an intercept b.
    tol : float, default=1e-3
        The duality gap to reach, relative to the objective.
    max_iter : int, default=200
        Largest number of rounds in which kernels are added.
    cache_size : float, default=1000
        Memory in MB for the matrices of the kernels that a round adds.
    verbose : int, default=0
        1 reports every problem, 2 every round, through the logger ``kernelfit``.

    Attributes
    ----------
    weights_ : ndarray of shape (n_atoms,)
        The weights of the kernels in use, which sum to one.
    atoms_ : tuple of callables
        The kernels in use, on raw data.
    hull_ : tuple
        The sets whose hull was searched: `Widths`, the Gaussians of a grid on some features,
        kernels of a basis with any rank-one matrix, and the kernels of the bank.
    kernel_ : callable
        The learned kernel ``k(X, Y)`` on raw data, for use in other estimators, as in
        ``SVC(kernel=model.kernel_)``.
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors in the training data; of equal rows, the first. They have a
        coefficient in `dual_coef_` or `witness_coef_`.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : ndarray of shape (1, n_SV)
        Coefficients of the support vectors.
    witness_coef_ : ndarray of shape (1, n_SV)
        The coefficients that prove the lower bound; most often `dual_coef_` itself.
    intercept_ : ndarray of shape (1,)
        The intercept b.
    objective_ : float
        A lower bound on the optimum.
    dual_gap_ : float
        Upper minus lower bound on the optimum.
    status_ : str
        "proved": the gap is a proof, see Notes.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether `tol` was reached.
    history_ : ndarray of shape (n_iter_, 2)
        Lower bound and gap after every iteration.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    MKLRegressor : Sums of given kernels alone.

    Notes
    -----
    Every kernel of the hull has k(x, x) of mean at most 1 over the training points: Gaussians have
    1, the kernels of a bank are scaled to 1, and the matrices P of the polynomial and the
    tessellated family have trace 1 in the scale in which P = I has mean 1. Gaussians come from a
    grid: widths in steps of 2^(1/4) in gamma, 2^(1/2) on single features, from 2^-6 to 2^3 times
    "scale". The certificate is over the hull of this grid, not over widths between its points; all
    other families are covered as a whole.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KernelUnionRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(100, 2))
    >>> y = np.sin(2 * X[:, 0]) + (X[:, 1] > 0)
    >>> model = KernelUnionRegressor(C=10.0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    >>> bool(model.dual_gap_ <= 1e-3 * model.objective_)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **UnionMachine._parameter_constraints,
        **RegressorMachine._parameter_constraints,
    }

    def __init__(
        self,
        C=1.0,
        *,
        epsilon=0.1,
        loss="tube",
        families=None,
        kernels=(),
        degree=2,
        tessellated_degree=1,
        basis="x",
        delta=0.5,
        fit_intercept=True,
        tol=1e-3,
        max_iter=200,
        cache_size=1000,
        verbose=0,
    ):
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.families = families
        self.kernels = kernels
        self.degree = degree
        self.tessellated_degree = tessellated_degree
        self.basis = basis
        self.delta = delta
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.verbose = verbose
