"""What the classifiers share: classes, binary problems and votes."""

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight

from kernelfit.learners.fixed import FixedLearner
from kernelfit.learners.plan import Plan
from kernelfit.tasks.losses import hinge, squared, squared_hinge
from kernelfit.tasks.multiclass import (
    count_problems,
    decompose,
    one_vs_one_scores,
    one_vs_one_votes,
)
from kernelfit.utils.jobs import shares_memory
from kernelfit.utils.sklearn_private import StrOptions
from kernelfit.utils.validation import check_labels

# Rows of a problem with a fixed kernel up to which Python takes most of the time: only one thread
# at a time can have it, and two take longer than one.
_SMALL_PROBLEM = 512
_TASKS = {"hinge": hinge, "squared_hinge": squared_hinge, "squared": squared}


class ClassifierMachine(ClassifierMixin):
    """The classification half of a kernel machine; it stands before `KernelMachine`."""

    _parameter_constraints: ClassVar[dict] = {
        "loss": [StrOptions(set(_TASKS))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [Integral, None],
    }
    loss = "hinge"  # where the machine has no such parameter
    multi_class = "ovr"  # one against the rest, where the machine has no such parameter
    decision_function_shape = "ovr"
    break_ties = False

    def _check_targets(self, y):
        return check_labels(y)

    def _encode(self, y, weight):
        """Set `classes_`; return the class index of every row and its factor of C."""
        self.classes_, labels = np.unique(y, return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(f"expected at least two classes, got one class: {self.classes_[0]}")
        totals = np.bincount(labels, weights=weight)
        if not totals.all():
            empty = self.classes_[np.argmin(totals)]
            raise ValueError(
                f"expected a positive sample weight in every class, got only zeros in {empty}"
            )
        self.class_weight_ = self._class_factors(y, totals)
        return labels, self.class_weight_[labels]

    def _class_factors(self, y, totals):
        """Return the factor of C of every class."""
        if self.class_weight is None:
            return np.ones(len(totals))
        if self.class_weight == "balanced":
            with np.errstate(over="ignore", invalid="ignore"):  # weights are checked later
                return totals.sum() / (len(totals) * totals)
        factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        wrong = ~((factors > 0) & np.isfinite(factors))
        if wrong.any():
            raise ValueError(
                f"expected positive class weights, got {factors[wrong][0]} "
                f"for {self.classes_[wrong][0]}"
            )
        return factors

    def _class_of_rows(self, y):
        return np.searchsorted(self.classes_, y)

    def _has_several_groups(self):
        return len(self.classes_) > 2

    def _make_plan(self, learner, targets, unit_cost):
        n_classes, one_vs_one = len(self.classes_), self.multi_class == "ovo"
        self._scheme = self.multi_class  # of the fit, whatever the parameter is later
        problems = tuple(decompose(targets, n_classes, one_vs_one))
        shape = count_problems(n_classes, one_vs_one)
        joint = getattr(self, "kernel_sharing", "separate") == "joint"
        small = isinstance(learner, FixedLearner) and shares_memory()
        small = small and max(len(problem.p) for problem in problems) <= _SMALL_PROBLEM
        return Plan(
            learner,
            (problems,) if joint else tuple((problem,) for problem in problems),
            unit_cost,
            self._make_task,
            shape,
            take_turns=self.device is not None
            or (self._shares_cache and shape[0] == shape[1])
            or small,
        )

    def _make_task(self, problem, cost):
        return _TASKS[self.loss](problem.p, cost, fit_intercept=self.fit_intercept)

    @property
    def _by_votes(self):
        return self._scheme == "ovo" and len(self.classes_) > 2

    def _choose(self, values):
        """Return the class indices that the problems' values, along the last axis, decide for."""
        if len(self.classes_) == 2:
            return (values[..., 0] > 0).astype(np.intp)
        if self._by_votes:
            votes, scores = one_vs_one_votes(values, len(self.classes_))
            values = scores if self.break_ties else votes
        return values.argmax(axis=-1)

    def _class_scores(self, values):
        """Return one score a class, along the last axis; of two classes, that of the second."""
        if self._by_votes:
            return one_vs_one_scores(values, len(self.classes_))
        return values

    def _shape(self, values):
        """Turn the problems' values, along the last axis, into those of `decision_function`."""
        if len(self.classes_) == 2:
            return values[..., 0]
        if self._by_votes and self.decision_function_shape == "ovr":
            return one_vs_one_votes(values, len(self.classes_))[1]
        return values

    def decision_function(self, X):
        """Return the decision values of points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; their kernel with the training points, of shape (n_samples, n_samples_fit),
            for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_problems)
            Two classes: positive for the second. Otherwise one value a class, the largest for the
            predicted one where votes are not tied; or, with ``decision_function_shape="ovo"``,
            one a pair of classes, positive for the first.
        """
        return self._shape(self._decision_values(X))

    def predict(self, X):
        """Predict the classes of points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self._decision_values(X)
        return self.classes_[self._choose(values)]
