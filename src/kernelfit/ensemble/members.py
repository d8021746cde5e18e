"""Members of the ensemble, by name: a view of the table, a metric, a kernel, a width and a ridge.

Members of one `Recipe` differ in the width and the ridge only. So the features and distances of a
training part serve them all, and the kernel matrix of a width serves all ridges.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier

from kernelfit.tables.views import Shape

Metric = Literal["none", "widths", "gradients", "splits"]
KernelName = Literal["gaussian", "exponential", "laplacian", "additive", "spline", "forest"]

Loss = Literal["squared", "hinge"]

_RIDGES = tuple(10.0 ** np.arange(-5, 2))
_INVERSE_COSTS = tuple(10.0 ** np.arange(-3, 1))
_FEW_RIDGES = tuple(10.0 ** np.arange(-4, 1))
_GAUSSIAN = tuple(4.0 ** np.arange(-4, 3))
_SMALL_RIDGES = tuple(10.0 ** np.arange(-7, 2))  # a wide Gaussian is a polynomial with these
_KINKED = tuple(4.0 ** np.arange(-1.5, 1))  # kernels with a kink at 0 depend less on their width
_KINKED_FEW = (0.25, 1.0, 4.0)
_ADDITIVE = tuple(4.0 ** np.arange(-2, 1))
_SPLINE = tuple(4.0 ** np.arange(-1, 3))
_LEARNED = (0.25, 1.0, 4.0)  # of a width that a metric has learned
_MAX_ADDITIVE_FEATURES = 30  # each costs a pass over the kernel matrix


@dataclass(frozen=True)
class Recipe:
    """What some members have in common.

    Attributes
    ----------
    kernel : {"gaussian", "exponential", "laplacian", "additive", "spline", "forest"}
    shape : {"standard", "ranks"}
        The view of the table.
    metric : {"none", "widths", "gradients", "splits"}
        What is learned of the distance; for a forest, whether its splits are the best of some.
    widths : tuple of float
        Factors of the kernel's natural inverse width.
    ridges : tuple of float
        For a support vector machine, inverse costs.
    loss : {"squared", "hinge"}
    """

    kernel: KernelName
    shape: Shape = "standard"
    metric: Metric = "none"
    widths: tuple[float, ...] = (1.0,)
    ridges: tuple[float, ...] = _RIDGES
    loss: Loss = "squared"

    @property
    def features(self) -> Any:
        """What tells the features of recipes apart: equal ones are learned once."""
        return self.shape, self.metric, self.kernel == "forest"

    @property
    def learns_metric(self) -> bool:
        """Whether the distance is learned."""
        return self.metric in ("widths", "gradients")

    @property
    def races(self) -> bool:
        """Whether few rows are to tell the widths: not where learning takes most of the time."""
        return self.kernel != "forest" and self.metric == "none"

    @property
    def extends(self) -> bool:
        """Whether to look beyond the edge of the grid: costs of a hinge loss have no scale."""
        return self.loss == "hinge"

    @property
    def cost(self) -> float:
        """How long it takes, in units of the plain Gaussian: a first guess."""
        if self.kernel in ("forest", "additive"):
            return 5.0
        if self.kernel == "spline" or self.loss == "hinge":
            return 3.0
        return 1.0 if self.metric == "none" else 6.0

    @property
    def name(self) -> str:
        """What the leaderboard calls it."""
        learned = "" if self.metric == "none" else f", {self.metric}"
        machine = " SVM" if self.loss == "hinge" else ""
        return f"{self.kernel}{machine} ({self.shape}{learned})"


@dataclass(frozen=True)
class Member:
    """One machine.

    Attributes
    ----------
    recipe : Recipe or EstimatorRecipe
    width : float
    ridge : float
    """

    recipe: Any
    width: float = 1.0
    ridge: float = 0.0

    @property
    def name(self) -> str:
        """What the leaderboard calls it."""
        if self.ridge == 0.0:  # an estimator of the user
            return str(self.recipe.name)
        return f"{self.recipe.name}, width {self.width:.3g}, ridge {self.ridge:.3g}"


@dataclass(frozen=True)
class EstimatorRecipe:
    """A member that the user gives.

    Attributes
    ----------
    estimator : estimator
        Cloned for every training part; it sees the standardised view.
    name : str
    """

    estimator: Any
    name: str
    shape: Shape = "standard"
    widths: tuple[float, ...] = (1.0,)
    ridges: tuple[float, ...] = (0.0,)
    kernel: str = "given"
    metric: Metric = "none"
    loss: str = "given"
    cost: float = 4.0
    races: bool = False
    extends: bool = False
    learns_metric: bool = False

    @property
    def features(self) -> Any:
        """What tells the features of recipes apart: equal ones are learned once."""
        return self.shape, self.metric, False


def default_recipes(n_features: int, classify: bool) -> list[Recipe]:
    """Return the recipes in the order of work: a plain machine first, then what differs most.

    Parameters
    ----------
    n_features : int
        Of the table.
    classify : bool

    Returns
    -------
    list of Recipe
    """
    recipes = [
        Recipe("gaussian", "standard", widths=_GAUSSIAN, ridges=_SMALL_RIDGES),
        Recipe("forest"),
        Recipe("laplacian", "ranks", widths=_KINKED),
        Recipe("gaussian", "standard", "widths", _LEARNED, _FEW_RIDGES),
        Recipe("gaussian", "ranks", widths=_GAUSSIAN, ridges=_SMALL_RIDGES),
        Recipe("laplacian", "standard", widths=_KINKED),
        Recipe("laplacian", "standard", "widths", _KINKED_FEW, _FEW_RIDGES),
        Recipe("exponential", "standard", widths=_KINKED),
        Recipe("gaussian", "ranks", "widths", _LEARNED, _FEW_RIDGES),
        Recipe("laplacian", "ranks", "widths", _KINKED_FEW, _FEW_RIDGES),
        Recipe("exponential", "ranks", widths=_KINKED),
        Recipe("exponential", "standard", "widths", _KINKED_FEW, _FEW_RIDGES),
        Recipe("exponential", "ranks", "widths", _KINKED_FEW, _FEW_RIDGES),
        Recipe("spline", "ranks", widths=_SPLINE),
        Recipe("forest", "standard", "splits"),
    ]
    if classify:  # another loss pays in classification alone
        svm = Recipe("gaussian", "standard", "none", _GAUSSIAN[1:-1], _INVERSE_COSTS, "hinge")
        recipes.insert(5, svm)
    else:  # a rotation, in regression
        recipes.append(Recipe("gaussian", "standard", "gradients", _LEARNED, _FEW_RIDGES))
    if n_features <= _MAX_ADDITIVE_FEATURES:
        recipes.append(Recipe("additive", "ranks", widths=_ADDITIVE))
    return recipes


def choose_recipes(members: Any, n_features: int, classify: bool) -> list[Any]:
    """Return the recipes that the parameter `members` stands for.

    Parameters
    ----------
    members : "default" or sequence of str and estimators
        A name stands for all default recipes whose name begins with it.
    n_features : int
        Of the table.
    classify : bool
        Whether estimators must be classifiers.

    Returns
    -------
    list of Recipe and EstimatorRecipe
    """
    known = default_recipes(n_features, classify)
    if isinstance(members, str):
        return list(known)
    chosen: list[Any] = []
    for number, member in enumerate(members):
        if isinstance(member, str):
            named = _named(member, known, n_features)
            chosen += [recipe for recipe in named if recipe not in chosen]
        elif not hasattr(member, "fit") or is_classifier(member) != classify:
            kind = "classifiers" if classify else "regressors"
            raise ValueError(f"expected members that are names or {kind}, got {member!r}")
        else:
            chosen.append(EstimatorRecipe(member, f"{type(member).__name__} ({number})"))
    if not chosen:
        raise ValueError("expected at least one member, got none")
    return chosen


def _named(name: str, known: list[Recipe], n_features: int) -> list[Recipe]:
    """Return the recipes whose names begin so."""
    named = [recipe for recipe in known if name and recipe.name.startswith(name)]
    if named:
        return named
    if name and "additive (ranks)".startswith(name):
        raise ValueError(
            f"expected at most {_MAX_ADDITIVE_FEATURES} columns for member {name!r}, got "
            f"{n_features}"
        )
    names = ", ".join(repr(recipe.name) for recipe in known)
    raise ValueError(f"expected members with names like {names}, got {name!r}")
