"""Features of a recipe: a view of the table, then a learned metric or a forest."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from kernelfit.ensemble.members import Recipe
from kernelfit.families.metric.agop import learn_gradient_metric
from kernelfit.families.metric.points import draw_points
from kernelfit.families.metric.widths import learn_widths
from kernelfit.kernels.forest import Forest
from kernelfit.tables.views import View, learn_view
from kernelfit.utils.jobs import run_in_order

Array = NDArray[Any]

_TREES = 100
_LEAF = 3.0  # the least weight of the rows in a leaf
_GRID = 2.0**16  # to a unit of the targets, whose spread is one
# Points that a metric is learned from, at most; and where there are many rows.
_METRIC_POINTS, _MANY_METRIC_POINTS, _MANY_ROWS = 300, 800, 2500


@dataclass(frozen=True)
class Data:
    """The data of a fit.

    Attributes
    ----------
    table : ndarray of shape (n, d)
        Parsed features, as a `Plan` reads them.
    roles : ndarray of int of shape (d,)
        What they are: see `kernelfit.tables.roles`.
    targets : ndarray of shape (n, k)
        One column a regression: the target, or -1 and 1 for a class against the rest.
    labels : ndarray of int of shape (n,) or None
        Class numbers; None in regression.
    weight : ndarray of shape (n,)
        Positive.
    """

    table: Array
    roles: Array
    targets: Array
    labels: Array | None
    weight: Array

    def take(self, rows: Array) -> "Data":
        """Return some rows."""
        return Data(
            self.table[rows],
            self.roles,
            self.targets[rows],
            None if self.labels is None else self.labels[rows],
            self.weight[rows],
        )


@dataclass(frozen=True)
class Features:
    """Turns a table into the features that the kernel of a recipe compares.

    Attributes
    ----------
    view : View
    forest : Forest or None
        Whose leaves are the features.
    factor : ndarray or None
        The metric: a factor a feature of the view, or a linear map.
    """

    view: View
    forest: Forest | None = None
    factor: Array | None = None

    def __call__(self, table: Array) -> Array:
        """Return the features, one row a row of the table."""
        Z = self.view(table)
        if self.forest is not None:
            return self.forest.leaves(Z)
        if self.factor is None:
            return Z
        return Z * self.factor if self.factor.ndim == 1 else Z @ self.factor.T


def learn_features(
    data: Data,
    recipe: Recipe,
    seed: int,
    n_landmarks: int | None = None,
    n_jobs: int | None = None,
) -> Features:
    """Learn the features of a recipe from training rows.

    Parameters
    ----------
    data : Data
    recipe : Recipe
    seed : int
        Of what is random.
    n_landmarks : int, default=None
        Of the rows, how many will span the machine; all of them when None.
    n_jobs : int, default=None
        Trees grown at a time, in threads; the result does not depend on it.

    Returns
    -------
    Features
    """
    view = learn_view(data.table, data.roles, data.weight, recipe.shape, data.targets)
    if recipe.kernel == "forest":
        # Leaves hold as many landmarks as they would hold rows if all of these spanned the machine:
        # points that share no leaf with a landmark are all the same to it.
        n = len(data.weight)
        leaf = _LEAF * (1.0 if n_landmarks is None else max(n / n_landmarks, 1.0))
        forest = _grow(view(data.table), data, recipe.metric == "splits", leaf, seed, n_jobs)
        return Features(view, forest=forest)
    if recipe.metric == "none":
        return Features(view)
    most = metric_points(len(data.weight))
    points = draw_points(view(data.table), data.targets, data.weight, most, seed)
    if not points.Y.any():  # constant targets teach nothing
        return Features(view)
    learned = (
        learn_widths(points)
        if recipe.metric == "widths"
        else learn_gradient_metric(points, diagonal=False)
    )
    return Features(view, factor=points.in_units_of_the_data(learned.factor))


def metric_points(n: int) -> int:
    """Return how many points a metric is learned from, at most, where there are n rows."""
    return _METRIC_POINTS if n <= _MANY_ROWS else _MANY_METRIC_POINTS


def _grow(
    Z: Array, data: Data, best_splits: bool, leaf: float, seed: int, n_jobs: int | None
) -> Forest:
    """Return trees with random splits, or with the best split of some random features.

    They grow on all rows, not on samples of them, so that a weight of 2 is a repeated row. Classes
    are targets of signs: their variance is Gini's impurity, up to a factor.
    """
    equal = bool((data.weight == 1.0).all())
    shared = (
        np.ascontiguousarray(Z, dtype=np.float32),
        # On a grid sums are exact, so that no tie of splits falls otherwise for repeated rows.
        np.ascontiguousarray(np.round(data.targets * _GRID) / _GRID),
        None if equal else data.weight,
        best_splits,
        {
            "max_features": 0.5 if data.labels is None else "sqrt",
            "min_weight_fraction_leaf": min(0.5, leaf / data.weight.sum()),
        },
    )
    seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=_TREES)
    grown = run_in_order(
        _grow_some, [(few,) for few in seeds.reshape(4, -1)], shared, n_jobs=n_jobs
    )
    return Forest.join([tree for few in grown for tree in few])


def _grow_some(
    Z: Array,
    targets: Array,
    weight: Array | None,
    best_splits: bool,
    options: dict[str, Any],
    seeds: Array,
) -> list[tuple[Array, Array, Array, Array]]:
    """Return the nodes of a tree for every seed.

    The trees of scikit-learn's forests, without them: for a tree of a few hundred rows these take
    longer to copy its parameters and to look at its data again than it takes to grow.
    """
    tree = DecisionTreeRegressor if best_splits else ExtraTreeRegressor
    nodes = []
    with config_context(skip_parameter_validation=True):
        for seed in seeds.tolist():
            t = tree(random_state=seed, **options).fit(Z, targets, weight, check_input=False).tree_
            nodes.append((t.feature, t.threshold, t.children_left, t.children_right))
    return nodes
