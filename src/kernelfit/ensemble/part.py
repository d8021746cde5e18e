"""One training part: what members learn from some rows, and what they say of others."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kernelfit.ensemble.clock import Seconds
from kernelfit.ensemble.engine import choose_engine
from kernelfit.ensemble.features import Data, Features, learn_features
from kernelfit.ensemble.kernels import natural_inverse_width
from kernelfit.ensemble.members import EstimatorRecipe, Member
from kernelfit.ensemble.svm import solve_svms
from kernelfit.solvers.landmarks import choose_landmarks, solve_on_landmarks
from kernelfit.tables.views import Shape, View, learn_view
from kernelfit.tasks.losses import squared
from kernelfit.utils.jit import compiling_seconds
from kernelfit.utils.jobs import run_in_order

Array = NDArray[Any]

_HEAVY = 0.05  # ridges from here on make scores narrow
_CALIBRATION_ROWS = 2000  # for machines on landmarks


class LeftOut(NamedTuple):
    """Rows, and the leave-one-out scores of a machine at them, of shape (n_rows, k)."""

    rows: Array
    scores: Array


class _Watch:
    """Seconds of work, without those that compilation takes: it comes once."""

    def __init__(self) -> None:
        self._began = self._worked()

    def _worked(self) -> float:
        return time.perf_counter() - compiling_seconds()

    def lap(self) -> float:
        """Return the seconds since the last call."""
        began, self._began = self._began, self._worked()
        return max(self._began - began, 0.0)


class TrainingPart:
    """Rows to train on; features are learned once and kept for the members that share them.

    Parameters
    ----------
    data : Data
        The training rows only.
    seed : int
        Of what is random in learning.
    device : str, default=None
        Where to compute; the processor when None.
    n_jobs : int, default=None
        Trees of a forest grown at a time.
    n_landmarks : int, default=None
        Points that span the machines of `fit`, chosen by leverage; all of them when None.

    Attributes
    ----------
    left_out : LeftOut or None
        Leave-one-out scores of the machine fitted last, where these are known.
    """

    def __init__(
        self,
        data: Data,
        seed: int,
        device: str | None = None,
        n_jobs: int | None = None,
        n_landmarks: int | None = None,
    ) -> None:
        self._data, self._n_landmarks = data, n_landmarks
        self._seed = seed
        self._engine = choose_engine(device)
        self._n_jobs = n_jobs
        self._features: dict[Any, Features] = {}
        self._points: dict[int, Array] = {}
        self._views: dict[Shape, View] = {}
        self.left_out: LeftOut | None = None

    def features(self, recipe: Any) -> Features:
        """Return the features of a recipe."""
        key = recipe.features
        if key not in self._features:
            self._features[key] = learn_features(*self._what(recipe), self._n_jobs)
        return self._features[key]

    def _what(self, recipe: Any) -> tuple[Data, Any, int, int | None]:
        """Return what the features of a recipe are learned from."""
        return self._data, recipe, self._seed, self._n_landmarks

    def knows(self, recipe: Any) -> Features | None:
        """Return the features of a recipe if they have been learned."""
        return self._features.get(recipe.features)

    def keep(self, recipe: Any, features: Features | None) -> None:
        """Take features that were learned elsewhere."""
        if features is not None:
            self._features[recipe.features] = features

    def view(self, shape: Shape) -> View:
        """Return a view of the table, learned from these rows."""
        if shape not in self._views:
            data = self._data
            self._views[shape] = learn_view(
                data.table, data.roles, data.weight, shape, data.targets
            )
        return self._views[shape]

    def take_metric(self, recipe: Any, known: Features) -> None:
        """Take a metric that was learned from other rows, behind the view of these."""
        view = self.view(recipe.shape)
        if np.array_equal(view.sources, known.view.sources):
            self.keep(recipe, replace(known, view=view))

    def learn(self, members: Sequence[Member], n_jobs: int | None) -> None:
        """Learn the features of some members, several at a time."""
        recipes = {member.recipe.features: member.recipe for member in members}
        recipes = {key: one for key, one in recipes.items() if key not in self._features}
        jobs = [self._what(recipe)[1:] for recipe in recipes.values()]
        learned = run_in_order(learn_features, jobs, (self._data,), n_jobs=n_jobs)
        self._features.update(zip(recipes, learned, strict=True))
        for features in self._features.values():
            self._points_of(features)

    def own(self, machine: Any, member: Member) -> Any:
        """Return a machine of another process with the features and points of this one.

        By these, machines that are evaluated together know what they share.
        """
        features = self.features(member.recipe)
        if isinstance(machine, EstimatorMachine):
            return replace(machine, features=features)
        points = self._points_of(features)
        if len(machine.points) != len(points):  # landmarks
            points = machine.points
        return replace(machine, features=features, points=points)

    def _points_of(self, features: Features) -> Array:
        """Return the features of the training rows."""
        if id(features) not in self._points:
            self._points[id(features)] = features(self._data.table)
        return self._points[id(features)]

    def scores(
        self, recipe: Any, widths: Sequence[float], ridges: Sequence[float], table: Array
    ) -> tuple[Array, Seconds]:
        """Train the members of a recipe and evaluate them on other rows.

        Parameters
        ----------
        recipe : Recipe or EstimatorRecipe
        widths, ridges : sequence of float
        table : ndarray of shape (m, d)
            The other rows.

        Returns
        -------
        scores : ndarray of shape (n_widths, n_ridges, m, k)
            nan where a member could not be trained.
        seconds : Seconds
        """
        data, engine, watch = self._data, self._engine, _Watch()
        out = np.full((len(widths), len(ridges), len(table), data.targets.shape[1]), np.nan)
        if isinstance(recipe, EstimatorRecipe):
            out[0, 0] = self._fit_estimator(recipe).scores([table])[0]
            return out, Seconds(0.0, 0.0, watch.lap())
        features = self.features(recipe)
        learning = watch.lap()
        Z, other = features(data.table), features(table)
        inside = engine.geometry(recipe.kernel, Z, None)
        across = engine.geometry(recipe.kernel, other, Z)
        unit = self._unit(recipe, Z)
        matrix = solving = 0.0
        for i, width in enumerate(widths):
            K: Any = engine.matrix(recipe.kernel, inside, width * unit)
            K_other: Any = engine.matrix(recipe.kernel, across, width * unit)
            matrix += watch.lap()
            solve: Any = engine.solve_ridges
            if recipe.loss == "hinge":
                K, solve = engine.on_host(K), solve_svms
            for j, found in enumerate(solve(K, data.targets, data.weight, ridges)):
                if found is not None:
                    out[i, j] = engine.times(K_other, found[0]) + found[1]
            solving += watch.lap()
        solving /= len(widths) * len(ridges)
        return out, Seconds(learning, matrix / len(widths), solving)

    def fit(self, member: Member, leave_out: bool = False) -> Any:
        """Train a member for later use.

        Parameters
        ----------
        member : Member
        leave_out : bool, default=False
            Whether to keep leave-one-out scores in `left_out`: only of a classifier with a heavy
            ridge or on landmarks. The machines of the folds have fewer rows at the same ridge, so
            their scores are narrower, and a calibration on these would not fit. Not of forests,
            whose trees have seen the row.

        Returns
        -------
        KernelExpansion or EstimatorMachine
        """
        self.left_out = None
        recipe, data, ridge = member.recipe, self._data, member.ridge
        engine, n_landmarks = self._engine, self._n_landmarks
        if isinstance(recipe, EstimatorRecipe):
            return self._fit_estimator(recipe)
        leave_out = leave_out and data.labels is not None and recipe.kernel != "forest"
        features = self.features(recipe)
        Z = self._points_of(features)
        inverse_width = member.width * self._unit(recipe, Z)
        if n_landmarks is not None and n_landmarks < len(Z):
            kernel = partial(engine.values, recipe.kernel, inverse_width)
            chosen = choose_landmarks(kernel, Z, data.weight, ridge, n_landmarks, self._seed)
            rows = left_out = None
            if leave_out:
                rows = np.random.default_rng(self._seed).permutation(len(Z))[:_CALIBRATION_ROWS]
                left_out = np.empty((len(rows), data.targets.shape[1]))
                self.left_out = LeftOut(rows, left_out)
            found = solve_on_landmarks(
                kernel, Z, Z[chosen], data.targets, data.weight, ridge, rows, left_out
            )
            return KernelExpansion(recipe.kernel, features, Z[chosen], inverse_width, *found)
        if recipe.loss == "hinge":
            K = engine.svm_gram(recipe.kernel, Z, inverse_width)
            coef, intercept, gap = next(solve_svms(K, data.targets, data.weight, [ridge]))
            return KernelExpansion(recipe.kernel, features, Z, inverse_width, coef, intercept, gap)
        left_out = None
        if leave_out and ridge >= _HEAVY:
            left_out = np.empty((1, *data.targets.shape))
        solution = None
        while solution is None:
            K = engine.gram(recipe.kernel, Z, inverse_width)
            solution = next(engine.solve_ridges(K, data.targets, data.weight, [ridge], left_out))
            del K  # before the next one, or the decision values
            # More rows than in the folds may leave no factor; the certificate is that of the
            # ridge in use.
            used, ridge = ridge, 10.0 * ridge
        if left_out is not None:
            self.left_out = LeftOut(np.arange(len(Z)), left_out[0])
        machine = KernelExpansion(recipe.kernel, features, Z, inverse_width, *solution)
        decision = Machines([machine])(data.table, engine.device)[0] - machine.intercept
        gap = _ridge_gap(decision, solution.coef, data.targets, data.weight / (2.0 * used))
        return replace(machine, gap=gap)

    def _fit_estimator(self, recipe: EstimatorRecipe) -> "EstimatorMachine":
        data, features = self._data, self.features(recipe)
        y = data.targets[:, 0] if data.labels is None else data.labels
        model = clone(recipe.estimator)
        if (data.weight == 1.0).all():
            model.fit(features(data.table), y)
        else:
            model.fit(features(data.table), y, sample_weight=data.weight)
        return EstimatorMachine(features, model, data.targets.shape[1])

    def _unit(self, recipe: Any, Z: Array) -> float:
        """Return the inverse width that a factor of 1 stands for."""
        if recipe.metric != "none" and recipe.kernel == "gaussian":
            return 1.0  # learned with the metric
        return natural_inverse_width(recipe.kernel, Z, self._data.weight)


def _ridge_gap(decision: Array, coef: Array, Y: Array, cost: Array) -> float:
    """Return the largest duality gap of ridge regressions, relative to their objectives."""
    columns = zip(Y.T, coef.T, decision.T, strict=True)
    found = [squared(y, cost).certificate(beta, values) for y, beta, values in columns]
    return max(one.gap / max(one.objective, np.finfo(float).tiny) for one in found)


@dataclass(frozen=True)
class KernelExpansion:
    """A kernel machine: ``f(x) = sum_i coef_i k(x, points_i) + intercept``."""

    kernel: str
    features: Features
    points: Array
    inverse_width: float
    coef: Array
    intercept: Array
    gap: float = np.nan

    def scores(self, G: Any, engine: Any) -> Array:
        """Return the values at points whose geometry with the training points is given."""
        K = engine.matrix(self.kernel, G, self.inverse_width)
        return np.asarray(engine.times(K, self.coef) + self.intercept)


@dataclass(frozen=True)
class EstimatorMachine:
    """A trained estimator of the user."""

    features: Features
    model: Any
    n_outputs: int
    gap: float = np.nan

    def scores(self, tables: Sequence[Array]) -> Array:
        """Return the values at the rows of some tables, of shape (n_tables, n, n_outputs)."""
        return np.stack([self._one(self.features(table)) for table in tables])

    def _one(self, Z: Array) -> Array:
        model = self.model
        if not hasattr(model, "classes_"):
            predicted = np.asarray(model.predict(Z), dtype=np.float64)
            if predicted.size != len(Z):
                raise ValueError(
                    f"expected one prediction a row of member {model!r}, got predictions of shape "
                    f"{predicted.shape} for {len(Z)} rows"
                )
            return predicted.reshape(-1, 1)
        if hasattr(model, "decision_function"):
            values = model.decision_function(Z)
        else:
            values = np.log(np.maximum(model.predict_proba(Z), 1e-6))
            values = values[:, 1] - values[:, 0] if values.shape[1] == 2 else values
        values = np.asarray(values, dtype=np.float64).reshape(len(Z), -1)
        n_classes = max(2, self.n_outputs)
        if len(model.classes_) == n_classes:
            return values
        # A fold without some classes: they get the lowest score.
        if values.shape[1] == 1:
            values = np.hstack([-values, values])
        out = np.full((len(Z), n_classes), values.min() - 1.0)
        out[:, model.classes_] = values
        return out[:, 1:] - out[:, :1] if self.n_outputs == 1 else out


class Machines:
    """Trained members, evaluated together: those with equal features share distances.

    Parameters
    ----------
    machines : list of KernelExpansion or EstimatorMachine
    """

    def __init__(self, machines: list[Any]) -> None:
        self.machines = machines

    def __call__(self, table: Array, device: str | None = None) -> Array:
        """Return the values of every member, of shape (n_members, n, k)."""
        engine = choose_engine(device)
        n_points = max((len(m.points) for m in self.machines if hasattr(m, "points")), default=1)
        step = max(1, engine.chunk_bytes // (8 * n_points))
        parts = [self._chunk(table[i : i + step], engine) for i in range(0, len(table), step)]
        return np.concatenate(parts, axis=1)

    def _chunk(self, table: Array, engine: Any) -> Array:
        shared: dict[Any, Any] = {}
        out = []
        for machine in self.machines:
            if isinstance(machine, EstimatorMachine):
                out.append(machine.scores([table])[0])
                continue
            points = machine.points
            key = (id(machine.features), machine.kernel, id(points))
            if key not in shared:
                shared = {key: engine.geometry(machine.kernel, machine.features(table), points)}
            out.append(machine.scores(shared[key], engine))
        return np.stack(out)
